"""The text of an open document, edited in place: every line is followed by spare blanks.

In: the text as the editor has it, and its edits, with positions in the units that were agreed on. Out: a text that means
the same, in which what stands behind an edit keeps its offset (none stand before a lone `\r`, which ends a line for the
protocol, but may stand in a string of the language). So whatever was found out about the lines below the
cursor stays true, and only what changed is looked at again. Lines and columns are the editor's own.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

SPARE = 48
"""Blanks behind a new line: so many letters can be typed into it before the text below moves."""

MAX_SPARE = 1_024
"""Blanks that one line keeps of what was deleted."""

Units: TypeAlias = Literal["utf-8", "utf-16", "utf-32"]
_END = re.compile(r"\r\n|\r|\n")


class Position(NamedTuple):
    """Line and column from 0; columns count units of the encoding that was agreed on."""

    line: int
    column: int


class Line(NamedTuple):
    """`content` without its end, `end` (`\n`, `\r\n`, `\r`, or nothing at the end of the text), and how many blanks stand between."""

    content: str
    end: str
    spare: int

    @property
    def size(self) -> int:
        return len(self.content) + self.spare + len(self.end)

    @property
    def text(self) -> str:
        return self.content + " " * self.spare + self.end


class Buffer:
    """`text` is the padded text; `spare` are the blanks behind each line, 0 for a document that nobody edits."""

    def __init__(self, text: str, spare: int = SPARE, units: Units = "utf-16") -> None:
        self.units: Units = units
        self.spare = spare
        self.lines = _split(text, spare)
        self._join()

    def _join(self) -> None:
        self.text = "".join([line.text for line in self.lines])
        self.starts = list(_starts(self.lines, 0))

    @property
    def real(self) -> str:
        """The text as the editor has it."""
        return "".join([line.content + line.end for line in self.lines])

    # ---- edits ----

    def replace(self, text: str) -> None:
        """Another text: only the lines that differ are edited."""
        new = _split(text, self.spare)
        old = self.lines
        same = _same(old, new)
        low = min(same, len(old) - 1, len(new) - 1)
        tail = min(_same(old[:low:-1], new[:low:-1]), len(old) - low - 1, len(new) - low - 1)
        changed = "".join(line.content + line.end for line in new[low : len(new) - tail])
        self._put(low, len(old) - tail, changed)

    def edit(self, start: Position, end: Position, text: str) -> None:
        """`text` stands for what was between two positions; positions beyond a line or the text mean its end."""
        (first, low), (last, high) = sorted([self._place(start), self._place(end)])
        before, after = self.lines[first].content[:low], self.lines[last].content[high:]
        self._put(first, last + 1, before + text + after + self.lines[last].end)

    def _put(self, first: int, stop: int, text: str) -> None:
        """Lines `first` to `stop` are now those of `text`; their blanks are used up before anything moves."""
        if first and self.lines[first - 1].end == "\r" and text.startswith("\n"):
            first -= 1
            text = self.lines[first].content + "\r" + text
        at = self.starts[first]
        size = sum(line.size for line in self.lines[first:stop])
        new = _split(text, 0)
        if stop < len(self.lines):
            new = new[:-1]
        new = _spread(new, size - len(text), self.spare)
        grown = sum(line.size for line in new) - size
        self.text = self.text[:at] + "".join([line.text for line in new]) + self.text[at + size :]
        self.lines[first:stop] = new
        if grown or len(new) != stop - first:
            after = self.starts[stop:] if not grown else [start + grown for start in self.starts[stop:]]
            self.starts[first:] = [*_starts(new, at), *after]
        else:
            self.starts[first:stop] = _starts(new, at)

    # ---- positions ----

    def offset(self, position: Position) -> int:
        """The offset into `text` of the editor's position."""
        line, column = self._place(position)
        return self.starts[line] + column

    def position(self, offset: int) -> Position:
        """The editor's position of an offset; blanks behind a line count as its end."""
        line = max(0, bisect_right(self.starts, offset) - 1)
        content = self.lines[line].content
        return Position(line, _units(content[: max(0, offset - self.starts[line])], self.units))

    def on_lines(self, stretches: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
        """Line, first and last column of each stretch of offsets, in ascending order; the line is -1 where it goes on
        behind its line. What `position` says of both ends, for many at a time."""
        starts, ends = self.starts, [*self.starts[1:], len(self.text) + 1]
        line, content, is_plain = -1, "", True
        for start, end in stretches:
            if line < 0 or start >= ends[line]:
                line = max(0, bisect_right(starts, start) - 1)
                content = self.lines[line].content
                is_plain = self.units == "utf-32" or content.isascii()
            first, last = start - starts[line], end - starts[line]
            if end >= ends[line]:
                yield -1, 0, 0
            elif is_plain and last <= len(content):
                yield line, first, last
            else:
                yield line, _units(content[:first], self.units), _units(content[:last], self.units)

    def _place(self, position: Position) -> tuple[int, int]:
        """The line, and the number of characters in it before the position."""
        if position.line >= len(self.lines):
            return len(self.lines) - 1, len(self.lines[-1].content)
        line = max(0, position.line)
        return line, _characters(self.lines[line].content, position.column, self.units)


def _split(text: str, spare: int) -> list[Line]:
    lines: list[Line] = []
    at = 0
    for found in _END.finditer(text):
        lines.append(Line(text[at : found.start()], found[0], spare if found[0] != "\r" else 0))
        at = found.end()
    lines.append(Line(text[at:], "", spare))
    return lines


def _starts(lines: Sequence[Line], at: int) -> Iterator[int]:
    for line in lines:
        yield at
        at += line.size


def _same(old: Sequence[Line], new: Sequence[Line]) -> int:
    """How many lines at the beginning are the same."""
    for index, (one, other) in enumerate(zip(old, new, strict=False)):
        if one.content != other.content or one.end != other.end:
            return index
    return min(len(old), len(new))


def _spread(lines: list[Line], left: int, spare: int) -> list[Line]:
    """The lines with the blanks that are `left` behind them; with new ones where these do not do."""
    if not lines:
        return lines
    takers = [index for index, line in enumerate(lines) if line.end != "\r"]
    if left < 0 or left > len(takers) * MAX_SPARE:
        return [line._replace(spare=spare if line.end != "\r" else 0) for line in lines]
    spares = dict.fromkeys(range(len(lines)), 0)
    each, rest = divmod(left, len(takers) or 1)
    spares |= {index: each + (number < rest) for number, index in enumerate(takers)}
    return [line._replace(spare=spares[index]) for index, line in enumerate(lines)]


def _units(text: str, units: Units) -> int:
    if units == "utf-32" or text.isascii():
        return len(text)
    if units == "utf-16":
        return len(text) + sum(1 for letter in text if letter > "\uffff")
    return len(text.encode("utf-8", "surrogatepass"))


def _characters(text: str, column: int, units: Units) -> int:
    """The number of characters in so many units; a column inside of a character means its beginning."""
    if units == "utf-32" or text.isascii():
        return min(max(0, column), len(text))
    used = 0
    for index, letter in enumerate(text):
        used += _units(letter, units)
        if used > column:
            return index
    return len(text)
