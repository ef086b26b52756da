"""Slots: what a clause may read of one tensor (`max_abs(x)`, `norm2(x)`) or of one format (`ulp(F)`).

A slot denotes the interval in which its value lies in every run; None is unknown.
"""

from __future__ import annotations

from collections.abc import Callable

from pllm_lang.catalog import formats
from pllm_lang.catalog.bounds import Arg, col_norm1, col_norm2_sq, row_norm1, row_norm2_sq
from pllm_lang.catalog.facts import Exact, Interval
from pllm_lang.catalog.records import Format
from pllm_lang.exact import enclose, interval


def _max_abs(x: Arg) -> Interval | None:
    found = x.facts.range
    if found is None:
        return None
    low = interval.mignitude(found) if x.facts.value is None else interval.magnitude(found)
    return Interval(low, interval.magnitude(found))


def _min(x: Arg) -> Interval | None:
    found = x.facts.range
    return interval.point(found.low) if found is not None and x.facts.value is not None else found


def _max(x: Arg) -> Interval | None:
    found = x.facts.range
    return interval.point(found.high) if found is not None and x.facts.value is not None else found


def _row_max(x: Arg) -> Interval | None:
    found, peak = x.facts.range, x.facts.row_max_low
    return (
        found
        if found is None or peak is None
        else interval.meet(found, Interval(peak, max(peak, found.high)))
    )


def _error(x: Arg) -> Interval | None:
    return None if x.facts.error is None else Interval(0, x.facts.error)


def _upto(read: Callable[[Arg], Exact | None]) -> Callable[[Arg], Interval | None]:
    def slot(x: Arg) -> Interval | None:
        limit = read(x)
        return None if limit is None else Interval(0, limit)

    return slot


def _root_of(read: Callable[[Arg], Exact | None]) -> Callable[[Arg], Interval | None]:
    def slot(x: Arg) -> Interval | None:
        limit = read(x)
        return None if limit is None else Interval(0, enclose.sqrt(limit).high)

    return slot


SLOTS: dict[str, Callable[[Arg], Interval | None]] = {
    "max_abs": _max_abs,
    "min": _min,
    "max": _max,
    "norm2": _root_of(row_norm2_sq),
    "row_norm2": _root_of(row_norm2_sq),
    "row_norm1": _upto(row_norm1),
    "col_norm2": _root_of(col_norm2_sq),
    "col_norm1": _upto(col_norm1),
    "row_max": _row_max,
    "error": _error,
}

SQUARED_SLOTS: dict[str, Callable[[Arg], Exact | None]] = {
    "norm2": row_norm2_sq,
    "row_norm2": row_norm2_sq,
    "col_norm2": col_norm2_sq,
}

FORMAT_READS: dict[str, Callable[[Format], Exact | None]] = {
    "lowest": formats.lowest,
    "highest": formats.highest,
    "ulp": formats.ulp,
    "ring_bits": formats.ring_bits,
    "ring_size": formats.ring_size,
    "fraction_bits": formats.fraction_bits,
}


SCALAR_SLOTS = ("max_abs", "norm2", "row_norm2", "row_norm1", "col_norm2", "col_norm1", "error")
