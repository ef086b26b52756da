"""Inputs worth trying: extreme and simple values of every input, weight and state that a result depends on.

Every entry lies in the value's format and in its stated ranges and norms. Tensors are constant or one-hot, so
large shapes stay small.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import islice, product

import msgspec

from pllm_lang.catalog.facts import Exact, Facts
from pllm_lang.catalog.formats import ulp
from pllm_lang.catalog.records import Format
from pllm_lang.catalog.tensor import Tensor, constant, one_hot
from pllm_lang.exact.enclose import sqrt
from pllm_lang.exact.number import normal

MAX_CANDIDATES = 192
MAX_SIGNS = 6
"""Inputs whose extremes are tried in all combinations; the rest move together."""
MAX_VALUES = 64
"""Values of one lone small input that are tried one by one."""

_SIGNIFICANT = {16: 8, 32: 24, 64: 53}
"""Significand bits by storage width: what every float of that width can hold (the least of its formats)."""


class Free(msgspec.Struct, frozen=True):
    """A value that a witness may choose."""

    value: int
    shape: tuple[int, ...]
    format: Format
    facts: Facts


class Choice(msgspec.Struct, frozen=True):
    """One tensor for one free value, and how to write it in a message."""

    tensor: Tensor
    text: str


def candidates(free: list[Free]) -> Iterator[dict[int, Choice]]:
    """Assignments of all free values, at most MAX_CANDIDATES, the likeliest first."""
    if not free:
        yield {}
        return
    yield from islice(_assignments(free), MAX_CANDIDATES)


def _assignments(free: list[Free]) -> Iterator[dict[int, Choice]]:
    ends = [list(_constants(one)) for one in free]
    if any(not choices for choices in ends):
        return
    leading, rest = ends[:MAX_SIGNS], ends[MAX_SIGNS:]
    for picked in product(*(choices[:2] for choices in leading)):
        tail = [choices[0] for choices in rest]
        yield {one.value: choice for one, choice in zip(free, (*picked, *tail), strict=True)}
    if len(free) == 1:
        yield from ({free[0].value: choice} for choice in _each_value(free[0]))
    for position, one in enumerate(free):
        for choice in (*ends[position][2:], *_hot(one)):
            filled = {other.value: choices[0] for other, choices in zip(free, ends, strict=True)}
            yield filled | {one.value: choice}


def _constants(one: Free) -> Iterator[Choice]:
    """All entries the highest, the lowest, the middle value; scaled down where a norm is bounded."""
    found = one.facts.range
    if found is None:
        return
    cap = _norm_cap(one)
    tried: set[Exact] = set()
    for wanted in (found.high, found.low, (found.high + found.low) * Fraction(1, 2), 0):
        limited = wanted if cap is None else max(min(wanted, cap), -cap)
        entry = snapped(limited, one.format)
        if entry not in tried and found.low <= entry <= found.high:
            tried.add(entry)
            yield Choice(constant(one.shape, entry), f"all entries {entry}")


def _norm_cap(one: Free) -> Exact | None:
    """The largest constant whose rows and columns meet the stated norms."""
    width = one.shape[-1] if one.shape else 1
    height = one.shape[-2] if len(one.shape) > 1 else 1
    caps: list[Exact] = []
    for square, size in ((one.facts.row_norm2_sq, width), (one.facts.col_norm2_sq, height)):
        if square is not None and size:
            caps.append(sqrt(Fraction(square) / size).low)
    for total, size in ((one.facts.row_norm1, width), (one.facts.col_norm1, height)):
        if total is not None and size:
            caps.append(Fraction(total) / size)
    return min(caps, default=None)


def _hot(one: Free) -> Iterator[Choice]:
    """Zero but for the first entry, where zero is allowed."""
    found = one.facts.range
    if found is None or not found.low <= 0 <= found.high or not one.shape or 0 in one.shape:
        return
    norms = [n for n in (one.facts.row_norm1, one.facts.col_norm1) if n is not None]
    norms += [sqrt(n).low for n in (one.facts.row_norm2_sq, one.facts.col_norm2_sq) if n is not None]
    for end in (found.high, found.low):
        cap = min(norms, default=abs(end))
        entry = snapped(max(min(end, cap), -cap), one.format)
        if entry:
            yield Choice(one_hot(one.shape, 0, entry), f"first entry {entry}, the rest 0")


def _each_value(one: Free) -> Iterator[Choice]:
    """Values of the format between the ends, evenly spread where there are many."""
    found, step = one.facts.range, ulp(one.format)
    if found is None:
        return
    width = found.high - found.low
    count = MAX_VALUES if step is None else min(int(width / step), MAX_VALUES)
    for position in range(1, count):
        entry = snapped(found.low + width * Fraction(position, count), one.format)
        if found.low <= entry <= found.high:
            yield Choice(constant(one.shape, entry), f"all entries {entry}")


def snapped(value: Exact, format_: Format) -> Exact:
    """The nearest value towards zero that the format holds."""
    step = ulp(format_)
    if step is not None:
        return normal(int(Fraction(value) / step) * step)
    if format_.kind == "float" and value:
        return _rounded(Fraction(value), _SIGNIFICANT.get(format_.bits, 8))
    return value


def _rounded(value: Fraction, digits: int) -> Exact:
    size = abs(value)
    shift = digits - (size.numerator.bit_length() - size.denominator.bit_length()) - 1
    scaled = int(size * Fraction(2) ** shift)
    kept = Fraction(scaled) / Fraction(2) ** shift
    return normal(kept if value > 0 else -kept)
