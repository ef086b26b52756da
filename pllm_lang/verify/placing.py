"""Who has the results of a step: the party that it runs at, what the step states, or the operands' own holding."""

from __future__ import annotations

from pllm_lang.ir.plan import Placement
from pllm_lang.verify.view import StepView

_STRENGTH = {"public": 0, "unplaced": 1, "party": 2, "shared": 3}


def placed(view: StepView) -> tuple[Placement, ...]:
    return (_placed(view),) * len(view.step.results)


def _placed(view: StepView) -> Placement:
    step = view.step
    if step.party:
        return Placement("party", (step.party,))
    if step.stated_holding.kind != "unplaced":
        return step.stated_holding
    return max(view.operand_places, key=lambda place: _STRENGTH[place.kind], default=Placement("public"))
