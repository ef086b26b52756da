"""Neighbouring rows of one kind, aligned in columns as far as that helps.

In: rows, each with cells, and the room there is. Out: a line for each. Rows that would become too long, or
whose cells differ too much in width, stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

# A cell is padded by at most this much; beyond, the gap tears the line apart.
_MAX_GAP = 40


def align(rows: Sequence[tuple[str, ...]], room: int) -> list[str]:
    """The lines, cells separated by one space and padded to the widest of their column."""
    plain = [" ".join(cells) for cells in rows]
    widths = [_width(rows, column) for column in range(max(map(len, rows)))]
    padded = [_pad(cells, widths) for cells in rows]
    return padded if max(map(len, padded)) <= room else plain


def _width(rows: Sequence[tuple[str, ...]], column: int) -> int:
    """The width of a column; the last cell of a row ends its line and is not padded itself."""
    inner = [len(cells[column]) for cells in rows if len(cells) > column + 1]
    if not inner or max(inner) - min(inner) > _MAX_GAP:
        return 0
    return max(inner)


def _pad(cells: tuple[str, ...], widths: Sequence[int]) -> str:
    return " ".join(f"{cell:{width}}" for cell, width in zip(cells, widths, strict=False)).rstrip()
