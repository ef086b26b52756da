"""Closed intervals of exact rationals and their arithmetic. None stands for *unknown* and absorbs."""

from __future__ import annotations

from pllm_lang.exact import enclose
from pllm_lang.exact.number import MAX_BITS, Exact, Interval, bits, normal, power, ratio, round_down, round_up

PRECISION = 256
"""Bits that an end keeps once it has more than COMPACT_BITS."""

COMPACT_BITS = 1_024


def point(value: Exact) -> Interval:
    return Interval(value, value)


def magnitude(x: Interval) -> Exact:
    """The largest absolute value in `x`."""
    return max(-x.low, x.high)


def mignitude(x: Interval) -> Exact:
    """The smallest absolute value in `x`."""
    return max(0, x.low, -x.high)


def symmetric(limit: Exact) -> Interval:
    return Interval(-limit, limit)


def hull(x: Interval, y: Interval) -> Interval:
    return Interval(min(x.low, y.low), max(x.high, y.high))


def meet(x: Interval, y: Interval) -> Interval:
    """The common part of two enclosures of the same numbers; if both cannot hold, `y` (the sharper claim)
    stands."""
    low, high = max(x.low, y.low), min(x.high, y.high)
    return Interval(low, high) if low <= high else y


def add(x: Interval, y: Interval) -> Interval:
    return Interval(x.low + y.low, x.high + y.high)


def sub(x: Interval, y: Interval) -> Interval:
    return Interval(x.low - y.high, x.high - y.low)


def neg(x: Interval) -> Interval:
    return Interval(-x.high, -x.low)


def mul(x: Interval, y: Interval) -> Interval:
    if x.low >= 0 and y.low >= 0:
        return Interval(x.low * y.low, x.high * y.high)
    ends = (x.low * y.low, x.low * y.high, x.high * y.low, x.high * y.high)
    return Interval(min(ends), max(ends))


def scale(x: Interval, factor: Exact) -> Interval:
    if factor >= 0:
        return Interval(x.low * factor, x.high * factor)
    return Interval(x.high * factor, x.low * factor)


def div(x: Interval, y: Interval) -> Interval | None:
    """`x / y`; unknown where `y` contains zero, or contradicts itself."""
    if y.low <= 0 <= y.high or y.low > y.high:
        return None
    return mul(x, Interval(ratio(1, y.high), ratio(1, y.low)))


def int_power(x: Interval, exponent: int) -> Interval | None:
    """`x ^ exponent`, tight for even exponents; unknown where it is undefined or beyond MAX_BITS."""
    if exponent < 0:
        below = int_power(x, -exponent)
        return None if below is None else div(point(1), below)
    low, high = power(x.low, exponent), power(x.high, exponent)
    if low is None or high is None:
        return None
    if exponent % 2 == 1 or x.low >= 0:
        return Interval(low, high)
    if x.high <= 0:
        return Interval(high, low)
    return Interval(0 if exponent else 1, max(low, high))


def square(x: Interval) -> Interval:
    near, far = mignitude(x), magnitude(x)
    return Interval(near * near, far * far)


def minimum(x: Interval, y: Interval) -> Interval:
    return Interval(min(x.low, y.low), min(x.high, y.high))


def maximum(x: Interval, y: Interval) -> Interval:
    return Interval(max(x.low, y.low), max(x.high, y.high))


def absolute(x: Interval) -> Interval:
    return Interval(mignitude(x), magnitude(x))


def sqrt(x: Interval) -> Interval | None:
    """Outward root; unknown below zero."""
    if x.low < 0:
        return None
    return Interval(enclose.sqrt(x.low).low, enclose.sqrt(x.high).high)


def outward(x: Interval) -> Interval | None:
    """`x` with ends of reasonable size, rounded outward; unknown where it is larger than 2^MAX_BITS."""
    if isinstance(x.low, int) and isinstance(x.high, int):
        return x if max(x.low.bit_length(), x.high.bit_length()) <= MAX_BITS else None
    low, high = x.low, x.high
    if bits(low) > COMPACT_BITS:
        low = _floor_tiny(low) if abs(low) < 1 else round_down(low, PRECISION)
    if bits(high) > COMPACT_BITS:
        high = -_floor_tiny(-high) if abs(high) < 1 else round_up(high, PRECISION)
    return None if max(bits(low), bits(high)) > MAX_BITS else Interval(normal(low), normal(high))


def _floor_tiny(value: Exact) -> Exact:
    """`value` (below one in size) rounded down without a denominator beyond COMPACT_BITS."""
    return ratio((value.numerator << COMPACT_BITS) // value.denominator, 1 << COMPACT_BITS)
