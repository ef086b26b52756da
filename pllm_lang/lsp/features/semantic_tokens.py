"""Colours by meaning: what each name stands for, which no grammar of an editor can know."""

from __future__ import annotations

from collections.abc import Iterable

from lsprotocol import types

from pllm_lang.lsp import pointing
from pllm_lang.lsp.feature import Feature
from pllm_lang.lsp.names import Occurrence
from pllm_lang.lsp.view import View

LEGEND = types.SemanticTokensLegend(
    token_types=[
        "namespace", "type", "class", "interface", "enumMember", "function", "variable", "parameter", "property", "macro",
    ],
    token_modifiers=["declaration", "readonly", "defaultLibrary"],
)  # fmt: skip
_TYPES = {
    "module": "namespace",
    "format": "type",
    "holding": "type",
    "component": "class",
    "policy": "interface",
    "word": "enumMember",
    "operator": "function",
    "block": "function",
    "plan": "function",
    "value": "variable",
    "state": "variable",
    "weight": "variable",
    "variable": "variable",
    "const": "variable",
    "party": "parameter",
    "parameter": "parameter",
    "field": "property",
    "stage": "namespace",
}
_READONLY = frozenset({"const", "weight", "variable"})


def full(view: View, params: types.SemanticTokensParams) -> types.SemanticTokens:  # noqa: ARG001 - the request's shape
    return types.SemanticTokens(_encoded(view, pointing.names(view)))


def in_range(view: View, params: types.SemanticTokensRangeParams) -> types.SemanticTokens:
    start, end = view.offset(params.range.start), view.offset(params.range.end)
    inside = [one for one in pointing.names(view) if one.start < end and one.end > start]
    return types.SemanticTokens(_encoded(view, inside))


def _encoded(view: View, found: Iterable[Occurrence]) -> list[int]:
    data: list[int] = []
    line = column = 0
    last_end = -1
    for one in found:
        if one.start < last_end:
            continue
        last_end = one.end
        begin, end = view.buffer.position(one.start), view.buffer.position(one.end)
        if end.line != begin.line:
            continue
        same = begin.line == line
        data += [
            begin.line - line,
            begin.column - column if same else begin.column,
            end.column - begin.column,
            LEGEND.token_types.index(_TYPES.get(one.kind, "class")),
            _modifiers(one),
        ]
        line, column = begin.line, begin.column
    return data


def _modifiers(one: Occurrence) -> int:
    bits = 1 if one.defines else 0
    bits |= 2 if one.kind in _READONLY else 0
    return bits | (4 if one.target.startswith("std.") else 0)


FEATURES = (
    Feature(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, full, options=LEGEND),
    Feature(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, in_range, options=LEGEND),
)
