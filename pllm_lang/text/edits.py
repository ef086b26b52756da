"""Edits of a source: a line of its own before a statement, and a text with edits applied.

Edits of one fix belong together. They may touch each other; where two overlap, or two insertions share a place, there is no
one result, and `apply_edits` gives None.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from pllm_lang.text.finding import Edit, Span
from pllm_lang.text.source import Source


def line_before(source: Source, at: int, line: str) -> Edit:
    """`line` before the statement at offset `at`, in its indentation, or on its line where it does not begin one."""
    start = source.line_starts[source.line_column(at)[0] - 1]
    indent = source.text[start:at]
    text = f"{line} " if indent.strip() else f"{line}\n{indent}"
    return Edit(Span(source.name, at, at), text)


def whole_lines(source: Source, span: Span) -> Span:
    """The span with its indentation and line end, where nothing else stands on its lines."""
    first = source.line_starts[source.line_column(span.start)[0] - 1]
    last = source.line_column(span.end)[0]
    end = source.line_starts[last] if last < len(source.line_starts) else len(source.text)
    if source.text[first : span.start].strip() or source.text[span.end : end].strip():
        return span
    return Span(span.file, first, end)


def apply_edits(text: str, edits: Sequence[Edit]) -> str | None:
    """The text with all edits, in its own line ends; None where they overlap or leave the text."""
    ordered = in_order(in_line_ends(text, edits))
    if ordered is None or (ordered and ordered[-1].span.end > len(text)):
        return None
    parts: list[str] = []
    at = 0
    for edit in ordered:
        parts += [text[at : edit.span.start], edit.text]
        at = edit.span.end
    return "".join([*parts, text[at:]])


def in_line_ends(text: str, edits: Iterable[Edit]) -> list[Edit]:
    """The edits with the line ends that most lines of their text have."""
    if 2 * text.count("\r\n") <= text.count("\n"):
        return list(edits)
    return [Edit(edit.span, edit.text.replace("\r\n", "\n").replace("\n", "\r\n")) for edit in edits]


def in_order(edits: Iterable[Edit]) -> list[Edit] | None:
    """Edits of one file by place, equal ones once; None where two overlap or insert at one place."""
    ordered = sorted(dict.fromkeys(edits), key=lambda edit: (edit.span.start, edit.span.end))
    for before, after in pairwise(ordered):
        if after.span.start < before.span.end or after.span.start == before.span.start:
            return None
    return ordered


def moved(offset: int, ordered: Sequence[Edit]) -> int:
    """Where the character at `offset` lies after the edits; one that an edit replaces goes to the start of what replaced it."""
    shift = 0
    for edit in ordered:
        if edit.span.end <= offset and (edit.span.start < offset or edit.span.start == edit.span.end):
            shift += len(edit.text) - (edit.span.end - edit.span.start)
        elif edit.span.start < offset:
            return edit.span.start + shift
        else:
            break
    return offset + shift
