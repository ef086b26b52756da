"""Links: imported files, configurations, facts files, and modules of the library."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, cast

import msgspec
from lsprotocol import types

from pllm_lang.lsp.feature import Feature
from pllm_lang.lsp.view import View
from pllm_lang.resolve.texts import read_text
from pllm_lang.resources import stdlib_dir
from pllm_lang.syntax import nodes as syn

_SUFFIXES = (".pllm", ".json", ".md")


def answer(view: View, params: types.DocumentLinkParams) -> list[types.DocumentLink]:  # noqa: ARG001 - the request's shape
    return [
        types.DocumentLink(view.range(start, end), view.documents.uri_of(path))
        for start, end, path in _links(view)
        if os.path.isfile(path)
    ]


def _links(view: View) -> Iterator[tuple[int, int, str]]:
    folder = os.path.dirname(view.document.path)
    for decl in view.opened.parsed.file.decls:
        if isinstance(decl, syn.Import) and decl.path and decl.path[0].id == "std":
            path = stdlib_dir().joinpath(*(word.id for word in decl.path[1:]))
            yield decl.at + decl.path[0].start, decl.at + decl.path[-1].end, f"{path}.pllm"
        for at, node in _strings(decl, decl.at):
            written = read_text(node)
            if written.endswith(_SUFFIXES) and not os.path.isabs(written) and "\0" not in written:
                yield at + node.start + 1, at + node.end - 1, os.path.normpath(os.path.join(folder, written))


def _strings(value: Any, at: int) -> Iterator[tuple[int, syn.String]]:
    """String literals in a part of a tree, with the place of their anchor."""
    if isinstance(value, syn.String):
        yield at, value
    elif isinstance(value, tuple):
        for one in cast("tuple[Any, ...]", value):
            yield from _strings(one, at)
    elif isinstance(value, msgspec.Struct):
        at = value.at if isinstance(value, syn.Anchor) else at
        for field in value.__struct_fields__:
            yield from _strings(getattr(value, field), at)


FEATURES = (Feature(types.TEXT_DOCUMENT_DOCUMENT_LINK, answer),)
