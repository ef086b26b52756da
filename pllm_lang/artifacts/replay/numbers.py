"""Replay: exact intervals and enclosures, written anew so that nothing of the verifier's arithmetic is taken over.

An interval is a pair of rationals (low, high); None stands for *unknown*, and whatever meets it is unknown. Functions that
are not rational are enclosed: the true value lies between the two ends. Whole numbers are `int`, which is quicker; numbers are
divided by `over` alone, so that no two of them meet as floats.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import TypeAlias

Number: TypeAlias = int | Fraction
Range: TypeAlias = tuple[Number, Number] | None
Size: TypeAlias = Number | None
"""An upper bound that is not negative."""
BITS = 300
"""Bits behind the point to which roots and exponentials are enclosed; finer than what certificates state."""
MAX_BITS = 20_000
"""Numbers of a certificate, and what replay makes of them, are no longer than that."""
MAX_ARGUMENT = 4096
"""Exponentials of larger numbers are unknown."""


@lru_cache(maxsize=4096)
def number(text: str) -> Number:
    """The rational that a document writes as `12` or `-1/128`; ValueError for anything else."""
    top, slash, under = text.partition("/")
    if (
        len(text) > MAX_BITS // 3
        or not text.isascii()
        or not top.removeprefix("-").isdecimal()
        or (slash and not under.isdecimal())
    ):
        raise ValueError(f"not an exact number: {text[:40]!r}")
    return Fraction(int(top), int(under)) if slash else int(top)


def over(x: Number, y: Number) -> Number:
    """x / y, exactly."""
    found = x * y.denominator if y.numerator == 1 else Fraction(x) / y
    return found.numerator if found.denominator == 1 else found


def two_to(n: int) -> Number:
    return 1 << n if n >= 0 else Fraction(1, 1 << -n)


def divides(unit: Size, x: Size) -> bool:
    """Whether `x` is known to be a whole multiple of `unit`."""
    return unit is not None and x is not None and not x % unit


def add(x: Range, y: Range) -> Range:
    return None if x is None or y is None else (x[0] + y[0], x[1] + y[1])


def neg(x: Range) -> Range:
    return None if x is None else (-x[1], -x[0])


def mul(x: Range, y: Range) -> Range:
    if x is None or y is None:
        return None
    ends = (x[0] * y[0], x[0] * y[1], x[1] * y[0], x[1] * y[1])
    return min(ends), max(ends)


def power(x: Range, n: int) -> Range:
    """`x ^ n` for a whole n of moderate size."""
    if x is None or n < 0 or n * max(bits(x[0]), bits(x[1]), 1) > MAX_BITS:
        return None
    ends = sorted((x[0] ** n, x[1] ** n))
    return (0, ends[1]) if n and n % 2 == 0 and x[0] < 0 < x[1] else (ends[0], ends[1])


def hull(x: Range, y: Range) -> Range:
    return None if x is None or y is None else (min(x[0], y[0]), max(x[1], y[1]))


def meet(x: Range, y: Range) -> Range:
    """The common part of two bounds of one number."""
    if x is None or y is None:
        return x if y is None else y
    low, high = max(x[0], y[0]), min(x[1], y[1])
    return (low, high) if low <= high else y


def narrowed(x: Range, low: Size, high: Size) -> Range:
    """With what is known of its ends beside; as it was where an end stays unknown, or where that is not possible."""
    if x is not None:
        low = x[0] if low is None else max(x[0], low)
        high = x[1] if high is None else min(x[1], high)
    return x if low is None or high is None or low > high else (low, high)


def within(x: Range, limit: Range) -> bool:
    """Whether all of `x` is known to lie in `limit`."""
    return limit is None or (x is not None and limit[0] <= x[0] and x[1] <= limit[1])


def largest(x: Range) -> Size:
    """The largest absolute value."""
    return None if x is None else max(-x[0], x[1], 0)


def around(size: Size) -> Range:
    return None if size is None else (-size, size)


def least(*sizes: Size) -> Size:
    return min((one for one in sizes if one is not None), default=None)


def most(*sizes: Size) -> Size:
    known = [one for one in sizes if one is not None]
    return None if len(known) < len(sizes) else max(known)


def product(*sizes: Size) -> Size:
    total = sizes[0]
    for one in sizes[1:]:
        total = None if one is None or total is None else total * one
    return total


def total(*sizes: Size) -> Size:
    out: Size = sizes[0] if sizes else 0
    for one in sizes[1:]:
        out = None if one is None or out is None else out + one
    return out


def bits(x: Number) -> int:
    return max(x.numerator.bit_length(), x.denominator.bit_length())


# ---- enclosures ----
def root(x: Number) -> tuple[Number, Number]:
    """sqrt(x), x >= 0: a lower and an upper bound, equal where the root is rational."""
    top, under = isqrt(x.numerator), isqrt(x.denominator)
    if top * top == x.numerator and under * under == x.denominator:
        return over(top, under), over(top, under)
    scale = 1 << (BITS + max(0, x.denominator.bit_length() - x.numerator.bit_length()))
    floor = isqrt(x.numerator * scale * scale // x.denominator)
    return Fraction(floor, scale), Fraction(floor + 1, scale)


def root_above(x: Size) -> Size:
    return None if x is None else root(x)[1]


def exponential(x: Number) -> tuple[Number, Number] | None:
    """exp(x): the series of |x| / 2^k <= 1/2, cut where the rest is below the last term, squared k times."""
    if abs(x) > MAX_ARGUMENT or x == 0:
        return (1, 1) if x == 0 else None
    size, halvings = Fraction(abs(x)), 0
    while size > Fraction(1, 2):
        size, halvings = size / 2, halvings + 1
    low, term, n = Fraction(1), Fraction(1), 0
    while term > Fraction(1, 1 << (BITS + 2 * halvings)):
        n += 1
        term = _up(term * size / n, BITS + 2 * halvings + 8)
        low += term
    slack = Fraction(n + 2, 1 << (BITS + 2 * halvings))
    below, above = low - slack, low + slack
    for _ in range(halvings):
        below, above = _down(below * below), _up(above * above)
    return (below, above) if x >= 0 else (over(1, above), over(1, below))


def _down(x: Fraction, digits: int = 0) -> Fraction:
    """At most x, with so many bits behind the point, or a size-relative number of them."""
    shift = digits or BITS + 64 - min(0, x.numerator.bit_length() - x.denominator.bit_length())
    return Fraction((x.numerator << shift) // x.denominator, 1 << shift)


def _up(x: Fraction, digits: int = 0) -> Fraction:
    return -_down(-x, digits)


def hyperbolic_tangent(x: Number) -> tuple[Number, Number]:
    """tanh(x) = 1 - 2 / (exp(2x) + 1), odd and rising to 1."""
    if x < 0:
        low, high = hyperbolic_tangent(-x)
        return -high, -low
    found = exponential(min(2 * x, MAX_ARGUMENT))
    assert found is not None
    return 1 - over(2, found[0] + 1), 1 if 2 * x > MAX_ARGUMENT else 1 - over(2, found[1] + 1)


def rising(function: Callable[[Number], tuple[Number, Number] | None], x: Range) -> Range:
    """The range of an increasing function."""
    if x is None:
        return None
    low, high = function(x[0]), function(x[1])
    return None if low is None or high is None else (low[0], high[1])
