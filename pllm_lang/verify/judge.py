"""One step judged: every rule that looks at steps, then the facts that its results are stored with."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from pllm_lang.catalog.facts import UNKNOWN as NOTHING_KNOWN
from pllm_lang.catalog.facts import Facts
from pllm_lang.ir.plan import Placement, Step, TensorType
from pllm_lang.verify.environment import make_view
from pllm_lang.verify.placing import placed
from pllm_lang.verify.registry import rules
from pllm_lang.verify.stored import stored
from pllm_lang.verify.view import Judged, PlanView


@cache
def step_rules() -> tuple[object, ...]:
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
    obligations = tuple(o for check in step_rules() for o in check(view, plan))  # type: ignore[operator]
    return Judged(view, stored(view, plan), placed(view), obligations)


