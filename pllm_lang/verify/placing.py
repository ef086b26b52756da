"""Who has the results of a step: whom its protocol gives them to, the party that it runs at, what the step states, or
the operands' own holding."""

from __future__ import annotations

from collections.abc import Mapping

from pllm_lang.catalog.expr import Apply, Ref
from pllm_lang.catalog.records import OperandSpec
from pllm_lang.ir.plan import Placement
from pllm_lang.verify.view import StepView

_STRENGTH = {"public": 0, "unplaced": 1, "party": 2, "shared": 3}


def placed(view: StepView) -> tuple[Placement, ...]:
    component = view.component
    if component is not None and component.protocol is not None and view.step.use is not None:
        roles = dict(view.step.use.roles)
        given = {spec.name: spec for spec in component.protocol.outputs}
        return tuple(
            _given(given[spec.name], roles) if spec.name in given else Placement()
            for spec in view.operator.results
        )
    return (_placed(view),) * len(view.step.results)


def _given(spec: OperandSpec, roles: Mapping[str, str]) -> Placement:
    """The placement of a protocol's result, at the parties that play the roles."""
    match spec.placement:
        case "public", _:
            return Placement("public")
        case "as", Apply(fn=holding, args=args):
            names = [arg.name for arg in args if isinstance(arg, Ref)]
            return Placement("shared", tuple(roles.get(name, name) for name in names), holding)
        case _, Ref(name=role):
            return Placement("party", (roles.get(role, role),))
        case _:
            return Placement()


def _placed(view: StepView) -> Placement:
    step = view.step
    if step.party:
        return Placement("party", (step.party,))
    if step.stated_holding.kind != "unplaced":
        return step.stated_holding
    return max(view.operand_places, key=lambda place: _STRENGTH[place.kind], default=Placement("public"))
