"""The other files of a project: those that may mention a name are opened as the checker opens them, and asked for it."""

from __future__ import annotations

import os
from collections.abc import Iterator

from lsprotocol import types

from pllm_lang.catalog.load import open_project
from pllm_lang.lsp.names import Occurrence, occurrences
from pllm_lang.lsp.pointing import Place, names
from pllm_lang.lsp.view import View, range_in
from pllm_lang.resolve.modules import Module

MAX_FILES = 2_000
"""Files of a project that are looked through."""

MAX_BYTES = 1_000_000


def everywhere(view: View, one: Occurrence) -> list[Place]:
    """Every place where the same is meant, by path, the document first. Names of a body are its document's alone."""
    found = [Place(view.document.path, other) for other in names(view) if other.target == one.target]
    if "/" in one.target.rpartition(".")[2]:
        return found
    for path, module in modules(view, one.text):
        found += [
            Place(path, other)
            for other in occurrences(module, view.opened.library)
            if other.target == one.target
        ]
    return found


def location(view: View, place: Place) -> types.Location | None:
    """Where a place of `everywhere` lies."""
    document = view.documents.at(place.file)
    buffer = document.buffer if document is not None else view.documents.buffer_of(place.file)
    if buffer is None:
        return None
    uri = document.uri if document is not None else view.documents.uri_of(place.file)
    return types.Location(uri, range_in(buffer, place.occurrence.start, place.occurrence.end))


def modules(view: View, word: str = "") -> Iterator[tuple[str, Module]]:
    """Path and module of every other file in which a word stands: of the projects of all open documents, and of the folders
    of the workspace."""
    own = os.path.realpath(view.document.path)
    open_paths = [document.path for document in view.documents.by_uri.values()]
    checker = view.documents.checker
    roots = dict.fromkeys((view.opened.root, *map(checker.root_of, open_paths), *view.folders))
    inside = [path for root in roots for path in checker.files(root)][:MAX_FILES]
    for path in dict.fromkeys((*open_paths, *inside)):
        if os.path.realpath(path) == own or not _mentions(view, path, word):
            continue
        buffers = {document.path: document.buffer.text for document in view.documents.by_uri.values()}
        opened = open_project([path], view.documents.checker.root_of(path), buffers)
        for name in opened.project.main:
            yield path, opened.project.modules[name]


def _mentions(view: View, path: str, word: str) -> bool:
    document = view.documents.at(path)
    if document is not None:
        return word in document.buffer.text
    try:
        if os.path.getsize(path) > MAX_BYTES:
            return False
        with open(path, "rb") as stream:
            return word.encode("utf-8", "surrogatepass") in stream.read()
    except OSError:
        return False
