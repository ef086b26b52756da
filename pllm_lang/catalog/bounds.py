"""Bounds derived from facts: the best of interval and norms, for a tensor of known shape.

In come facts as stored (only what was stated or computed); out go the sharpest bounds that follow from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import gcd

import msgspec

from pllm_lang.catalog.facts import Exact, Facts, Interval, Known
from pllm_lang.catalog.tensor import STRETCH, Shape
from pllm_lang.exact import enclose
from pllm_lang.exact.interval import COMPACT_BITS, PRECISION, magnitude, meet, outward, symmetric
from pllm_lang.exact.number import MAX_BITS, bits, ratio, round_up


class Arg(msgspec.Struct, frozen=True, gc=False):
    """A tensor with its shape, as facts columns see it."""

    shape: Shape
    facts: Facts


def max_abs(x: Arg) -> Exact | None:
    """Bound of every |entry|; `settle` has already met the range with the norms."""
    return None if x.facts.range is None else magnitude(x.facts.range)


def row_norm2_sq(x: Arg) -> Exact | None:
    return _norm2_sq(x.facts.row_norm2_sq, x.facts.row_norm1, x, row_size(x.shape))


def col_norm2_sq(x: Arg) -> Exact | None:
    return _norm2_sq(x.facts.col_norm2_sq, x.facts.col_norm1, x, column_size(x.shape))


def row_norm1(x: Arg) -> Exact | None:
    return _norm1(x.facts.row_norm1, x.facts.row_norm2_sq, x, row_size(x.shape))


def col_norm1(x: Arg) -> Exact | None:
    return _norm1(x.facts.col_norm1, x.facts.col_norm2_sq, x, column_size(x.shape))


def row_size(shape: Shape) -> int | None:
    """Entries of a row: 1 for a scalar, None where a broadcast leaves it open."""
    if not shape:
        return 1
    return None if shape[-1] == STRETCH else shape[-1]


def column_size(shape: Shape) -> int | None:
    if len(shape) < 2 or shape[-2] == STRETCH:
        return None
    return shape[-2]


def least(values: Iterable[Exact | None]) -> Exact | None:
    """The smallest of the bounds that are known."""
    return min((v for v in values if v is not None), default=None)


def times(*factors: Exact | None) -> Exact | None:
    """The product of bounds; unknown absorbs."""
    product: Exact = 1
    for factor in factors:
        if factor is None:
            return None
        product = product * factor
    return product


def plus(*terms: Exact | None) -> Exact | None:
    total: Exact = 0
    for term in terms:
        if term is None:
            return None
        total = total + term
    return total


def common_unit(units: Iterable[Exact | None]) -> Exact | None:
    """The largest number of which every unit is a multiple; unknown absorbs."""
    top, under = 0, 1
    for unit in units:
        if unit is None:
            return None
        top = gcd(top * unit.denominator, unit.numerator * under)
        under = under * unit.denominator
        shared = gcd(top, under) or 1
        top, under = top // shared, under // shared
    return ratio(top, under) if top else None


def units_of(args: Iterable[Arg]) -> Exact | None:
    """The grid that all operands share."""
    return common_unit(arg.facts.unit for arg in args)


def root(square: Exact | None) -> Exact | None:
    """An upper bound of the square root."""
    return None if square is None else enclose.sqrt(square).high


def square_of_sum(x_sq: Exact | None, y_sq: Exact | None) -> Exact | None:
    """(sqrt(x_sq) + sqrt(y_sq))^2, rounded up."""
    return plus(x_sq, y_sq, times(2, root(times(x_sq, y_sq))))


def has_norms(x: Facts) -> bool:
    """Whether any norm says more than range and shape do."""
    return not (
        x.row_norm2_sq is None and x.row_norm1 is None and x.col_norm2_sq is None and x.col_norm1 is None
    )


NORMS: tuple[tuple[str, Callable[[Arg], Exact | None]], ...] = (
    ("row_norm2_sq", row_norm2_sq),
    ("row_norm1", row_norm1),
    ("col_norm2_sq", col_norm2_sq),
    ("col_norm1", col_norm1),
)


def settle(facts: Facts) -> Facts:
    """The same facts with ends of bounded size and the range met with what the norms imply."""
    found = facts.range
    if has_norms(facts):
        limit = least((root(facts.row_norm2_sq), facts.row_norm1, root(facts.col_norm2_sq), facts.col_norm1))
        if limit is not None and (found is None or magnitude(found) > limit):
            found = symmetric(limit) if found is None else meet(found, symmetric(limit))
    if found is not None:
        found = outward(found)
    return msgspec.structs.replace(
        facts,
        range=found,
        row_norm2_sq=_compact(facts.row_norm2_sq),
        row_norm1=_compact(facts.row_norm1),
        col_norm2_sq=_compact(facts.col_norm2_sq),
        col_norm1=_compact(facts.col_norm1),
        error=_compact(facts.error),
    )


def known_facts(known: Known, rule: str = "known value") -> Facts:
    """Everything that follows from the entries themselves."""
    if not known.entries:
        return Facts(error=0, value=known, rule=rule)
    length = row_size(known.shape) or 1
    rows = [known.entries[i : i + length] for i in range(0, len(known.entries), length)]
    height = column_size(known.shape)
    columns = _columns(rows, height) if height else None
    return Facts(
        range=Interval(min(known.entries), max(known.entries)),
        row_norm2_sq=_largest(rows, _sum_of_squares),
        row_norm1=_largest(rows, _sum_of_sizes),
        col_norm2_sq=None if columns is None else _largest(columns, _sum_of_squares),
        col_norm1=None if columns is None else _largest(columns, _sum_of_sizes),
        error=0,
        value=known,
        unit=_grid(known.entries),
        row_max_low=min(max(row) for row in rows),
        rule=rule,
    )


def _grid(entries: tuple[Exact, ...]) -> Exact | None:
    """The grid of the entries that are not zero; of zeros alone, the whole numbers."""
    units = [abs(entry) for entry in entries if entry]
    return common_unit(units) if units else 1


def _columns(rows: list[tuple[Exact, ...]], height: int) -> list[tuple[Exact, ...]]:
    blocks = (rows[i : i + height] for i in range(0, len(rows), height))
    return [column for block in blocks for column in zip(*block, strict=True)]


def _largest(vectors: list[tuple[Exact, ...]], norm: Callable[[tuple[Exact, ...]], Exact]) -> Exact:
    return max(norm(vector) for vector in vectors)


def _sum_of_squares(vector: tuple[Exact, ...]) -> Exact:
    return sum(entry * entry for entry in vector)


def _sum_of_sizes(vector: tuple[Exact, ...]) -> Exact:
    return sum(abs(entry) for entry in vector)


def _norm2_sq(stored: Exact | None, norm1: Exact | None, x: Arg, size: int | None) -> Exact | None:
    limit = max_abs(x)
    dense = None if limit is None or size is None else size * limit * limit
    return least((stored, dense, times(norm1, limit), times(norm1, norm1)))


def _norm1(stored: Exact | None, norm2_sq: Exact | None, x: Arg, size: int | None) -> Exact | None:
    limit = max_abs(x)
    dense = None if limit is None or size is None else size * limit
    wide = None if norm2_sq is None or size is None else root(size * norm2_sq)
    return least((stored, dense, wide))


def _compact(value: Exact | None) -> Exact | None:
    """An upper bound of reasonable size, unknown beyond MAX_BITS."""
    if value is None or bits(value) <= COMPACT_BITS:
        return value
    if bits(value) > MAX_BITS and abs(value) > 1:
        return None
    if value > 1:
        return round_up(value, PRECISION)
    return ratio(-((-value.numerator << COMPACT_BITS) // value.denominator), 1 << COMPACT_BITS)
