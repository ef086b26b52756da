"""An assumption that cannot hold: it contradicts what is proved."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.catalog.facts import Facts
from pllm_lang.exact.number import exact
from pllm_lang.ir.plan import Bound
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.numbers import shown_range
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.view import PlanView, StepView

CODE = "bounds.contradiction"


def check_step(view: StepView, _plan: PlanView) -> Iterator[Obligation]:
    """Every `assume` of a step leaves some values possible, and is listed as taken for granted."""
    for position, bound in enumerate(view.step.assumes):
        derived = view.derived[bound.result]
        part = f"assume{position}"
        if possible(derived, bound):
            yield Obligation(CODE, Verdict.PROVED, bound.result, part=part, assumed=(bound_text(bound),))
            continue
        known = "" if derived.range is None else f" is in {shown_range(derived.range)}"
        yield Obligation(
            CODE,
            Verdict.REFUTED,
            bound.result,
            part=part,
            message=f"no run can meet `{bound_text(bound)}`: the result{known}",
            limit=bound.limit,
            help="remove the assumption, or correct the ranges of the inputs",
        )


def possible(facts: Facts, bound: Bound) -> bool:
    """Whether some value within `facts` meets `bound`."""
    limit = exact(bound.limit)
    if bound.slot not in ("max_abs", "max", "min"):
        return limit >= 0
    if bound.slot == "max_abs" and limit < 0:
        return False
    found = facts.range
    if found is None:
        return True
    match bound.slot:
        case "max":
            return found.low <= limit
        case "min":
            return found.high >= limit
        case _:
            return found.low <= limit and found.high >= -limit


def bound_text(bound: Bound) -> str:
    return f"{bound.slot} {bound.op} {bound.limit}"
