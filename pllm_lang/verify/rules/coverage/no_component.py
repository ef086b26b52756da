"""A step that nothing covers: no component, no party, or a component that does something else."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.catalog.library import Library
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.view import PlanView, StepView, is_structural

CODE = "coverage.no_component"


def check_step(view: StepView, plan: PlanView) -> Iterator[Obligation]:
    """Exactly one component covers each step that computes; structural steps follow the step that uses them."""
    step = view.step
    if view.component is None and is_structural(view):
        return
    name = view.operator.name
    if view.component is None:
        yield Obligation(
            CODE,
            Verdict.REFUTED,
            0,
            message=f"nothing covers `{name}`: the step names no component and no party",
            help=_help(name, step.operator, plan.library),
        )
        return
    yield Obligation(CODE, Verdict.PROVED, 0, evidence=(view.component.id,))


def _help(name: str, operator: str, library: Library) -> str:
    covering = sorted({component.name for component in library.implementing(operator)} - {"clear"})
    if not covering:
        return f"write `@ party` to compute it in the clear; no component of the library implements `{name}`"
    others = f" (or {', '.join(covering[1:])})" if covering[1:] else ""
    return f"write `using {covering[0]}`{others}, or `@ party` to compute it in the clear"
