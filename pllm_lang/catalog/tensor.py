"""Tensors as they are executed: exact entries, kept as few distinct rows so that large shapes stay small.

A witness tensor is constant, one-hot or of few distinct rows; `Tensor` holds each distinct row once.
Entries are exact numbers, or enclosures where a transcendental function gave them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import TypeAlias

import msgspec

from pllm_lang.catalog.facts import Exact, Interval, Known
from pllm_lang.exact.interval import point
from pllm_lang.exact.number import MAX_BITS, bits

Shape: TypeAlias = tuple[int, ...]
Entry: TypeAlias = Exact | Interval
Row: TypeAlias = tuple[Entry, ...]

MAX_OPERATIONS = 1_000_000
"""Entry operations of one primitive; beyond it execution gives up (the verdict is then unproved)."""

STRETCH = -1
"""An axis of a broadcast that takes the size of its neighbour: (-1, n) any leading axes, (..., -1) the
last."""


class Tensor(msgspec.Struct, frozen=True, gc=False):
    """Row r (counted over all leading axes) is `rows[which[r]]`; a scalar has one row of one entry."""

    shape: Shape
    rows: tuple[Row, ...]
    which: tuple[int, ...]


class TooManyOperationsError(Exception):
    """Raised inside execution, turned into *unproved* by its caller."""


def spend(operations: int) -> None:
    """Stop before a loop of more than MAX_OPERATIONS steps."""
    if operations > MAX_OPERATIONS:
        raise TooManyOperationsError


def n_rows(shape: Shape) -> int:
    """Rows that are stored: an open axis counts once."""
    return prod(n for n in shape[:-1] if n != STRETCH)


def row_length(shape: Shape) -> int:
    if not shape or shape[-1] == STRETCH:
        return 1
    return shape[-1]


def of_rows(shape: Shape, rows: Iterable[Row]) -> Tensor:
    """The tensor with these rows in order, equal ones stored once."""
    distinct: dict[Row, int] = {}
    which = tuple(distinct.setdefault(row, len(distinct)) for row in rows)
    return Tensor(shape, tuple(distinct), which)


def of_entries(shape: Shape, entries: Sequence[Entry]) -> Tensor:
    """The tensor with these entries, row-major."""
    length = row_length(shape)
    if length == 0:
        return Tensor(shape, ((),), (0,) * n_rows(shape))
    return of_rows(shape, (tuple(entries[i : i + length]) for i in range(0, len(entries), length)))


def of_known(known: Known) -> Tensor:
    return of_entries(known.shape, known.entries)


def constant(shape: Shape, value: Entry) -> Tensor:
    """Every entry is `value`."""
    spend(n_rows(shape) + row_length(shape))
    return Tensor(shape, ((value,) * row_length(shape),), (0,) * n_rows(shape))


def one_hot(shape: Shape, at: int, value: Entry) -> Tensor:
    """Zero but for `value` at the flat position `at`."""
    length = row_length(shape)
    hot = tuple(value if i == at % length else 0 for i in range(length))
    which = tuple(int(r == at // length) for r in range(n_rows(shape)))
    return Tensor(shape, ((0,) * length, hot), which)


def entries(x: Tensor) -> list[Entry]:
    """All entries, row-major."""
    spend(len(x.which) * row_length(x.shape))
    return [entry for r in x.which for entry in x.rows[r]]


def row(x: Tensor, r: int) -> Row:
    return x.rows[x.which[r]]


def bounded(x: Tensor) -> Tensor:
    """`x`, if none of its entries is larger than MAX_BITS; else execution ends here."""
    for row in x.rows:
        for entry in row:
            if isinstance(entry, Interval):
                if bits(entry.low) > MAX_BITS or bits(entry.high) > MAX_BITS:
                    raise TooManyOperationsError
            elif bits(entry) > MAX_BITS:
                raise TooManyOperationsError
    return x


def constant_value(x: Tensor) -> Entry | None:
    """The one value of a constant tensor, None where there are several."""
    if len(x.rows) != 1 or not x.rows[0]:
        return None
    first, *rest = x.rows[0]
    return first if all(entry == first for entry in rest) else None


def to_known(x: Tensor) -> Known | None:
    """Its entries, if all of them are exact."""
    found: list[Exact] = []
    for entry in entries(x):
        if isinstance(entry, Interval):
            return None
        found.append(entry)
    return Known(x.shape, tuple(found))


def ends(entry: Entry) -> Interval:
    return entry if isinstance(entry, Interval) else point(entry)
