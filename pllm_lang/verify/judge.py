"""One step judged: every rule that looks at steps, then the facts that its results are stored with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache

from pllm_lang.catalog.facts import UNKNOWN as NOTHING_KNOWN
from pllm_lang.catalog.facts import Facts
from pllm_lang.ir.plan import Placement, Step, TensorType
from pllm_lang.verify.environment import make_view
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.placing import placed
from pllm_lang.verify.registry import rules
from pllm_lang.verify.stored import UNPROVED_BEFORE, stored
from pllm_lang.verify.view import Judged, PlanView, StepView


@cache
def step_rules() -> tuple[Callable[[StepView, PlanView], Iterable[Obligation]], ...]:
    return tuple(rule.check_step for rule in rules() if hasattr(rule, "check_step"))


def judge_step(
    plan: PlanView,
    step: Step,
    facts: Sequence[Facts],
    types: Sequence[TensorType],
    places: Sequence[Placement],
) -> Judged:
    """Judge `step` with these operands. A step that a type error left untyped is not judged again here."""
    view = make_view(plan, step, facts, types, places)
    if view is None:
        return Judged(None, (NOTHING_KNOWN,) * len(step.results), (Placement(),) * len(step.results), ())
    obligations = tuple(o for check in step_rules() for o in check(view, plan))
    if any(one.rule == UNPROVED_BEFORE for one in facts):
        obligations = tuple(o for o in obligations if not o.code.startswith("bounds."))
    return Judged(view, stored(view, plan), placed(view), obligations)
