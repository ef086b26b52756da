"""A pass as an argument of the command line: `quantize_weights(bits: 8)`, as a model's declaration has it."""

from __future__ import annotations

import re
from fractions import Fraction

from pllm_lang.models.errors import LoweringError
from pllm_lang.models.passes.apply import PassUse, Value, id_of

CALL = re.compile(r"\s*(\w+)\s*(?:\(([^()]*)\))?\s*")
ARGUMENT = re.compile(r"\s*(\w+)\s*:\s*(\[[\d\s,]*\]|[^,\[\]]+?)\s*(?:,|$)")
MAX_LENGTH = 500


def read_pass(text: str) -> PassUse:
    """Raises `LoweringError` (`pass.syntax`)."""
    call = CALL.fullmatch(text) if len(text) <= MAX_LENGTH else None
    if call is None:
        raise _bad(text)
    values: dict[str, Value] = {}
    left = (call[2] or "").strip()
    while left:
        found = ARGUMENT.match(left)
        if found is None or found[1] in values:
            raise _bad(text)
        values[found[1]] = _value(found[2], text)
        left = left[found.end() :].strip()
    return PassUse(id_of(call[1]), values)


def _value(written: str, text: str) -> Value:
    if written.startswith("["):
        return tuple(map(int, written[1:-1].replace(",", " ").split()))
    if re.fullmatch(r"[a-z_]+", written):
        return written
    try:
        exact = Fraction(written)
    except (ValueError, ZeroDivisionError):
        raise _bad(text) from None
    return exact.numerator if exact.denominator == 1 else exact


def _bad(text: str) -> LoweringError:
    return LoweringError(
        "pass.syntax", f"{text[:100]!r} is no pass", help="write one as `quantize_weights(bits: 8)`"
    )
