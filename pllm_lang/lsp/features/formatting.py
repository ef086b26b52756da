"""Formatting: the layout of `pllm fmt`."""

from __future__ import annotations

from lsprotocol import types

from pllm_lang.lsp.feature import Feature
from pllm_lang.lsp.view import View
from pllm_lang.syntax.format import format_source
from pllm_lang.syntax.parse import has_errors, parse
from pllm_lang.text.source import make_source


def answer(view: View, params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:  # noqa: ARG001 - the request's shape
    """One edit of the lines that differ; nothing for a text with syntax errors, which stays as it is."""
    real = view.buffer.real
    parsed = parse(make_source(view.name, real))
    if has_errors(parsed):
        return None
    new = format_source(parsed)
    if new == real:
        return []
    old_lines, new_lines = real.splitlines(True), new.splitlines(True)
    if "".join(line.content + line.end for line in view.buffer.lines) != "".join(old_lines):
        return None
    end = view.buffer.position(len(view.buffer.text))
    low = 0
    while (
        low < min(len(old_lines), len(new_lines), len(view.buffer.lines))
        and old_lines[low] == new_lines[low]
        and _whole(view, low, old_lines[low])
    ):
        low += 1
    whole = types.Range(types.Position(low, 0), types.Position(*end))
    return [types.TextEdit(whole, "".join(new_lines[low:]))]


def _whole(view: View, line: int, text: str) -> bool:
    """Whether a line of the text is one of the editor's as well."""
    own = view.buffer.lines[line]
    return bool(own.end) and own.content + own.end == text


FEATURES = (Feature(types.TEXT_DOCUMENT_FORMATTING, answer),)
