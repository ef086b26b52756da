"""How far a method's own formula is from its operator, re-derived: an enclosure of the largest difference.

In: a component with `computes: E` and the operator that it implements, of one operand, entry by entry. Out: a lower and an
upper end of `max |E(x) - means(x)|` over the domain that the record's `requires` leave, and where the lower end is reached.

The upper end is proved: the domain is cut into pieces, each piece is bounded by exact intervals, and the piece with the
largest bound is cut again until both ends agree to 2 %. The lower end is the difference at a point, enclosed.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from fractions import Fraction

import msgspec

from pllm_lang.audit.formula import BITS, Formula, NotOfOneEntryError, formula
from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import exact_term
from pllm_lang.catalog.expr import Apply, Expr, Ref
from pllm_lang.catalog.facts import Exact, Interval
from pllm_lang.catalog.records import Component, Operator, ParamSpec
from pllm_lang.exact import interval
from pllm_lang.exact.number import round_up

FIELD = "computes"
CLOSE = Fraction(102, 100)
"""The ratio of both ends at which the search ends."""
MAX_PIECES = 10_000
"""Pieces that one search cuts the domain into; then the ends that it has are given."""
TINY = Fraction(1, 2**16)
"""Differences below this are not told apart."""
NARROW = Fraction(1, 2**60)
"""A piece this narrow that still has no bound will get none."""
OPEN = 2**64
UNBOUNDED = 2**128
"""Stand for an end that is not known: above every number that a record of the library names."""


class Derived(msgspec.Struct, frozen=True):
    """`low <= max |computes - means| <= high` over `domain`; at `at` the difference is `low` or more."""

    domain: Interval
    low: Exact
    high: Exact
    at: Exact


def derive(component: Component, operator: Operator, pieces: int = MAX_PIECES) -> Derived | None:
    """How far a component's formula is from one of its operators. None where the record has no formula, or not of one operand
    within finite ends.
    """
    formula_, domain = component.fields.get(FIELD), domain_of(component, operator)
    if formula_ is None or domain is None or len(operator.means) != 1:
        return None
    difference = Apply("-", (formula_, operator.means[0].expr))
    try:
        off = formula(difference, operator.operands[0].name, defaults(component.params))
    except NotOfOneEntryError:
        return None
    return _search(off, domain, pieces)


def _search(off: Formula, domain: Interval, pieces: int) -> Derived | None:
    heap = [_bounded(off, domain.low, domain.high)]
    best, at = Fraction(0), domain.low
    for _ in range(pieces):
        top, low, high = heap[0]
        middle = Fraction(low + high) / 2
        found = off(interval.point(middle))
        if found is not None and (least := interval.mignitude(found.range)) > best:
            best, at = Fraction(least), middle
        if -top <= max(best * CLOSE, TINY):
            break
        if high - low < NARROW:
            return None  # nothing bounds it, however narrow the piece
        heapq.heapreplace(heap, _bounded(off, low, middle))
        heapq.heappush(heap, _bounded(off, middle, high))
    return Derived(domain, best, -heap[0][0], at)


def _bounded(off: Formula, low: Exact, high: Exact) -> tuple[Exact, Exact, Exact]:
    """A piece with its bound, turned in sign as a heap sorts: by its range, or from its middle by the slope."""
    found = off(Interval(low, high))
    if found is None:
        return -UNBOUNDED, low, high
    bound = interval.magnitude(found.range)
    if found.slope is not None:
        middle = Fraction(low + high) / 2
        inner = off(interval.point(middle))
        if inner is not None:
            moved = interval.magnitude(found.slope) * (middle - low)
            bound = min(bound, round_up(interval.magnitude(inner.range) + moved, BITS))
    return -bound, low, high


# ---- the domain --------------------------------------------------------------------------------------


def domain_of(component: Component, operator: Operator) -> Interval | None:
    """Between which ends the `requires` of a record leave its one operand; None where one of them stays open."""
    if len(operator.operands) != 1 or len(operator.results) != 1:
        return None
    env = Env(exact=defaults(component.params))
    name = operator.operands[0].name
    low = high = None
    for limit in (found for clause in component.requires for found in _limits(clause.expr, name, env)):
        low = limit.low if low is None else max(low, limit.low)
        high = limit.high if high is None else min(high, limit.high)
    if low is None or high is None or not -OPEN < low < high < OPEN:
        return None
    return Interval(low, high)


def _limits(condition: Expr, name: str, env: Env) -> Iterator[Interval]:
    """What a condition says of the entries of `name`: `max_abs(x) <= 4`, `min(x) >= -14 and max(x) <= 0`."""
    if not isinstance(condition, Apply) or len(condition.args) != 2:
        return
    left, right = condition.args
    if condition.fn == "and":
        yield from (*_limits(left, name, env), *_limits(right, name, env))
        return
    if not (isinstance(left, Apply) and left.args == (Ref(name),)):
        return
    end = exact_term(right, env)
    if end is None:
        return
    if condition.fn in ("<", "<=") and left.fn == "max_abs":
        yield interval.symmetric(end)
    elif condition.fn in ("<", "<=") and left.fn == "max":
        yield Interval(-OPEN, end)
    elif condition.fn in (">", ">=") and left.fn == "min":
        yield Interval(end, OPEN)


def defaults(params: tuple[ParamSpec, ...]) -> dict[str, Exact]:
    """Parameters that have a number as their default."""
    numbers = ((spec.name, spec.default) for spec in params if spec.default is not None)
    found = {name: exact_term(value, Env()) for name, value in numbers}
    return {name: value for name, value in found.items() if value is not None}
