"""An input or weight is said to reach values that its format cannot hold."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.exact.interval import Interval
from pllm_lang.exact.number import Exact, exact
from pllm_lang.ir.plan import UNKNOWN, Bound, Input, State, Weight
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.flow import Flow
from pllm_lang.verify.initial import format_range
from pllm_lang.verify.limits import format_text
from pllm_lang.verify.numbers import shown, shown_range
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.rules.bounds.contradiction import bound_text
from pllm_lang.verify.view import PlanView

CODE = "bounds.stated_range"


def check_plan(plan: PlanView, _flow: Flow) -> Iterator[Obligation]:
    """Every stated range of an input, weight or state is one that its format holds, and not empty."""
    given = (*plan.plan.inputs, *plan.plan.weights, *plan.plan.states)
    staged = (one for stage in plan.plan.stages for one in stage.inputs)
    limits: dict[int, Interval | None] = {}
    for one in (*given, *staged):
        if one.type != UNKNOWN:
            if one.type.format not in limits:
                limits[one.type.format] = format_range(plan.format_of(one.type))
            yield from _judge(one, plan, limits[one.type.format])


def _judge(given: Input | Weight | State, plan: PlanView, limit: Interval | None) -> Iterator[Obligation]:
    """`limit` are the values that the format holds."""
    low, high = _stated(given.bounds)
    if low is not None and high is not None and low > high:
        yield _refuted(
            given.value, f"no value is both at least {shown(low)} and at most {shown(high)}", str(low)
        )
        return
    outside = [v for v in (low, high) if limit and v is not None and not limit.low <= v <= limit.high]
    if limit is not None and outside:
        told = f"{shown(outside[0])} is outside {format_text(plan.format_of(given.type))}, which holds {shown_range(limit)}"
        yield _refuted(given.value, told, str(outside[0]))
        return
    least = max(0, low or 0, -(high or 0))
    for bound in given.bounds:
        if "norm" in bound.slot and exact(bound.limit) < least:
            told = f"entries of at least {shown(least)} in size have no {bound.slot} of at most {shown(exact(bound.limit))}"
            yield _refuted(given.value, told, bound.limit)
            return
    seen = () if isinstance(given, State) else given.assumed
    yield Obligation(
        CODE,
        Verdict.PROVED,
        given.value,
        assumed=tuple(f"{bound_text(b)} was only seen on data" for b in seen),
    )


def _stated(bounds: tuple[Bound, ...]) -> tuple[Exact | None, Exact | None]:
    lows = [exact(b.limit) for b in bounds if b.slot == "min"] + [
        -exact(b.limit) for b in bounds if b.slot == "max_abs"
    ]
    highs = [exact(b.limit) for b in bounds if b.slot in ("max", "max_abs")]
    return max(lows, default=None), min(highs, default=None)


def _refuted(value: int, message: str, at: str) -> Obligation:
    return Obligation(
        CODE,
        Verdict.REFUTED,
        value,
        message=message,
        value=at,
        help="choose a wider format, or state the true range",
    )
