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
_LOOKS = {
    kind: (LEGEND.token_types.index(type_), 2 if kind in _READONLY else 0) for kind, type_ in _TYPES.items()
}
_OTHER = _LOOKS["component"]
"""The type, and the modifiers, of what is of no kind listed."""


def full(view: View, params: types.SemanticTokensParams) -> types.SemanticTokens:  # noqa: ARG001 - the request's shape
    return types.SemanticTokens(_encoded(view, pointing.names(view)))


def in_range(view: View, params: types.SemanticTokensRangeParams) -> types.SemanticTokens:
    start, end = view.offset(params.range.start), view.offset(params.range.end)
    inside = [one for one in pointing.names(view) if one.start < end and one.end > start]
    return types.SemanticTokens(_encoded(view, inside))


def _encoded(view: View, found: Iterable[Occurrence]) -> list[int]:
    data: list[int] = []
    line = column = 0
    apart = _apart(found)
    places = view.buffer.on_lines([(one[0], one[1]) for one in apart])
    for (_, _, _, kind, target, defines), (at, first, last) in zip(apart, places, strict=True):
        if at < 0:
            continue
        bits = (1 if defines else 0) | (4 if target.startswith("std.") else 0)
        type_, own = _LOOKS.get(kind, _OTHER)
        data += (at - line, first - column if at == line else first, last - first, type_, bits | own)
        line, column = at, first
    return data


def _apart(found: Iterable[Occurrence]) -> list[Occurrence]:
    """Without names that begin inside of another."""
    kept: list[Occurrence] = []
    end = -1
    for one in found:
        if one[0] >= end:
            kept.append(one)
            end = one[1]
    return kept


FEATURES = (
    Feature(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, full, options=LEGEND),
    Feature(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, in_range, options=LEGEND),
)
