"""Exact numbers as people read them: powers of two where they are, a few digits where exactness says nothing."""

from __future__ import annotations

from fractions import Fraction

from pllm_lang.catalog.facts import Interval
from pllm_lang.exact.number import Exact


def shown(value: Exact) -> str:
    """`12`, `2^38`, `-2^63 + 1` or about four digits (`~1.235e+09`) for a number with no short exact form."""
    if isinstance(value, int):
        return _shown_int(value)
    if (
        value.denominator & (value.denominator - 1) == 0
        and abs(value.numerator) < 10**6
        and value.denominator < 10**6
    ):
        return str(value) if abs(value.numerator) != 1 or value.denominator < 1024 else _inverse_power(value)
    return "~" + decimal(value)


def shown_range(interval: Interval) -> str:
    return f"[{shown(interval.low)}, {shown(interval.high)}]"


def _shown_int(value: int) -> str:
    size = abs(value)
    if size < 10**7:
        return str(value)
    sign = "-" if value < 0 else ""
    for near, rest in ((size, ""), (size + 1, " - 1"), (size - 1, " + 1")):
        if near & (near - 1) == 0:
            power = f"2^{near.bit_length() - 1}"
            if not rest:
                return f"{sign}{power}"
            return f"{power}{rest}" if not sign else f"-{power}{' + 1' if rest == ' - 1' else ' - 1'}"
    return str(value) if size < 10**12 else "~" + decimal(value)


def _inverse_power(value: Fraction) -> str:
    return f"{'-' if value < 0 else ''}2^-{value.denominator.bit_length() - 1}"


def decimal(value: Exact, digits: int = 4) -> str:
    """`value` in scientific notation, rounded to `digits`; exact integers decide, no binary float."""
    if value == 0:
        return "0"
    sign, size = ("-" if value < 0 else ""), abs(Fraction(value))
    exponent = len(str(size.numerator)) - len(str(size.denominator))
    exponent -= size < Fraction(10) ** exponent
    scaled = round(size / Fraction(10) ** exponent * 10 ** (digits - 1))
    if scaled == 10**digits:
        scaled, exponent = scaled // 10, exponent + 1
    text = str(scaled)
    if -4 <= exponent < digits + 3:
        return sign + _plain(text, exponent)
    return f"{sign}{text[0]}.{text[1:].rstrip('0') or '0'}e{exponent:+d}"


def _plain(text: str, exponent: int) -> str:
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + text.rstrip("0")
    whole = text[: exponent + 1].ljust(exponent + 1, "0")
    rest = text[exponent + 1 :].rstrip("0")
    return f"{whole}.{rest}" if rest else whole


def log2_text(value: Exact) -> str:
    """`2^38.4`: the size of a positive number as a power of two, to one digit, rounded up."""
    size = Fraction(value)
    tenths = 0
    bits = size.numerator.bit_length() - size.denominator.bit_length()
    while Fraction(2) ** bits < size:
        bits += 1
    while Fraction(2) ** (bits - 1) >= size:
        bits -= 1
    for tenths in range(10):
        # 2^(bits - tenths/10) >= size  <=>  2^(10 bits - tenths) >= size^10
        if Fraction(2) ** (10 * bits - tenths - 1) < size**10:
            break
    whole, tenth = divmod(abs(10 * bits - tenths), 10)
    sign = "-" if 10 * bits < tenths else ""
    return f"2^{sign}{whole}" + (f".{tenth}" if tenth else "")
