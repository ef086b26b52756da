"""Exact numbers as the text writes them."""

from __future__ import annotations

from fractions import Fraction

MAX_PLACES = 60
"""A number with more decimal places is written as a fraction."""


def number(value: object) -> str:
    """An exact number as the text writes it: a decimal where there is a finite one, else a fraction."""
    exact = Fraction(str(value))
    if exact.denominator == 1:
        return str(exact.numerator)
    places = _decimal_places(exact.denominator)
    if places is None:
        return f"{exact.numerator}/{exact.denominator}"
    digits = str(abs(exact.numerator) * 10**places // exact.denominator)
    sign = "-" if exact < 0 else ""
    if places > len(digits) + 2:
        tail = digits.rstrip("0")
        return f"{sign}{tail}e-{places - len(digits) + len(tail)}"
    digits = digits.rjust(places + 1, "0")
    return f"{sign}{digits[:-places]}.{digits[-places:]}"


def _decimal_places(denominator: int) -> int | None:
    """How many decimal places a fraction in lowest terms needs, None where no number of them is enough."""
    return next((n for n in range(1, MAX_PLACES) if 10**n % denominator == 0), None)
