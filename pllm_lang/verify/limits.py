"""What formats and carriers can hold, and the smallest that would do."""

from __future__ import annotations

from pllm_lang.catalog.facts import Interval
from pllm_lang.catalog.records import Format
from pllm_lang.exact.number import Exact


def centred(modulus: int) -> Interval:
    """The centred lift of a ring: -floor(q/2) .. ceil(q/2) - 1."""
    return Interval(-(modulus // 2), (modulus - 1) // 2)


def inside(value: Interval, limit: Interval) -> bool:
    return limit.low <= value.low and value.high <= limit.high


def excess_side(value: Interval, limit: Interval) -> tuple[Exact, Exact]:
    """The end of `value` that is farthest out, and the end of `limit` that it leaves."""
    above, below = value.high - limit.high, limit.low - value.low
    return (value.high, limit.high) if above >= below else (value.low, limit.low)


def bits_for(value: Interval, frac: int = 0) -> int:
    """The fewest bits of a signed number with `frac` fraction bits that holds `value`, sign included."""
    bits = 1
    scaled = (_floor(value.low * 2**frac), _ceil(value.high * 2**frac))
    for raw in scaled:
        bits = max(bits, (raw if raw >= 0 else -raw - 1).bit_length() + 1)
    return bits


def _floor(value: Exact) -> int:
    return value if isinstance(value, int) else value.numerator // value.denominator


def _ceil(value: Exact) -> int:
    return -_floor(-value)


def ring_text(modulus: int) -> str:
    if modulus & (modulus - 1) == 0:
        return f"the ring of {modulus.bit_length() - 1} bits"
    return f"the ring modulo {modulus}"


def format_text(format_: Format) -> str:
    return f"`{format_.name.rsplit('.', 1)[-1]}`" if format_.name else format_.kind
