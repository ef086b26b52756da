"""Go to definition."""

from __future__ import annotations

from lsprotocol import types

from pllm_lang.lsp import pointing
from pllm_lang.lsp.feature import Feature
from pllm_lang.lsp.view import View
from pllm_lang.resolve.locate import NotLocated, locate_dotted, shipped_modules
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.finding import Span


def answer(view: View, params: types.DefinitionParams) -> list[types.Location]:
    offset = view.offset(params.position)
    module = _module(view, offset)
    if module is not None:
        return [module]
    one = pointing.at(view, offset)
    if one is None:
        return []
    found = [view.location(place.span) for place in pointing.declared(view, one)]
    return [place for place in found if place is not None]


def _module(view: View, offset: int) -> types.Location | None:
    """The file of an import whose path is under the cursor."""
    module = view.opened.module
    for decl in module.file.decls if module is not None else ():
        if not isinstance(decl, syn.Import) or not decl.path:
            continue
        if decl.at + decl.path[0].start <= offset <= decl.at + decl.path[-1].end:
            name = tuple(word.id for word in decl.path)
            location = locate_dotted(name) if ".".join(name) in shipped_modules() else None
            if location is None or isinstance(location, NotLocated):
                return None
            return view.location(Span("/".join(name) + ".pllm", 0, 0))
    return None


FEATURES = (Feature(types.TEXT_DOCUMENT_DEFINITION, answer),)
