"""What a feature gets to answer from: one document at one moment, and how places are written in the protocol."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from lsprotocol import types

from pllm_lang.lsp.buffer import Buffer, Position
from pllm_lang.lsp.documents import Document, Documents
from pllm_lang.lsp.snapshot import Opened, Snapshot
from pllm_lang.resources import stdlib_dir
from pllm_lang.text.finding import Edit, Span


class View:
    """`snapshot` is None for features that need no check. Spans are those of findings and trees."""

    def __init__(
        self,
        documents: Documents,
        document: Document,
        opened: Opened,
        snapshot: Snapshot | None,
        client: types.ClientCapabilities,
        folders: tuple[str, ...] = (),
    ) -> None:
        self.documents = documents
        self.document = document
        self.opened = opened
        self.snapshot = snapshot
        self.client = client
        self.folders = folders
        self.buffer = document.buffer
        self._buffers: dict[str, Buffer | None] = {}

    @property
    def name(self) -> str:
        """What findings call the document."""
        return self.opened.source.name

    @property
    def text(self) -> str:
        return self.opened.source.text

    # ---- places ----

    def offset(self, position: types.Position) -> int:
        return self.buffer.offset(Position(position.line, position.character))

    def range(self, start: int, end: int) -> types.Range:
        return range_in(self.buffer, start, end)

    def path_of(self, file: str) -> str:
        """The path of a file as findings call it."""
        for module in self.opened.project.modules.values():
            if module.source.name == file and module.path:
                return os.path.abspath(module.path)
        if file.startswith("std/"):
            return str(stdlib_dir() / file.removeprefix("std/"))
        return os.path.abspath(file)

    def buffer_of(self, file: str) -> Buffer | None:
        if file == self.name:
            return self.buffer
        if file not in self._buffers:
            self._buffers[file] = self.documents.buffer_of(self.path_of(file))
        return self._buffers[file]

    def location(self, span: Span) -> types.Location | None:
        """Where a span lies, in this document or another file; None where that file cannot be read."""
        buffer = self.buffer_of(span.file)
        if buffer is None:
            return None
        uri = self.document.uri if span.file == self.name else self.documents.uri_of(self.path_of(span.file))
        return types.Location(uri, range_in(buffer, span.start, span.end))

    # ---- edits ----

    def workspace_edit(self, edits: Iterable[Edit]) -> types.WorkspaceEdit | None:
        """The edits with the versions of open documents; None where a file cannot be edited."""
        by_file: dict[str, list[types.TextEdit]] = {}
        for edit in edits:
            buffer = self.buffer_of(edit.span.file)
            if buffer is None or edit.span.file.startswith("std/"):
                return None
            text = unpadded(edit.text) if edit.span.file == self.name else edit.text
            by_file.setdefault(edit.span.file, []).append(
                types.TextEdit(range_in(buffer, edit.span.start, edit.span.end), text)
            )
        return self.written({self.path_of(file): edits for file, edits in by_file.items()})

    def written(self, edits: Mapping[str, list[types.TextEdit]]) -> types.WorkspaceEdit:
        """Edits by path, with the versions of open documents where the client takes them."""
        workspace = self.client.workspace
        told = workspace.workspace_edit if workspace is not None else None
        if told is None or not told.document_changes:
            return types.WorkspaceEdit(
                changes={self.documents.uri_of(path): own for path, own in edits.items()}
            )
        changes = [types.TextDocumentEdit(self._versioned(path), list(own)) for path, own in edits.items()]
        return types.WorkspaceEdit(document_changes=changes)

    def _versioned(self, path: str) -> types.OptionalVersionedTextDocumentIdentifier:
        document = self.documents.at(path)
        version = document.version if document is not None else None
        return types.OptionalVersionedTextDocumentIdentifier(self.documents.uri_of(path), version)


def range_in(buffer: Buffer, start: int, end: int) -> types.Range:
    first = buffer.position(start)
    last = first if end <= start else buffer.position(end)
    return types.Range(types.Position(*first), types.Position(*max(first, last)))


def unpadded(text: str) -> str:
    """Text cut from an edited buffer, without the blanks at the ends of its lines."""
    lines = text.split("\n")
    return "\n".join([*(line.rstrip(" ") for line in lines[:-1]), lines[-1]])
