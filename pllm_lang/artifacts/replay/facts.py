"""Replay: what follows of a tensor from what is known of others, one rule a primitive.

A `Fact` bounds every entry, and the norms of every row and column, of a tensor of a shape. A rule is a theorem about one
primitive of the expression language, with its reason where that is not plain. A primitive without a rule leaves nothing
known, and from that no claim follows. `tests/artifacts/test_range_rules.py` holds every rule against tensors of fractions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import floor, gcd, lcm, prod
from typing import TypeAlias

import msgspec

from pllm_lang.artifacts.replay import numbers as n
from pllm_lang.artifacts.replay.numbers import Range, Size

Shape: TypeAlias = tuple[int, ...]
Norms: TypeAlias = tuple[Size, Size]
"""Bounds of the squared L2 and of the L1 norm of a vector."""
ANY = -1
"""The size of an axis along which an explicit broadcast repeats."""
OPEN: Norms = (None, None)
UNIT: Range = (-1, 1)
changed = msgspec.structs.replace


class Fact(msgspec.Struct, frozen=True):
    """`rows` and `cols` bound the norms of vectors along the last axis and the last but one; entries are whole multiples of
    `unit`; every row has an entry of at least `peak`."""

    shape: Shape = ()
    range: Range = None
    rows: Norms = OPEN
    cols: Norms = OPEN
    unit: Size = None
    peak: Size = None


@lru_cache(maxsize=4096)
def point(value: n.Number) -> Fact:
    return Fact((), (value, value), unit=abs(value) or 1)


def reshaped(x: Fact, shape: Shape) -> Fact:
    return x if x.shape == shape else changed(x, shape=shape)


def settled(x: Fact) -> Fact:
    """No entry is larger than a norm of its row or column."""
    if x.rows == x.cols == OPEN:
        return x
    norms = n.least(n.root_above(x.rows[0]), x.rows[1], n.root_above(x.cols[0]), x.cols[1])
    return x if norms is None else changed(x, range=n.meet(x.range, n.around(norms)))


# ---- norms ----
def has_norms(x: Fact) -> bool:
    """Whether a norm is known that range and size do not imply; without any, none of a sum or a product says more either."""
    return x.rows != OPEN or x.cols != OPEN


def size(x: Fact, axis: int) -> Size:
    """Entries along the last axis (-1) or the last but one (-2); a number is a row of one."""
    if len(x.shape) < -axis:
        return 1 if axis == -1 and not x.shape else None
    return None if x.shape[axis] == ANY else x.shape[axis]


def norms(x: Fact, axis: int) -> Norms:
    """|v|2^2 <= n max^2, |v|1 max, |v|1^2, and |v|1 <= n max, sqrt(n) |v|2."""
    (two, one), top, count = x.rows if axis == -1 else x.cols, n.largest(x.range), size(x, axis)
    return (
        n.least(two, n.product(count, top, top), n.product(one, top), n.product(one, one)),
        n.least(one, n.product(count, top), n.root_above(n.product(count, two))),
    )


def _of_both(x: Fact, y: Fact, rule: Callable[[Norms, Norms], Norms]) -> tuple[Norms, Norms]:
    """Rows and columns of a result of two tensors of one shape."""
    if not has_norms(x) and not has_norms(y):
        return OPEN, OPEN
    return rule(norms(x, -1), norms(y, -1)), rule(norms(x, -2), norms(y, -2))


def _sum(x: Norms, y: Norms) -> Norms:
    """Triangle inequality: (|x| + |y|)^2 for the squared norm."""
    cross = n.root_above(n.product(x[0], y[0]))
    return n.total(x[0], y[0], n.product(2, cross)), n.total(x[1], y[1])


def _by(x: Norms, factor: Size) -> Norms:
    return n.product(x[0], factor, factor), n.product(x[1], factor)


def common(*units: Size) -> Size:
    """The largest number of which all are whole multiples."""
    if not units or None in units:
        return None
    known = [unit for unit in units if unit is not None]
    under = lcm(*(unit.denominator for unit in known))
    return n.over(gcd(*(unit.numerator * (under // unit.denominator) for unit in known)), under)


# ---- entry by entry ----
def joined(a: Shape, b: Shape) -> Shape | None:
    """Equal shapes, a number with anything, or an explicit broadcast with what it repeats over."""
    if a == b or not b:
        return a
    if not a or (b[0] == ANY and a[0] != ANY):
        return joined(b, a)
    if a[0] == ANY and len(a) - 1 <= len(b):
        cut = len(b) - len(a) + 1
        tail = joined(a[1:], b[cut:]) if len(a) > 1 else b[cut:]
        return None if tail is None or len(tail) != len(b) - cut else b[:cut] + tail
    if len(a) == len(b) and ANY in (a[-1], b[-1]):
        tail = joined(a[:-1], b[:-1])
        return None if tail is None or len(tail) != len(a) - 1 else (*tail, b[-1] if a[-1] == ANY else a[-1])
    return None


def _over(x: Fact, shape: Shape) -> Fact:
    """The entries repeated over a shape: the norms of rows stay only where rows stay what they were."""
    if x.shape == shape:
        return x
    return Fact(shape, x.range, x.rows if x.shape and x.shape[-1:] == shape[-1:] else OPEN, unit=x.unit)


def _both(x: Fact, y: Fact) -> tuple[Fact, Fact] | None:
    shape = joined(x.shape, y.shape)
    return None if shape is None else (_over(x, shape), _over(y, shape))


def added(x: Fact, y: Fact) -> Fact | None:
    if (both := _both(x, y)) is None:
        return None
    x, y = both
    return Fact(x.shape, n.add(x.range, y.range), *_of_both(x, y, _sum), common(x.unit, y.unit))


def negated(x: Fact) -> Fact:
    return changed(x, range=n.neg(x.range), peak=None)


def subtracted(x: Fact, y: Fact | None = None) -> Fact | None:
    return negated(x) if y is None else added(x, negated(y))


def _scaled(x: Fact, c: n.Number) -> Fact:
    """By a number, norms grow as the entries do."""
    size = abs(c)
    return Fact(
        x.shape, n.mul(x.range, (c, c)), _by(x.rows, size), _by(x.cols, size), n.product(x.unit, size or 1)
    )


def multiplied(x: Fact, y: Fact) -> Fact | None:
    """Norms of entrywise products, |x| <= p and |y| <= q: Hoelder (infinity with 1 and with 2), Cauchy-Schwarz."""
    for one, other in ((x, y), (y, x)):
        if not other.shape and other.range is not None and other.range[0] == other.range[1]:
            return _scaled(one, other.range[0])
    if (both := _both(x, y)) is None:
        return None
    x, y = both
    p, q = n.largest(x.range), n.largest(y.range)

    def norm(a: Norms, b: Norms) -> Norms:
        return (
            n.least(n.product(a[0], q, q), n.product(p, p, b[0])),
            n.least(n.product(a[1], q), n.product(p, b[1]), n.root_above(n.product(a[0], b[0]))),
        )

    return Fact(x.shape, n.mul(x.range, y.range), *_of_both(x, y, norm), n.product(x.unit, y.unit))


def divided(x: Fact, y: Fact) -> Fact | None:
    """Nothing is known where the divisor may be 0."""
    if y.range is None or y.range[0] <= 0 <= y.range[1]:
        return None if (both := _both(x, y)) is None else Fact(both[0].shape)
    low, high = n.over(1, y.range[1]), n.over(1, y.range[0])
    return multiplied(x, Fact(y.shape, (low, high), unit=abs(low) if low == high else None))


def raised(x: Fact, exponent: int) -> Fact:
    """A square has the norms of a product, and is not negative; |e| <= 4096 has the caller seen to."""
    if exponent < 0:
        return divided(point(1), raised(x, -exponent)) or Fact(x.shape)
    square = multiplied(x, x) if exponent == 2 and has_norms(x) else None
    unit = None if x.unit is None or exponent > 64 else x.unit**exponent
    return changed(square or Fact(x.shape), range=n.power(x.range, exponent), unit=unit)


def least_of(x: Fact, y: Fact) -> Fact | None:
    if (both := _both(x, y)) is None or x.range is None or y.range is None:
        return None if both is None else Fact(both[0].shape)
    found = min(x.range[0], y.range[0]), min(x.range[1], y.range[1])
    return Fact(both[0].shape, found, unit=common(x.unit, y.unit))


def most_of(x: Fact, y: Fact) -> Fact | None:
    found = least_of(negated(x), negated(y))
    return None if found is None else negated(found)


def clamped(x: Fact, low: Fact, high: Fact) -> Fact | None:
    """Between the two ends even where nothing is known of `x`."""
    if low.range is None or high.range is None:
        return Fact(x.shape)
    if x.range is None:
        found = min(low.range[0], high.range[0]), high.range[1]
        return Fact(x.shape, found, unit=common(x.unit, low.unit, high.unit))
    inner = most_of(x, low)
    return None if inner is None else least_of(inner, high)


def chosen(choice: Fact, x: Fact, y: Fact) -> Fact | None:
    """One of the two, entry by entry."""
    inner = joined(x.shape, y.shape)
    shape = None if inner is None else joined(inner, choice.shape)
    if shape is None:
        return None
    if choice.range is not None and (choice.range[0] > 0 or choice.range[1] < 0):
        return Fact(shape, x.range, unit=x.unit)
    if choice.range == (0, 0):
        return Fact(shape, y.range, unit=y.unit)
    return Fact(shape, n.hull(x.range, y.range), unit=common(x.unit, y.unit))


def sized(x: Fact) -> Fact:
    low, high = x.range or (None, None)
    found = x.range if low is None or high is None or low >= 0 else (max(-high, 0), max(-low, high))
    return changed(x, range=found, peak=None)


def rounded(x: Fact, step: n.Number) -> Fact:
    """To the nearest multiple of `step`, ties to even, which is monotone."""
    if n.divides(step, x.unit):
        return x
    found = None
    if x.range is not None:
        found = round(n.over(x.range[0], step)) * step, round(n.over(x.range[1], step)) * step
    return Fact(x.shape, found, unit=step)


def floored(x: Fact) -> Fact:
    return Fact(x.shape, None if x.range is None else (floor(x.range[0]), floor(x.range[1])), unit=1)


def risen(x: Fact) -> Fact:
    """exp of each entry: a row that reaches p has an entry of at least exp(p)."""
    peak = None if x.peak is None else n.exponential(x.peak)
    return Fact(x.shape, n.rising(n.exponential, x.range), peak=None if peak is None else peak[0])


def _entries(function: Callable[[Range], Range]) -> Callable[[Fact], Fact]:
    """A function of each entry of which the range alone is followed."""
    return lambda x: Fact(x.shape, function(x.range))


# ---- matrices and rows ----
def matrix_product(a: Fact, b: Fact) -> Fact | None:
    """A sum of k products: interval sum; Hoelder for (infinity, 1), (1, infinity), (2, 2); weights of one sign. Rows of the
    result: |a B| <= |a|1 times the largest row of B."""
    if not a.shape or len(b.shape) < 2 or a.shape[-1] != b.shape[-2] or ANY in (*a.shape, *b.shape):
        return None
    if len(b.shape) > 2 and a.shape[:-2] != b.shape[:-2]:
        return None
    k, p, q = a.shape[-1], n.largest(a.range), n.largest(b.range)
    found = n.mul((k, k), n.mul(a.range, b.range))
    plain = a.rows[0] is None and b.cols[0] is None
    two = None if plain else n.root_above(n.product(norms(a, -1)[0], norms(b, -2)[0]))
    for limit in (n.product(p, b.cols[1]), n.product(a.rows[1], q), two):
        found = n.meet(found, n.around(limit))
    for weights, weighted, of in ((a, a.rows[1], b.range), (b, b.cols[1], a.range)):
        if weights.range is not None and weights.range[0] >= 0 and weighted is not None and of is not None:
            found = n.meet(found, (weighted * min(of[0], 0), weighted * max(of[1], 0)))
    rows = OPEN if a.rows[1] is None else _by(norms(b, -1), a.rows[1])
    cols = OPEN if b.cols[1] is None else _by(norms(a, -2), b.cols[1])
    return Fact((*a.shape[:-1], b.shape[-1]), found, rows, cols, n.product(a.unit, b.unit))


def outer_product(a: Fact, b: Fact) -> Fact | None:
    if not a.shape or len(b.shape) != 1:
        return None
    rows, cols = OPEN, OPEN
    if has_norms(a) or has_norms(b):
        rows, cols = _by(norms(b, -1), n.largest(a.range)), _by(norms(a, -1), n.largest(b.range))
    return Fact((*a.shape, b.shape[0]), n.mul(a.range, b.range), rows, cols, n.product(a.unit, b.unit))


def _totalled(x: Fact, count: Size, rows: Size, shape: Shape) -> Fact:
    """`count` entries of `rows` rows: no more than their L1 norms; none negative: at least their largest."""
    found = None if count is None or ANY in x.shape else n.mul((count, count), x.range)
    if found is None or x.range is None:
        return Fact(shape, unit=x.unit)
    found = n.meet(found, n.around(n.product(rows, norms(x, -1)[1])))
    least = n.product(rows, x.peak) if count and x.range[0] >= 0 else None
    if least is not None and found is not None:
        found = max(least, found[0]), max(least, found[1])
    return Fact(shape, found, unit=x.unit)


def whole_total(x: Fact) -> Fact:
    return _totalled(x, prod(x.shape), prod(x.shape[:-1]), ())


def row_total(x: Fact) -> Fact:
    return _totalled(x, size(x, -1), 1, x.shape[:-1])


def row_mean(x: Fact) -> Fact | None:
    count = size(x, -1)
    return None if not count else multiplied(row_total(x), point(n.over(1, count)))


def row_largest(x: Fact) -> Fact:
    found = x.range
    if found is not None and x.peak is not None and x.peak > found[0]:
        found = x.peak, max(x.peak, found[1])
    return Fact(x.shape[:-1], found, unit=x.unit)


def below_row_largest(x: Fact) -> Fact:
    found = None if x.range is None else (x.range[0] - x.range[1], 0)
    return Fact(x.shape, found, unit=x.unit, peak=0)


# ---- entries moved ----
def moved(x: Fact, shape: Shape, rows: bool, columns: bool) -> Fact:
    """The same entries elsewhere; norms of rows or columns that stay together stay."""
    peak = x.peak if rows else None
    return Fact(shape, x.range, x.rows if rows else OPEN, x.cols if columns else OPEN, x.unit, peak)


def transposed(x: Fact) -> Fact | None:
    if len(x.shape) < 2:
        return None
    return Fact((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.range, x.cols, x.rows, x.unit)


def repeated_rows(x: Fact) -> Fact:
    return moved(x, (ANY, *x.shape), True, len(x.shape) > 1)


def repeated_along_rows(x: Fact) -> Fact:
    return moved(x, (*x.shape, ANY), False, False)


RULES: dict[str, Callable[..., Fact | None]] = {
    "+": added,
    "*": multiplied,
    "/": divided,
    "-": subtracted,
    "neg": negated,
    "min": least_of,
    "max": most_of,
    "clamp": clamped,
    "where": chosen,
    "abs": sized,
    "floor": floored,
    "exp": risen,
    "sqrt": _entries(lambda x: None if x is None or x[0] < 0 else n.rising(n.root, x)),
    "tanh": _entries(lambda x: UNIT if x is None else n.rising(n.hyperbolic_tangent, x)),
    "erf": _entries(lambda _: UNIT),
    "cos": _entries(lambda _: UNIT),
    "sin": _entries(lambda _: UNIT),
    "matmul": matrix_product,
    "outer": outer_product,
    "sum": whole_total,
    "row_sum": row_total,
    "row_mean": row_mean,
    "row_max": row_largest,
    "subtract_row_max": below_row_largest,
    "transpose": transposed,
    "row_broadcast": repeated_rows,
    "col_broadcast": repeated_along_rows,
}
