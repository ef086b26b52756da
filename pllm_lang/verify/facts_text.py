"""Facts of a value in a line, for people."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.catalog.facts import Exact, Facts
from pllm_lang.exact import enclose
from pllm_lang.verify.numbers import decimal, shown, shown_range


def facts_text(facts: Facts) -> str:
    """`in [-12, 12], norm2 <= 40, error <= 2^-18`; `nothing known` where there is nothing."""
    return ", ".join(_parts(facts)) or "nothing known"


def _parts(facts: Facts) -> Iterator[str]:
    if facts.range is not None:
        known = "known value, " if facts.value is not None else ""
        yield f"{known}in {shown_range(facts.range)}"
    for name, square in (("norm2", facts.row_norm2_sq), ("col_norm2", facts.col_norm2_sq)):
        if square is not None:
            yield f"{name} <= {_root(square)}"
    for name, total in (("row_norm1", facts.row_norm1), ("col_norm1", facts.col_norm1)):
        if total is not None:
            yield f"{name} <= {shown(total)}"
    if facts.error is not None and facts.error != 0:
        yield f"error <= {shown(facts.error)}"
    elif facts.error is None:
        yield "error unknown"


def _root(square: Exact) -> str:
    found = enclose.sqrt(square).high
    return shown(found) if isinstance(found, int) else decimal(found)
