"""What is known of a tensor: exact bounds on its entries and on the norms of its rows.

Every field is an upper bound (or an enclosing interval) that holds for every run; None means unknown, and
unknown is never fine. Numbers are exact: `int` or `Fraction`, norms are kept squared.
A *row* is a vector along the last axis; a *column* along the last but one.
"""

from __future__ import annotations

import msgspec

from pllm_lang.exact.number import Exact, Interval

__all__ = ["MAX_KNOWN_ENTRIES", "UNKNOWN", "Exact", "Facts", "Interval", "Known"]

MAX_KNOWN_ENTRIES = 4_096


class Known(msgspec.Struct, frozen=True, gc=False):
    """A tensor whose entries are known exactly, row-major, at most MAX_KNOWN_ENTRIES of them."""

    shape: tuple[int, ...]
    entries: tuple[Exact, ...]


class Facts(msgspec.Struct, frozen=True, gc=False):
    """Bounds of one tensor in its *real-valued* meaning as computed (error-free parts excluded, see `error`).

    `range` encloses every entry as computed; `row_norm2_sq` bounds the squared L2 norm of every row,
    `row_norm1` the L1 norm, `col_*` the same for columns; `error` bounds the absolute difference between an
    entry as computed and its real-valued meaning; `integral` says that every entry is an integer multiple of
    `unit`; every row has an entry of at least `row_max_low`. `rule` names what gave the range, for reports.
    """

    range: Interval | None = None
    row_norm2_sq: Exact | None = None
    row_norm1: Exact | None = None
    col_norm2_sq: Exact | None = None
    col_norm1: Exact | None = None
    error: Exact | None = None
    value: Known | None = None
    unit: Exact | None = None
    row_max_low: Exact | None = None
    rule: str = ""


UNKNOWN = Facts()
