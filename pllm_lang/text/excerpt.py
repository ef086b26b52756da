"""The lines of a source that a finding speaks of, with marks under the places.

In: a source and marks. Out: lines of text. Wide letters, tabs and combining marks keep the marks aligned; a
very long line is cropped around its mark.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pllm_lang.text.source import Source
from pllm_lang.text.style import Style
from pllm_lang.text.visible import visible, width

_MAX_COLUMNS = 140


class Mark(NamedTuple):
    """A stretch of the source, the sign that underlines it, its colour and what is written behind it."""

    start: int
    end: int
    sign: str
    colour: str
    text: str


def excerpt(source: Source, marks: Sequence[Mark], margin: int, style: Style) -> list[str]:
    """Each line with marks once, in order, its marks below it; `margin` is the width of the line numbers."""
    lines: list[str] = []
    bar = f"{style.faint}{'':{margin}} |{style.reset}"
    previous = 0
    for line in sorted({_line(source, mark) for mark in marks}):
        if previous and line > previous + 1:
            lines.append(f"{style.faint}{'':{margin}}...{style.reset}")
        previous = line
        here = sorted((mark for mark in marks if _line(source, mark) == line), key=lambda mark: mark.start)
        lines += _marked_line(source, line, here, f"{style.faint}{line:>{margin}} |{style.reset}", bar, style)
    return lines


def _line(source: Source, mark: Mark) -> int:
    return source.line_column(mark.start)[0]


def _marked_line(
    source: Source, line: int, marks: Sequence[Mark], numbered: str, bar: str, style: Style
) -> list[str]:
    text = source.line_text(line)
    start = source.line_starts[line - 1]
    crop = _crop(text, marks[0].start - start)
    shown = visible(text[crop : crop + _MAX_COLUMNS])
    before = "..." if crop else ""
    after = "..." if len(text) > crop + _MAX_COLUMNS else ""
    lines = [f"{numbered} {before}{shown}{after}".rstrip()]
    for mark in marks:
        first = min(max(mark.start - start, crop), crop + _MAX_COLUMNS)
        last = min(mark.end - start, len(text), crop + _MAX_COLUMNS)
        indent = len(before) + width(text[crop:first])
        sign = mark.sign * max(1, width(text[first:last]))
        lines.append(f"{bar} {'':{indent}}{mark.colour}{sign} {mark.text}".rstrip() + _reset(mark, style))
    return lines


def _crop(text: str, at: int) -> int:
    """From which character on a long line is shown, so that the mark is in sight."""
    return 0 if len(text) <= _MAX_COLUMNS else max(0, at - _MAX_COLUMNS // 3)


def _reset(mark: Mark, style: Style) -> str:
    return style.reset if mark.colour else ""
