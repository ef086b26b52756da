"""How far a method's own formula is from its operator, re-derived: an enclosure of the largest difference.

In: a component with `computes: E` and the operator that it implements, of one operand, entry by entry. Out: a lower and an
upper end of `max |E(x) - means(x)|` over the domain that the record's `requires` leave, and where the lower end is reached.

The upper end is proved: the domain is cut into pieces, each piece is bounded by exact intervals, and the piece with the
largest bound is cut again until both ends agree to 2 % and no limit that is asked for lies between them. The lower end is the
difference at a point, enclosed.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import prod
from typing import NamedTuple

import msgspec

from pllm_lang.audit import grid
from pllm_lang.audit.formula import Formula, NotOfOneEntryError, Piece, formula
from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import exact_term
from pllm_lang.catalog.expr import Apply, Expr, ListOf, Ref
from pllm_lang.catalog.facts import Exact, Interval
from pllm_lang.catalog.records import Component, Format, Operator, ParamSpec
from pllm_lang.exact import interval

FIELD = "computes"
CLOSE = Fraction(102, 100)
"""The ratio of both ends at which the search ends."""
MAX_PIECES = 10_000
"""Pieces that one search cuts the domain into; then the ends that it has are given."""
MAX_WORK = 4_000_000
"""Pieces times operations: a formula of more than 400 is searched in fewer pieces."""
MAX_CASES = 8
"""Values of parameters for which a formula is derived; where a record admits more, the defaults alone."""
TINY = grid.UNIT // 2**16
"""Differences below this are not told apart."""
NARROW = grid.UNIT // 2**60
"""A piece this narrow that still has no bound will get none."""
OPEN = 2**64
"""Stands for an end of a domain that is not known: above every number that a record of the library names."""
UNBOUNDED = 2**128 * grid.UNIT
"""The bound of a piece over which the formula is unknown, or larger than this."""


class Derived(msgspec.Struct, frozen=True):
    """`low <= max |computes - means| <= high` over `domain`; at `at` the difference is `low` or more."""

    domain: Interval
    low: Exact
    high: Exact
    at: Exact


def derive(
    component: Component,
    operator: Operator,
    given: Mapping[str, Exact] | None = None,
    limits: Iterable[Exact] = (),
) -> Derived | None:
    """How far a component's formula is from one of its operators, with the parameters `given` (the defaults), as closely as it
    takes to say on which side of the `limits` that is. None where the record has no formula, or not of one operand within finite
    ends.
    """
    formula_, domain = component.fields.get(FIELD), domain_of(component, operator)
    if formula_ is None or domain is None or len(operator.means) != 1:
        return None
    difference = Apply("-", (formula_, operator.means[0].expr))
    try:
        parameters = defaults(component.params) if given is None else given
        off = formula(difference, operator.operands[0].name, parameters)
    except NotOfOneEntryError:
        return None
    pieces = min(MAX_PIECES, MAX_WORK // _size(difference))
    return _search(off, domain, pieces, [grid.down(limit) for limit in limits])


def _size(expr: Expr) -> int:
    """How many operations one evaluation takes."""
    return 1 + sum(map(_size, expr.args)) if isinstance(expr, Apply) else 1


def _search(off: Formula, domain: Interval, pieces: int, limits: Sequence[int]) -> Derived | None:
    low, high = grid.spanned(domain)
    heap = [_bounded(off, low, high)]
    best, at = 0, low
    for _ in range(pieces):
        top, low, high, seen = heap[0]
        middle = (low + high) // 2
        least = _least(off((middle, middle))) if seen is None else seen
        if least > best:
            best, at = least, middle
        if -top <= max(best * CLOSE, TINY) and not any(best <= limit < -top for limit in limits):
            break
        if high - low < NARROW:
            return None  # nothing bounds it, however narrow the piece
        heapq.heapreplace(heap, _bounded(off, low, middle))
        heapq.heappush(heap, _bounded(off, middle, high))
    if -heap[0][0] >= UNBOUNDED:
        return None
    ends = grid.value_of(best), grid.value_of(-heap[0][0])
    return Derived(domain, *ends, grid.value_of(at))


class Bounded(NamedTuple):
    """A piece with its bound, turned in sign as a heap sorts; `least` is what its middle shows, None where nobody looked."""

    bound: int
    low: int
    high: int
    least: int | None


def _bounded(off: Formula, low: int, high: int) -> Bounded:
    """By the range of a piece, or from its middle by the slope."""
    found = off((low, high))
    if found is None:
        return Bounded(-UNBOUNDED, low, high, None)
    bound = min(UNBOUNDED, grid.magnitude(found.range))
    if found.slope is None:
        return Bounded(-bound, low, high, None)
    middle = (low + high) // 2
    inner = off((middle, middle))
    if inner is not None:
        moved = -(-grid.magnitude(found.slope) * (high - middle) // grid.UNIT)
        bound = min(bound, grid.magnitude(inner.range) + moved)
    return Bounded(-bound, low, high, _least(inner))


def _least(found: Piece | None) -> int:
    """The difference that a point is sure to have, 0 where it is unknown."""
    return 0 if found is None else grid.mignitude(found.range)


# ---- the domain --------------------------------------------------------------------------------------


def domain_of(component: Component, operator: Operator) -> Interval | None:
    """Between which ends the `requires` of a record leave its one operand; None where one of them stays open."""
    if len(operator.operands) != 1 or len(operator.results) != 1:
        return None
    env = Env(exact=defaults(component.params))
    name = operator.operands[0].name
    fewest = _fewest_bits(component, name, env)
    low = high = None
    for limit in (
        found for clause in component.requires for found in _limits(clause.expr, name, env, fewest)
    ):
        low = limit.low if low is None else max(low, limit.low)
        high = limit.high if high is None else min(high, limit.high)
    if low is None or high is None or not -OPEN < low < high < OPEN:
        return None
    return Interval(low, high)


def _fewest_bits(component: Component, name: str, env: Env) -> Exact | None:
    """The fraction bits that a record asks for, `fraction_bits(x) >= 12`; None where it asks for none."""
    asked = Apply("fraction_bits", (Ref(name),))
    found = [
        exact_term(clause.expr.args[1], env)
        for clause in component.requires
        if isinstance(clause.expr, Apply) and clause.expr.fn == ">=" and clause.expr.args[0] == asked
    ]
    return max((bits for bits in found if bits is not None), default=None)


def _largest(end: Expr, name: str, env: Env, fewest: Exact | None) -> Exact | None:
    """The largest value of an end over all formats that a record takes: `2^(31 - fraction_bits(x))` falls as they grow."""
    found = exact_term(end, env)
    if found is not None or not isinstance(fewest, int) or not _falls(end, name, env):
        return found
    coarse = Format("coarse", "fixed", low="-1", high="1", frac=fewest)
    return exact_term(end, Env(exact=env.exact, formats={name: coarse}))


def _falls(end: Expr, name: str, env: Env) -> bool:
    """Whether an end falls as the fraction bits of `name` grow, as far as its form says."""
    match end:
        case Apply(fn="-", args=(start, Apply(fn="fraction_bits", args=(Ref(name=known),)))):
            return known == name and exact_term(start, env) is not None
        case Apply(fn="^", args=(base, exponent)):
            value = exact_term(base, env)
            return value is not None and value >= 1 and _falls(exponent, name, env)
        case _:
            return False


def _limits(condition: Expr, name: str, env: Env, fewest: Exact | None) -> Iterator[Interval]:
    """What a condition says of the entries of `name`: `max_abs(x) <= 4`, `min(x) >= -14 and max(x) <= 0`."""
    if not isinstance(condition, Apply) or len(condition.args) != 2:
        return
    left, right = condition.args
    if condition.fn == "and":
        yield from (*_limits(left, name, env, fewest), *_limits(right, name, env, fewest))
        return
    if not (isinstance(left, Apply) and left.args == (Ref(name),)):
        return
    end = exact_term(right, env)
    if condition.fn in ("<", "<=") and left.fn == "max_abs":
        end = _largest(right, name, env, fewest)
        if end is not None:
            yield interval.symmetric(end)
    elif end is None:
        return
    elif condition.fn in ("<", "<=") and left.fn == "max":
        yield Interval(-OPEN, end)
    elif condition.fn in (">", ">=") and left.fn == "min":
        yield Interval(end, OPEN)


def defaults(params: tuple[ParamSpec, ...]) -> dict[str, Exact]:
    """Parameters that have a number as their default."""
    numbers = ((spec.name, spec.default) for spec in params if spec.default is not None)
    found = {name: exact_term(value, Env()) for name, value in numbers}
    return {name: value for name, value in found.items() if value is not None}


def cases(component: Component) -> tuple[dict[str, Exact], ...]:
    """Each choice of the parameters that a formula reads, from the lists that the record admits; the defaults of the others."""
    usual = defaults(component.params)
    read = set(_names(component.fields[FIELD])) if FIELD in component.fields else set[str]()
    listed = {spec.name: _listed(spec) for spec in component.params if spec.name in read}
    chosen = {name: values for name, values in listed.items() if values}
    if not chosen or prod(map(len, chosen.values())) > MAX_CASES:
        return (usual,)
    return tuple(usual | dict(zip(chosen, values, strict=True)) for values in product(*chosen.values()))


def _listed(spec: ParamSpec) -> list[Exact]:
    items = spec.allowed.items if isinstance(spec.allowed, ListOf) else ()
    found = [exact_term(item, Env()) for item in items]
    return [value for value in found if value is not None] if None not in found else []


def _names(expr: Expr) -> Iterator[str]:
    if isinstance(expr, Ref):
        yield expr.name
    for part in expr.args if isinstance(expr, Apply) else ():
        yield from _names(part)
