"""A client of the real server over standard input and output, with the capabilities of an editor."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient
from pytest_lsp import client_capabilities as capabilities_of

CLIENTS = ("visual_studio_code", "neovim", "emacs")
SERVER = [sys.executable, "-m", "pllm_lang.cli.main", "lsp"]
PATIENCE = 180.0


class Session:
    """Documents opened in one server; positions are found by the text that they stand before."""

    def __init__(self, client: LanguageClient, folder: Path, capabilities: types.ClientCapabilities) -> None:
        self.client = client
        self.folder = folder
        self.capabilities = capabilities
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.encoding = "utf-16"

    @property
    def pulls(self) -> bool:
        document = self.capabilities.text_document
        return document is not None and document.diagnostic is not None

    def write(self, name: str, text: str) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
        return path.as_uri()

    def open(self, name: str, text: str, *, on_disk: bool = True) -> str:
        uri = self.write(name, text) if on_disk else (self.folder / name).as_uri()
        self.texts[uri], self.versions[uri] = text, 1
        item = types.TextDocumentItem(uri, "pllm", 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def close(self, uri: str) -> None:
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(self.document(uri)))

    def document(self, uri: str) -> types.TextDocumentIdentifier:
        return types.TextDocumentIdentifier(uri)

    # ---- places ----

    def at(self, uri: str, before: str, skip: int = 0) -> types.Position:
        """The position of a piece of text, and `skip` characters on."""
        return self.position(uri, self.texts[uri].index(before) + skip)

    def position(self, uri: str, offset: int) -> types.Position:
        head = self.texts[uri][:offset]
        line = head.count("\n")
        return types.Position(line, self.units(head[head.rfind("\n") + 1 :]))

    def units(self, text: str) -> int:
        width = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[self.encoding]
        codec = self.encoding if self.encoding == "utf-8" else f"{self.encoding}-le"
        return len(text.encode(codec)) // width

    def range(self, uri: str, piece: str) -> types.Range:
        return types.Range(self.at(uri, piece), self.at(uri, piece, len(piece)))

    def cut(self, uri: str, where: types.Range) -> str:
        """The text at a range that the server gave."""
        return self.texts[uri][self.offset(uri, where.start) : self.offset(uri, where.end)]

    def offset(self, uri: str, position: types.Position) -> int:
        lines = self.texts[uri].split("\n")
        at = sum(len(line) + 1 for line in lines[: position.line])
        line = lines[position.line] if position.line < len(lines) else ""
        column = 0
        while column < len(line) and self.units(line[:column]) < position.character:
            column += 1
        return at + column

    # ---- edits ----

    def replace(self, uri: str, old: str, new: str) -> None:
        """An edit in place, as an editor sends it."""
        where = self.range(uri, old)
        self.texts[uri] = self.texts[uri].replace(old, new, 1)
        self.versions[uri] += 1
        change = types.TextDocumentContentChangePartial(range=where, text=new)
        self.changed(uri, change)

    def whole(self, uri: str, text: str) -> None:
        self.texts[uri] = text
        self.versions[uri] += 1
        self.changed(uri, types.TextDocumentContentChangeWholeDocument(text))

    def changed(self, uri: str, change: types.TextDocumentContentChangeEvent) -> None:
        name = types.VersionedTextDocumentIdentifier(version=self.versions[uri], uri=uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(name, [change]))

    def apply(self, uri: str, edit: types.WorkspaceEdit) -> None:
        """Apply the edits of one document to it, and send them."""
        edits = list(edits_of(edit).get(uri, ()))
        text = self.texts[uri]
        for one in sorted(edits, key=lambda e: self.offset(uri, e.range.start), reverse=True):
            start, end = self.offset(uri, one.range.start), self.offset(uri, one.range.end)
            text = text[:start] + one.new_text + text[end:]
        self.whole(uri, text)

    # ---- findings ----

    async def diagnostics(self, uri: str) -> list[types.Diagnostic]:
        """The diagnostics of the document as it is now: pulled, or waited for."""
        if self.pulls:
            params = types.DocumentDiagnosticParams(self.document(uri))
            report = await self.client.text_document_diagnostic_async(params)
            assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
            return list(report.items)
        for _ in range(int(PATIENCE / 0.02)):
            if self.version_published(uri) == self.versions[uri]:
                return list(self.client.diagnostics[uri])
            await asyncio.sleep(0.02)
        raise AssertionError("no diagnostics came")

    def version_published(self, uri: str) -> int | None:
        return getattr(self.client, "published_versions", {}).get(uri)

    async def codes(self, uri: str) -> list[str]:
        return [str(one.code) for one in await self.diagnostics(uri)]


def edits_of(edit: types.WorkspaceEdit) -> dict[str, list[types.TextEdit]]:
    """Edits by document, whichever way they are written."""
    if edit.changes is not None:
        return {uri: list(own) for uri, own in edit.changes.items()}
    found: dict[str, list[types.TextEdit]] = {}
    for change in edit.document_changes or ():
        assert isinstance(change, types.TextDocumentEdit)
        found.setdefault(change.text_document.uri, []).extend(
            one for one in change.edits if isinstance(one, types.TextEdit)
        )
    return found


@asynccontextmanager
async def session(
    folder: Path, editor: str, *, pull: bool | None = None, roots: tuple[Path, ...] = ()
) -> AsyncIterator[Session]:
    """A server started for an editor; `pull` adds pulled diagnostics to what the editor offers, or takes them away."""
    client = await ClientServerConfig(server_command=SERVER).start()
    client.published_versions = {}  # type: ignore[attr-defined]

    @client.feature(types.CLIENT_REGISTER_CAPABILITY)
    def _register(params: types.RegistrationParams) -> None:
        return None

    published = client.protocol.fm.features[types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS]

    def _published(params: types.PublishDiagnosticsParams) -> None:
        published(params)
        client.published_versions[params.uri] = params.version  # type: ignore[attr-defined]

    client.protocol.fm._features[types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS] = _published
    capabilities = capabilities_of(editor)
    if pull is not None and capabilities.text_document is not None:
        offered = types.DiagnosticClientCapabilities(related_document_support=True)
        capabilities.text_document.diagnostic = offered if pull else None
    folders = [types.WorkspaceFolder(root.as_uri(), root.name) for root in roots or (folder,)]
    params = types.InitializeParams(
        capabilities=capabilities, root_uri=folder.as_uri(), workspace_folders=folders
    )
    found = Session(client, folder, capabilities)
    result = await client.initialize_session(params)
    found.encoding = str(result.capabilities.position_encoding or "utf-16")
    try:
        yield found
    finally:
        await client.shutdown_session()


class Server:
    """A server that several tests share, each with a folder and documents of its own."""

    def __init__(self, folder: Path, editor: str, *, pull: bool | None = None) -> None:
        self.root = folder
        self.loop = asyncio.new_event_loop()
        self.opened = session(folder, editor, pull=pull)
        self.count = 0

    def __enter__(self) -> Server:
        self.first = self.loop.run_until_complete(self.opened.__aenter__())
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.run_until_complete(self.opened.__aexit__(None, None, None))
        self.loop.close()

    @asynccontextmanager
    async def folder(self) -> AsyncIterator[Session]:
        self.count += 1
        folder = self.root / f"n{self.count}"
        folder.mkdir()
        (folder / "pllm.toml").write_text("")
        own = Session(self.first.client, folder, self.first.capabilities)
        own.encoding = self.first.encoding
        self.first.client.messages.clear()
        yield own
        for uri in own.texts:
            own.close(uri)

    def run(self, story: Coroutine[Any, Any, None]) -> None:
        self.loop.run_until_complete(asyncio.wait_for(story, PATIENCE))


def run(coroutine: object, seconds: float = PATIENCE) -> None:
    """A test written as a coroutine, with a limit on its time."""
    asyncio.run(asyncio.wait_for(coroutine, seconds))  # type: ignore[arg-type]


def numbers(data: object) -> Iterator[tuple[int, ...]]:
    """Semantic tokens, five numbers each."""
    flat = list(data)  # type: ignore[call-overload]
    yield from (tuple(flat[at : at + 5]) for at in range(0, len(flat), 5))
