"""Literals with and without units, as exact numbers.

A quantity is a number glued to a unit (`24GiB`, `50ms`); its value is in the base unit of its dimension:
bytes, seconds, bits.
"""

from __future__ import annotations

import re
from fractions import Fraction

import msgspec

from pllm_lang.resolve.limits import MAX_DECIMAL_EXPONENT, MAX_NUMBER_BITS
from pllm_lang.resolve.suggest import did_you_mean
from pllm_lang.text.limits import MAX_WORD_CHARACTERS

UNITS: dict[str, tuple[str, Fraction]] = {
    "B": ("bytes", Fraction(1)),
    "kB": ("bytes", Fraction(10**3)),
    "MB": ("bytes", Fraction(10**6)),
    "GB": ("bytes", Fraction(10**9)),
    "TB": ("bytes", Fraction(10**12)),
    "KiB": ("bytes", Fraction(2**10)),
    "MiB": ("bytes", Fraction(2**20)),
    "GiB": ("bytes", Fraction(2**30)),
    "TiB": ("bytes", Fraction(2**40)),
    "ns": ("seconds", Fraction(1, 10**9)),
    "us": ("seconds", Fraction(1, 10**6)),
    "ms": ("seconds", Fraction(1, 10**3)),
    "s": ("seconds", Fraction(1)),
    "min": ("seconds", Fraction(60)),
    "h": ("seconds", Fraction(3600)),
    "bit": ("bits", Fraction(1)),
    "bits": ("bits", Fraction(1)),
    "kbit": ("bits", Fraction(10**3)),
    "Mbit": ("bits", Fraction(10**6)),
    "Gbit": ("bits", Fraction(10**9)),
}

_NUMBER = re.compile(r"([0-9][0-9_]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?")


class Problem(msgspec.Struct, frozen=True):
    """Why something has no value: a code of `numbers.*` or `names.*`, a sentence, a next step."""

    code: str
    message: str
    help: str = ""


def exact(value: Fraction) -> int | Fraction:
    """An `int` where the value is one."""
    return value.numerator if value.denominator == 1 else value


def within_limits(value: int | Fraction) -> bool:
    return value.numerator.bit_length() + value.denominator.bit_length() <= MAX_NUMBER_BITS + 1


def read_number(text: str) -> int | Fraction | Problem:
    """The exact value of a NUMBER as written: `12`, `1_000`, `0.5`, `1e-6`."""
    if len(text) > MAX_WORD_CHARACTERS:
        return Problem(
            "numbers.too_large",
            f"a literal of {len(text)} characters; at most {MAX_WORD_CHARACTERS} are read",
        )
    match = _NUMBER.fullmatch(text)
    if match is None:
        return Problem("numbers.not_a_number", f"`{text}` is not a number")
    whole, decimals, exponent = match.group(1).replace("_", ""), match.group(2) or "", match.group(3) or "0"
    if len(exponent) > 6 or abs(int(exponent)) > MAX_DECIMAL_EXPONENT:
        return Problem("numbers.too_large", f"the exponent of `{text}` is beyond {MAX_DECIMAL_EXPONENT}")
    return exact(Fraction(int(whole + decimals)) * Fraction(10) ** (int(exponent) - len(decimals)))


def read_quantity(text: str) -> tuple[int | Fraction, str] | Problem:
    """Value in the base unit, and the dimension, of a QUANTITY as written."""
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    unit = text[len(digits) :]
    if unit not in UNITS:
        return Problem(
            "numbers.unknown_unit", f"`{unit}` is no unit", did_you_mean(unit, UNITS) or _known_units()
        )
    number = read_number(digits)
    if isinstance(number, Problem):
        return number
    dimension, factor = UNITS[unit]
    return exact(number * factor), dimension


def _known_units() -> str:
    return "units are " + ", ".join(UNITS)
