"""Exact numbers: `int` where integral, else `Fraction`; closed intervals of them; their text form, and how
large they may get.

Every number that decides a verdict passes through here. Nothing in this package makes a binary float.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TypeAlias

import msgspec

Exact: TypeAlias = int | Fraction

MAX_BITS = 8_192
"""No numerator, denominator or power has more bits; what would is refused, not computed."""

MAX_TEXT = 4_000
"""Longest literal that is read, in characters."""

_NUMBER = re.compile(
    r"(?P<sign>-?)(?P<whole>[0-9][0-9_]*)(?:\.(?P<fraction>[0-9]+))?(?:[eE](?P<exponent>[+-]?[0-9]{1,6}))?"
    r"(?:/(?P<under>[0-9][0-9_]*))?"
)


class Interval(msgspec.Struct, frozen=True, gc=False):
    """All reals from `low` to `high`, both included. Empty intervals do not exist."""

    low: Exact
    high: Exact


class TooLargeError(ValueError):
    """A number beyond MAX_BITS or MAX_TEXT."""


def exact(text: str) -> Exact:
    """The number written as `12`, `1_000`, `-1/128`, `0.5` or `1e-6`; ValueError for anything else."""
    if len(text) > MAX_TEXT:
        raise TooLargeError(f"a number of {len(text)} characters; at most {MAX_TEXT} are read")
    if text.isdigit():
        return int(text)
    found = _NUMBER.fullmatch(text)
    if found is None:
        raise ValueError(f"not a number: {text!r}")
    fraction = found["fraction"] or ""
    exponent = int(found["exponent"] or 0) - len(fraction)
    if abs(exponent) > MAX_BITS // 4:
        raise TooLargeError(f"a power of ten beyond 10^{MAX_BITS // 4}")
    top, under = int(found["whole"] + fraction), int(found["under"] or 1)
    if under == 0:
        raise ValueError("a fraction over zero")
    value = Fraction(top * 10 ** max(exponent, 0), under * 10 ** max(-exponent, 0))
    return normal(-value if found["sign"] else value)


def text(value: Exact) -> str:
    """The canonical form: `12`, `-1/128`; `exact(text(v)) == v`."""
    return str(value)


def normal(value: Exact) -> Exact:
    """The same number as `int` where it is integral."""
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    return value


def ratio(top: Exact, under: Exact) -> Exact:
    """`top / under`, exactly; `under` is not zero."""
    if isinstance(top, int) and isinstance(under, int):
        if under in (1, -1):
            return top * under
        whole, rest = divmod(top, under)
        return whole if rest == 0 else Fraction(top, under)
    return normal(Fraction(top) / under)


def bits(value: Exact) -> int:
    """Size in bits: of the integer, or of the larger of numerator and denominator."""
    if isinstance(value, int):
        return value.bit_length()
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def power(base: Exact, exponent: Exact) -> Exact | None:
    """`base ^ exponent` for an integer exponent; None where it is not rational, undefined or beyond
    MAX_BITS."""
    if not isinstance(exponent, int) or (base == 0 and exponent < 0):
        return None
    if base in (0, 1, -1):
        return 1 if (exponent % 2 == 0 and base != 0) or exponent == 0 else base
    if abs(exponent) * max(1, bits(base) - 1) > MAX_BITS:
        return None
    result = base ** abs(exponent)
    return ratio(1, result) if exponent < 0 else normal(result)


def round_down(value: Exact, precision: int) -> Exact:
    """The largest dyadic rational of about `precision` significant bits that is at most `value`."""
    if bits(value) <= precision:
        return value
    shift = _scale(value, precision)
    top, under = value.numerator, value.denominator
    if shift >= 0:
        return ratio((top << shift) // under, 1 << shift)
    return (top // (under << -shift)) << -shift


def round_up(value: Exact, precision: int) -> Exact:
    """The smallest dyadic rational of about `precision` significant bits that is at least `value`."""
    return -round_down(-value, precision)


def _scale(value: Exact, precision: int) -> int:
    size = value.numerator.bit_length() - value.denominator.bit_length()
    return precision - size
