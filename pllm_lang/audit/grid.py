"""Intervals on a grid: both ends are whole numbers of units, and every operation rounds outward to the next of them.

A search over thousands of pieces of a domain does nothing but this. Fractions would give tighter ends than it needs, at ten
times the time: each of their operations looks for a common divisor.

In and out: `Span`, `(low, high)` in units of 1 / UNIT. Every decimal of up to 24 digits stands on the grid, and so do the middles
of pieces: the ends and the comparisons that a record writes are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from pllm_lang.exact import enclose
from pllm_lang.exact.number import Exact, Interval, ratio

UNIT = 2**160 * 10**24
"""Units in one: about 2^-240 is the smallest difference. Small numbers lose digits, never their enclosure."""
BITS = 64
"""Of the enclosures of `exp` and its like, far more than the 2 % to which the ends of a search agree."""

Span = tuple[int, int]
ZERO: Span = (0, 0)
ONE: Span = (UNIT, UNIT)
TWO: Span = (2 * UNIT, 2 * UNIT)
HALF: Span = (UNIT // 2, UNIT // 2)


def spanned(x: Interval) -> Span:
    """The smallest span around an interval of exact numbers."""
    return down(x.low), up(x.high)


def interval_of(x: Span) -> Interval:
    return Interval(value_of(x[0]), value_of(x[1]))


def value_of(end: int) -> Exact:
    return ratio(end, UNIT)


def down(value: Exact) -> int:
    return value.numerator * UNIT // value.denominator


def up(value: Exact) -> int:
    return -(-value.numerator * UNIT // value.denominator)


def magnitude(x: Span) -> int:
    """The largest absolute value in `x`."""
    return max(-x[0], x[1])


def mignitude(x: Span) -> int:
    """The smallest absolute value in `x`."""
    return max(0, x[0], -x[1])


def bits(x: Span) -> int:
    """Bits before the point of the largest absolute value; 0 below one."""
    return (magnitude(x) // UNIT).bit_length()


def hull(x: Span, y: Span) -> Span:
    return min(x[0], y[0]), max(x[1], y[1])


# ---- arithmetic --------------------------------------------------------------------------------------


def add(x: Span, y: Span) -> Span:
    return x[0] + y[0], x[1] + y[1]


def neg(x: Span) -> Span:
    return -x[1], -x[0]


def mul(x: Span, y: Span) -> Span:
    (a, b), (c, d) = x, y
    if a >= 0 and c >= 0:
        return a * c // UNIT, -(-b * d // UNIT)
    ends = (a * c, a * d, b * c, b * d)
    return min(ends) // UNIT, -(-max(ends) // UNIT)


def scale(x: Span, factor: int) -> Span:
    """`x` times a whole number that is not negative."""
    return x[0] * factor, x[1] * factor


def inverse(x: Span) -> Span | None:
    """`1 / x`; unknown where `x` contains zero."""
    low, high = x
    if low <= 0 <= high:
        return None
    return UNIT * UNIT // high, -(-UNIT * UNIT // low)


def square(x: Span) -> Span:
    near, far = mignitude(x), magnitude(x)
    return near * near // UNIT, -(-far * far // UNIT)


def absolute(x: Span) -> Span:
    return mignitude(x), magnitude(x)


def power(x: Span, exponent: int) -> Span:
    """Tight: an even power of a span is one of its sizes, an odd one increases."""
    low, high = absolute(x) if exponent % 2 == 0 else x
    return _end_power(low, exponent, upward=False), _end_power(high, exponent, upward=True)


def _end_power(x: int, exponent: int, *, upward: bool) -> int:
    """`x^exponent`, squared again and again and rounded in one direction; of a negative `x` the exponent is odd."""
    if x < 0:
        return -_end_power(-x, exponent, upward=not upward)
    found = UNIT
    while exponent:
        if exponent % 2:
            found = _product(found, x, upward=upward)
        exponent //= 2
        if exponent:
            x = _product(x, x, upward=upward)
    return found


def _product(x: int, y: int, *, upward: bool) -> int:
    return -(-x * y // UNIT) if upward else x * y // UNIT


def whole(x: Span) -> Span:
    """Both ends rounded down to whole numbers."""
    return x[0] // UNIT * UNIT, x[1] // UNIT * UNIT


# ---- functions ---------------------------------------------------------------------------------------


def exp(x: Span) -> Span | None:
    return _increasing(_exp, x)


def tanh(x: Span) -> Span | None:
    return _increasing(_tanh, x)


def erf(x: Span) -> Span | None:
    return _increasing(_erf, x)


def sin(x: Span) -> Span:
    return _wave(_sin, x)


def cos(x: Span) -> Span:
    return _wave(_cos, x)


def sqrt(x: Span) -> Span | None:
    """Unknown below zero."""
    return None if x[0] < 0 else (_sqrt(x[0])[0], _sqrt(x[1])[1])


def pi() -> Span:
    return spanned(enclose.pi())


At = Callable[[int], "Span | None"]
"""A function at a point of the grid, enclosed."""


def _at(function: Callable[[Exact, int], Interval | None]) -> At:
    """Neighbouring pieces share their ends, so each is asked for again and again."""

    def at(x: int) -> Span | None:
        found = function(value_of(x), BITS)
        return None if found is None else spanned(found)

    return lru_cache(maxsize=4096)(at)


def _increasing(function: At, x: Span) -> Span | None:
    below = function(x[0])
    above = below if x[0] == x[1] else function(x[1])
    return None if below is None or above is None else (below[0], above[1])


def _wave(function: Callable[[int], Span], x: Span) -> Span:
    """A sine or cosine moves by at most what its operand moves, and stays within -1 and 1."""
    middle = (x[0] + x[1]) // 2
    reach = x[1] - middle
    low, high = function(middle)
    return max(-UNIT, low - reach), min(UNIT, high + reach)


_exp, _tanh, _erf = _at(enclose.exp), _at(enclose.tanh), _at(enclose.erf)


def _certain(function: Callable[[Exact, int], Interval]) -> Callable[[int], Span]:
    def at(x: int) -> Span:
        return spanned(function(value_of(x), BITS))

    return lru_cache(maxsize=4096)(at)


_sin, _cos, _sqrt = _certain(enclose.sin), _certain(enclose.cos), _certain(enclose.sqrt)
