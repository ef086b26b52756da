"""Facts of an executed tensor: what it surely lies within, and what it surely attains.

Entries are exact, or enclosures where a step rounds or a function is transcendental. For exact tensors both
are the same and exact.
"""

from __future__ import annotations

from math import prod
from typing import Literal

from pllm_lang.catalog.bounds import known_facts
from pllm_lang.catalog.facts import MAX_KNOWN_ENTRIES, Exact, Facts, Interval
from pllm_lang.catalog.tensor import Tensor, ends, to_known

Side = Literal["above", "below"]


def is_exact(tensor: Tensor) -> bool:
    return not any(isinstance(entry, Interval) for row in tensor.rows for entry in row)


def enclosing_facts(tensor: Tensor) -> Facts:
    """A range that holds every entry; everything where the tensor is exact."""
    if is_exact(tensor):
        return _exact_facts(tensor)
    entries = [ends(entry) for row in tensor.rows for entry in row]
    return Facts(range=Interval(min(e.low for e in entries), max(e.high for e in entries)))


def attained_facts(tensor: Tensor, side: Side) -> Facts:
    """A value that some entry surely reaches: at least it (`above`), or at most it (`below`)."""
    if is_exact(tensor):
        return _exact_facts(tensor)
    entries = [ends(entry) for row in tensor.rows for entry in row]
    reached = max(e.low for e in entries) if side == "above" else min(e.high for e in entries)
    return Facts(range=Interval(reached, reached))


def _exact_facts(tensor: Tensor) -> Facts:
    if not any(tensor.rows):
        return Facts()
    if prod(tensor.shape) <= MAX_KNOWN_ENTRIES:
        known = to_known(tensor)
        if known is not None:
            return known_facts(known)
    rows: list[list[Exact]] = [[ends(entry).low for entry in row] for row in tensor.rows]
    return Facts(
        range=Interval(min(map(min, rows)), max(map(max, rows))),
        row_norm2_sq=max(sum(e * e for e in row) for row in rows),
        row_norm1=max(sum(abs(e) for e in row) for row in rows),
    )
