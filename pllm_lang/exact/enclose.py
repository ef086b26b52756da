"""Rational enclosures of sqrt, exp, log, tanh, erf, cos and sin, computed in integers with directed rounding.

Each function takes an exact argument and gives `low <= f(x) <= high`, apart by about 2^-bits (relative for
exp).
Sources: Taylor series with Lagrange remainder; Abramowitz and Stegun 7.1.6 for erf; Machin's formula for pi.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import isqrt

from pllm_lang.exact.number import Exact, Interval, normal, ratio, round_down, round_up

BITS = 64

EXP_LIMIT = 5_000
"""Beyond this exp(x) is above 2^7200: unknown upwards, and at most 2^-7200 downwards."""


def sqrt(x: Exact, bits: int = BITS) -> Interval:
    """The root of x >= 0; a single point where it is rational."""
    top, under = x.numerator, x.denominator
    root_top, root_under = isqrt(top), isqrt(under)
    if root_top * root_top == top and root_under * root_under == under:
        root = ratio(root_top, root_under)
        return Interval(root, root)
    shift = max(bits - (top.bit_length() - under.bit_length()) // 2, bits)
    root = isqrt((top << (2 * shift)) // under)
    return Interval(ratio(root, 1 << shift), ratio(root + 1, 1 << shift))


@lru_cache(maxsize=1024)
def exp(x: Exact, bits: int = BITS) -> Interval | None:
    """exp(x) to a relative 2^-bits; None above EXP_LIMIT."""
    if x > EXP_LIMIT:
        return None
    if x < -EXP_LIMIT:
        return Interval(0, ratio(1, 1 << 7_200))
    if x == 0:
        return Interval(1, 1)
    if x < 0:
        rise = exp(-x, bits + 2)
        assert rise is not None
        return Interval(round_down(ratio(1, rise.high), bits + 4), round_up(ratio(1, rise.low), bits + 4))
    halvings = (x.numerator // x.denominator).bit_length() + 2
    p = bits + 2 * halvings + 16
    t = (x.numerator << p) // (x.denominator << halvings)
    low, high = _exp_series(t, p, False), _exp_series(t + 1, p, True)
    for _ in range(halvings):
        low, high = (low * low) >> p, -((-high * high) >> p)
    return Interval(round_down(ratio(low, 1 << p), bits + 4), round_up(ratio(high, 1 << p), bits + 4))


def _exp_series(t: int, p: int, upward: bool) -> int:
    """exp(t / 2^p) * 2^p for 0 <= t < 2^(p-1), rounded in one direction."""
    total, term, n = 1 << p, 1 << p, 0
    while term > 1:
        n += 1
        term = -((-term * t) // (n << p)) if upward else (term * t) // (n << p)
        total += term
    # the rest of the series is below twice its last term, which is at most one unit
    return total + 2 if upward else total


def log(x: Exact, bits: int = BITS) -> Interval:
    """The natural logarithm of x > 0 to an absolute 2^-bits."""
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    reduced = ratio(x.numerator << max(-exponent, 0), x.denominator << max(exponent, 0))
    p = bits + 16 + abs(exponent).bit_length()
    low, high = _log_reduced(reduced, p)
    two_low, two_high = _log_reduced(2, p)
    if exponent < 0:
        two_low, two_high = two_high, two_low
    return Interval(ratio(low + exponent * two_low, 1 << p), ratio(high + exponent * two_high, 1 << p))


def _log_reduced(m: Exact, p: int) -> tuple[int, int]:
    """log(m) * 2^p for 1/2 <= m <= 2: 2 atanh((m-1)/(m+1)), |argument| <= 1/3."""
    z = ratio(m - 1, m + 1)
    sign, z = (1, z) if z >= 0 else (-1, -z)
    t = (z.numerator << p) // z.denominator
    low = _odd_series(t, p, False)
    high = _odd_series(t + 1, p, True)
    return (2 * low, 2 * high) if sign > 0 else (-2 * high, -2 * low)


def _odd_series(t: int, p: int, upward: bool) -> int:
    """atanh(t / 2^p) * 2^p for 0 <= t <= 2^p / 2, rounded in one direction."""
    total, term, n, squared = 0, t, 1, t * t
    while term > 0:
        total += -(-term // n) if upward else term // n
        term = (term * squared) >> (2 * p)
        term += 1 if upward and term else 0
        n += 2
    return total + 4 if upward else total


@lru_cache(maxsize=1024)
def tanh(x: Exact, bits: int = BITS) -> Interval:
    """tanh(x) = 1 - 2 / (exp(2x) + 1) to an absolute 2^-bits."""
    if x == 0:
        return Interval(0, 0)
    if x < 0:
        positive = tanh(-x, bits)
        return Interval(-positive.high, -positive.low)
    rise = exp(min(2 * x, EXP_LIMIT), bits + 4)
    assert rise is not None
    high = 1 if 2 * x > EXP_LIMIT else 1 - ratio(2, rise.high + 1)
    return _absolute(max(0, 1 - ratio(2, rise.low + 1)), min(1, high), bits)


@lru_cache(maxsize=1024)
def erf(x: Exact, bits: int = BITS) -> Interval:
    """erf(x) to an absolute 2^-bits."""
    if x == 0:
        return Interval(0, 0)
    if x < 0:
        positive = erf(-x, bits)
        return Interval(-positive.high, -positive.low)
    if 10 * x * x > 7 * (bits + 4):  # erfc(x) < exp(-x^2) < 2^-(bits + 4), as 1 / log(2) > 10 / 7
        return Interval(1 - ratio(1, 1 << (bits + 4)), 1)
    p = bits + 32 + 2 * (x.numerator // x.denominator + 1) ** 2
    t = (x.numerator << p) // x.denominator
    fall = exp(-x * x, p)
    assert fall is not None
    root = _root_pi(p)
    low = ratio(2 * fall.low * ratio(_erf_series(t, p, False), 1 << p), root.high)
    high = ratio(2 * fall.high * ratio(_erf_series(t + 1, p, True), 1 << p), root.low)
    return _absolute(max(0, low), min(1, high), bits)


def _erf_series(t: int, p: int, upward: bool) -> int:
    """sum of 2^n x^(2n+1) / (1*3*5*...*(2n+1)) for x = t / 2^p, scaled by 2^p, rounded in one direction."""
    total, term, n, squared = t, t, 0, t * t
    while term > 1 or 4 * squared > (2 * n + 3) << (2 * p):
        n += 1
        under = (2 * n + 1) << (2 * p)
        term = -((-term * 2 * squared) // under) if upward else (term * 2 * squared) // under
        total += term
    return total + 4 if upward else total


def _root_pi(bits: int) -> Interval:
    turn = pi(bits + 4)
    return Interval(sqrt(turn.low, bits).low, sqrt(turn.high, bits).high)


@lru_cache(maxsize=32)
def pi(bits: int = BITS) -> Interval:
    """pi = 16 atan(1/5) - 4 atan(1/239) to an absolute 2^-bits."""
    p = bits + 16
    value = 16 * _arctangent(5, p) - 4 * _arctangent(239, p)
    slack = 32 * p  # at most one unit a term, times the factors
    return Interval(ratio(value - slack, 1 << p), ratio(value + slack, 1 << p))


def _arctangent(n: int, p: int) -> int:
    term = (1 << p) // n
    total, k = 0, 1
    while term:
        total += term // k if k % 4 == 1 else -(term // k)
        term //= n * n
        k += 2
    return total


def cos(x: Exact, bits: int = BITS) -> Interval:
    """cos(x) to an absolute 2^-bits; |x| below 2^bits."""
    return _circular(x, bits, _cos_series)


def sin(x: Exact, bits: int = BITS) -> Interval:
    """sin(x) to an absolute 2^-bits; |x| below 2^bits."""
    return _circular(x, bits, _sin_series)


def _circular(x: Exact, bits: int, series: Callable[[int, int], int]) -> Interval:
    size = x.numerator.bit_length() - x.denominator.bit_length()
    p = bits + 24
    turn = pi(p + max(size, 0) + 8)
    turns = round(ratio(x, 2 * turn.low))
    low, high = sorted((x - 2 * turns * turn.low, x - 2 * turns * turn.high))
    t = (low.numerator << p) // low.denominator
    width = -((-(high - low).numerator << p) // (high - low).denominator) + 1
    value, slack = series(t, p), width + 4 * p  # both series and their slope are bounded by one
    one = 1 << p
    return _absolute(ratio(max(value - slack, -one), one), ratio(min(value + slack, one), one), bits)


def _cos_series(t: int, p: int) -> int:
    return _alternating(1 << p, 0, t, p)


def _sin_series(t: int, p: int) -> int:
    return _alternating(t, 1, t, p)


def _alternating(first: int, degree: int, t: int, p: int) -> int:
    total, term, n = first, first, degree
    while term not in (0, -1):
        term = -((term * t * t) >> (2 * p)) // ((n + 1) * (n + 2))
        n += 2
        total += term
    return total


def _absolute(low: Exact, high: Exact, bits: int) -> Interval:
    """The ends on the grid of 2^-(bits + 4), rounded outward."""
    shift = bits + 4
    return Interval(
        normal(ratio((low.numerator << shift) // low.denominator, 1 << shift)),
        normal(ratio(-((-high.numerator << shift) // high.denominator), 1 << shift)),
    )
