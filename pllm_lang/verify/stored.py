"""The facts of a result once it is stored: inside its format, with what the plan assumes of it.

A result that was not proved to fit is an error already; later steps go on from the format's range, so one
overflow is one finding. A float result has no known error: its rounding is not modelled, which the obligation that
it is finite lists as taken for granted.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from pllm_lang.catalog.apply import claim
from pllm_lang.catalog.facts import Exact, Facts, Interval
from pllm_lang.catalog.formats import ulp
from pllm_lang.catalog.records import Format
from pllm_lang.exact.number import bits, ratio, round_up
from pllm_lang.ir.plan import UNKNOWN
from pllm_lang.verify.initial import format_range, with_bounds
from pllm_lang.verify.limits import inside
from pllm_lang.verify.view import PlanView, StepView, in_the_clear

PRECISION = 64
"""Significant bits that an upper bound keeps once it has more than MAX_SIZE."""
MAX_SIZE = 512

_UPPER_BOUNDS = ("error", "row_norm2_sq", "row_norm1", "col_norm2_sq", "col_norm1")

UNSTATED_ROUNDING = "unstated rounding"
"""Marks a result off its format's grid by a method that states no error: nothing is known of what is stored."""

NO_NUMBERS = ("label", "index")
"""Formats whose values are not numbers that can leave a range, unless they state one."""

UNPROVED_BEFORE = "unproved before"
"""Marks a value that has no bound because of what was reported at an earlier step: later steps stay silent."""


def stored(view: StepView, plan: PlanView) -> tuple[Facts, ...]:
    return tuple(_stored(view, plan))


def _stored(view: StepView, plan: PlanView) -> Iterator[Facts]:
    for position, (type_, derived) in enumerate(zip(view.step.types, view.derived, strict=True)):
        facts = derived if type_ == UNKNOWN else _in_format(view, position, derived, plan.format_of(type_))
        facts = _compact(facts)
        yield with_bounds(facts, [bound for bound in view.step.assumes if bound.result == position])


def _compact(facts: Facts) -> Facts:
    """The same bounds with upper bounds of reasonable size, rounded up: errors and norms multiply from layer to layer."""
    large = {name: getattr(facts, name) for name in _UPPER_BOUNDS}
    rounded_up = {
        name: round_up(value, PRECISION)
        for name, value in large.items()
        if value is not None and bits(value) > MAX_SIZE
    }
    return msgspec.structs.replace(facts, **rounded_up) if rounded_up else facts


def _in_format(view: StepView, position: int, derived: Facts, format_: Format) -> Facts:
    derived = rounded(view, position, derived, format_)
    limit = format_range(format_)
    if format_.kind == "float":
        derived = msgspec.structs.replace(derived, error=None, value=None)
        if derived.range is None:
            return derived
    if limit is None and derived.range is None:
        asked = not in_the_clear(view) and format_.kind not in NO_NUMBERS  # `bounds.unknown` tells it
        return msgspec.structs.replace(derived, rule=UNPROVED_BEFORE) if asked else derived
    if limit is None or (derived.range is not None and inside(derived.range, limit)):
        return derived
    return Facts(range=limit, rule=UNPROVED_BEFORE if derived.range is None else "")


def rounded(view: StepView, position: int, derived: Facts, format_: Format) -> Facts:
    """`derived` on the grid of its format.

    A component that claims an error has counted its rounding. Otherwise a result that is not known to lie on the grid
    is rounded when it is stored: in the clear to a neighbour, by any other method in a way that nobody has stated, so that
    nothing is known of it.
    """
    step = ulp(format_)
    if step is None or on_grid(derived.unit, step):
        return derived
    if _claims_error(view, position):
        return msgspec.structs.replace(derived, unit=step)
    if view.component is not None and not in_the_clear(view):
        return Facts(rule=UNSTATED_ROUNDING)
    found, error = derived.range, derived.error
    return Facts(
        range=None if found is None else Interval(_down(found.low, step), _up(found.high, step)),
        error=None if error is None else error + step,
        unit=step,
        rule=derived.rule,
    )


def on_grid(unit: Exact | None, step: Exact) -> bool:
    return unit is not None and ratio(unit, step).denominator == 1


def _claims_error(view: StepView, position: int) -> bool:
    if view.component is None:
        return False
    name = view.operator.results[position].name
    claims = (claim(clause) for clause in view.component.ensures)
    return any(found is not None and found.slot == "error" and found.result == name for found in claims)


def _down(value: Exact, step: Exact) -> Exact:
    quotient = ratio(value, step)
    return quotient.numerator // quotient.denominator * step


def _up(value: Exact, step: Exact) -> Exact:
    return -_down(-value, step)
