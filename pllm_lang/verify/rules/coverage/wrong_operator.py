"""A component that is no method, or that implements other operators than the step's."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.catalog.records import Component
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.view import CLEAR, PlanView, StepView

CODE = "coverage.wrong_operator"


def check_step(view: StepView, plan: PlanView) -> Iterator[Obligation]:
    """The component is a method and implements the step's operator."""
    component = view.component
    if component is None or view.step.use is None or view.step.use.key == CLEAR:
        return
    if component.kind == "method" and implements(component, view):
        yield Obligation(CODE, Verdict.PROVED, 0, part="using", evidence=(component.id,))
        return
    if implements(component, view):
        message = f"`{component.name}` is a {component.kind}, and a step is done by a method"
        yield Obligation(CODE, Verdict.REFUTED, 0, part="using", message=message, help="write `kind: method`")
        return
    covering = sorted({other.name for other in plan.library.implementing(view.step.operator)})
    done = ", ".join(short(name) for name in component.implements) or f"nothing: it is a {component.kind}"
    yield Obligation(
        CODE,
        Verdict.REFUTED,
        0,
        part="using",
        message=f"`{component.name}` does not implement `{view.operator.name}`; it implements {done}",
        help=f"components that do: {', '.join(covering)}" if covering else "no component of the library does",
    )


def implements(component: Component, view: StepView) -> bool:
    """Operators are named by their qualified name, or by their plain one."""
    return view.step.operator in component.implements or view.operator.name in component.implements


def short(name: str) -> str:
    return f"`{name.rsplit('.', 1)[-1]}`"
