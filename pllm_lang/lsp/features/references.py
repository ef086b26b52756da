"""Find references, in the document and in every file of the project; the same in the document are highlighted."""

from __future__ import annotations

from lsprotocol import types

from pllm_lang.lsp import pointing, project
from pllm_lang.lsp.feature import Feature
from pllm_lang.lsp.view import View


def answer(view: View, params: types.ReferenceParams) -> list[types.Location]:
    one = pointing.at(view, view.offset(params.position))
    if one is None or not one.target:
        return []
    places = project.everywhere(view, one)
    wanted = [p for p in places if params.context.include_declaration or not p.occurrence.defines]
    found = [project.location(view, place) for place in wanted]
    return [place for place in found if place is not None]


def highlighted(view: View, params: types.DocumentHighlightParams) -> list[types.DocumentHighlight]:
    one = pointing.at(view, view.offset(params.position))
    if one is None or not one.target:
        return []
    kinds = types.DocumentHighlightKind
    return [
        types.DocumentHighlight(view.range(o.start, o.end), kinds.Write if o.defines else kinds.Read)
        for o in pointing.names(view)
        if o.target == one.target
    ]


FEATURES = (
    Feature(types.TEXT_DOCUMENT_REFERENCES, answer),
    Feature(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, highlighted),
)
