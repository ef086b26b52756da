"""`pllm lsp`: the server that editors talk to.

In: requests and edits of an editor. Out: answers of the features, and the findings of `pllm check` as diagnostics: pulled
where the client offers that, else pushed, never both. Nothing of a document is written to a log.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable
from typing import Any

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

from pllm_lang import __version__
from pllm_lang.lsp.buffer import Position, Units
from pllm_lang.lsp.diagnostics import diagnostic
from pllm_lang.lsp.documents import CheckFailedError, Document, Documents
from pllm_lang.lsp.feature import Feature, features
from pllm_lang.lsp.protocol import TextProtocol
from pllm_lang.lsp.snapshot import Checker, StaleError
from pllm_lang.lsp.view import View
from pllm_lang.text.finding import Finding

AT_ONCE = 0.15
"""Seconds: a document whose last check took less is checked at every key press, others when the typing pauses."""

PAUSE = 0.3
ANSWERED = (types.LSPErrorCodes.RequestFailed.value, types.ErrorCodes.MethodNotFound.value)
WATCHED = ("**/*.pllm", "**/*.json", "**/pllm.toml", "**/pyproject.toml")
_UNITS: dict[str, Units] = {"utf-8": "utf-8", "utf-16": "utf-16", "utf-32": "utf-32"}


class PllmServer(LanguageServer):
    """The server's state: the open documents, and what was published where."""

    def __init__(self, make_checker: Callable[[], Checker]) -> None:
        sync = types.TextDocumentSyncKind.Incremental
        super().__init__(  # pyright: ignore[reportUnknownMemberType] - pygls leaves *args untyped
            "pllm", __version__, sync, max_workers=2, protocol_cls=TextProtocol
        )
        logging.getLogger("pygls").setLevel(logging.CRITICAL)  # it writes what it gets and sends
        self.documents = Documents(make_checker)
        self.published: dict[str, dict[str, tuple[Finding, ...]]] = {}
        self.checks: dict[str, asyncio.Task[None]] = {}
        self.told: set[str] = set()
        self.was_shut_down = False

    @property
    def pulls(self) -> bool:
        """Whether the client asks for diagnostics itself."""
        document = self.client_capabilities.text_document
        return document is not None and document.diagnostic is not None

    def view(self, document: Document, opened: Any, snapshot: Any) -> View:
        folders = (uris.to_fs_path(uri) for uri in self.workspace.folders)
        known = tuple(path for path in folders if path and "\0" not in path)
        return View(self.documents, document, opened, snapshot, self.client_capabilities, known)

    async def looked(self, uri: str, needs: str) -> View | None:
        """The document as it is now; None where it is not open or could not be looked at."""
        document = self.documents.by_uri.get(uri)
        if document is None:
            return None
        try:
            if needs == "opened":
                return self.view(document, await self.documents.opened(document), None)
            snapshot = await self.documents.checked(document)
        except StaleError:
            return None
        except CheckFailedError as problem:
            self.tell_once(f"pllm failed on its own account ({problem}); this document was not checked.")
            return None
        if snapshot.problem:
            self.tell_once(snapshot.problem)
        return self.view(document, snapshot.opened, snapshot)

    def tell_once(self, message: str) -> None:
        if message not in self.told:
            self.told.add(message)
            self.window_show_message(types.ShowMessageParams(types.MessageType.Warning, message))

    def report_server_error(self, error: Exception, source: Any) -> None:  # noqa: ARG002 - the signature of pygls
        """An error of the protocol's own: its kind is told, once, never its text, which may be from a document.

        Refusals in words for the user, and methods that are not offered, were answered.
        """
        if isinstance(error, JsonRpcException) and error.code in ANSWERED:
            return
        self.tell_once(f"pllm could not handle a message of the editor ({type(error).__name__}).")

    # ---- checks after an edit ----

    def changed(self, document: Document) -> None:
        """Check what has changed and what reads it, when the typing allows."""
        if self.pulls:
            if self.documents.users(document):
                self.refresh()
            return
        for one in (document, *self.documents.users(document)):
            self.check_soon(one)

    def check_soon(self, document: Document) -> None:
        running = self.checks.get(document.uri)
        if running is not None:
            running.cancel()
        task = asyncio.get_running_loop().create_task(self._check(document))
        self.checks[document.uri] = task

    async def _check(self, document: Document) -> None:
        if document.seconds > AT_ONCE:
            await asyncio.sleep(PAUSE)
        view = await self.looked(document.uri, "checked")
        try:
            if view is not None and view.snapshot is not None:
                self.publish(view)
        except Exception as problem:
            self.tell_once(f"pllm failed on its own account (diagnostics: {type(problem).__name__}).")

    def publish(self, view: View) -> None:
        """The findings of a check in files that are not open and that it reads, then in its own: with those all are told."""
        assert view.snapshot is not None
        by_path: dict[str, list[Finding]] = {view.document.path: []}
        for finding in view.snapshot.findings:
            path = view.document.path if finding.span.file == view.name else view.path_of(finding.span.file)
            if path == view.document.path or self.documents.at(path) is None:
                by_path.setdefault(path, []).append(finding)
        before = {path for path, by in self.published.items() if view.document.uri in by}
        for path in sorted(before | set(by_path), key=lambda path: (path == view.document.path, path)):
            by = self.published.setdefault(path, {})
            by.pop(view.document.uri, None)
            if path in by_path:
                by[view.document.uri] = tuple(by_path[path])
            self._publish(view, path)

    def _publish(self, view: View, path: str) -> None:
        findings: list[Finding] = []
        for found in self.published[path].values():
            findings += [finding for finding in found if finding not in findings]
        own = path == view.document.path
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(
                uri=view.document.uri if own else self.documents.uri_of(path),
                diagnostics=[diagnostic(view, finding) for finding in findings],
                version=view.document.version if own else None,
            )
        )

    def closed(self, document: Document) -> None:
        """Nothing is said any more of a closed document, nor by it of others."""
        if self.pulls:
            return
        for path, by in self.published.items():
            if by.pop(document.uri, None) is not None:
                uri = document.uri if path == document.path else self.documents.uri_of(path)
                self.text_document_publish_diagnostics(
                    types.PublishDiagnosticsParams(uri=uri, diagnostics=[])
                )
        for other in list(self.documents.by_uri.values()):
            self.check_soon(other)

    def refresh(self) -> None:
        """Ask a client that pulls to pull again."""
        workspace = self.client_capabilities.workspace
        if (
            workspace is not None
            and workspace.diagnostics is not None
            and workspace.diagnostics.refresh_support
        ):
            self.workspace_diagnostic_refresh(None)

    def look_again(self) -> None:
        """Something outside of the open documents has changed."""
        self.documents.disk_changed()
        if self.pulls:
            self.refresh()
            return
        for document in list(self.documents.by_uri.values()):
            self.check_soon(document)


def make_server(make_checker: Callable[[], Checker]) -> PllmServer:
    server = PllmServer(make_checker)
    _register_texts(server)
    server.feature(types.INITIALIZE)(functools.partial(_initialize, server))
    server.feature(types.INITIALIZED)(functools.partial(_initialized, server))
    server.feature(types.SHUTDOWN)(functools.partial(_shut_down, server))
    return server


def _initialize(server: PllmServer, params: types.InitializeParams) -> None:  # noqa: ARG001 - the message's shape
    """What the server offers depends on what the client can do; the features load now."""
    server.documents.units = _UNITS.get(str(server.workspace.position_encoding), "utf-16")
    for feature in features():
        if feature.method == types.TEXT_DOCUMENT_DIAGNOSTIC and not server.pulls:
            continue
        register(server, feature)
    for name, command in commands().items():
        _register_command(server, name, command)


def commands() -> dict[str, Callable[[View, str], str]]:
    from pllm_lang.lsp.features.code_lens import COMMANDS  # noqa: PLC0415 - with the other features

    return COMMANDS


def _register_command(server: PllmServer, name: str, command: Callable[[View, str], str]) -> None:
    """A command of a lens: what it says is shown, and given back."""

    async def run(uri: str = "", plan: str = "") -> str | None:
        if not uri or not plan:
            raise JsonRpcInvalidParams(f"`{name}` takes the document and the name of a plan in it")
        view = await server.looked(uri, "checked")
        if view is None:
            return None
        pool = server.documents.pool  # where checks run: a proof is made by one at a time
        text = await asyncio.get_running_loop().run_in_executor(pool, command, view, plan)
        server.window_show_message(types.ShowMessageParams(types.MessageType.Info, text))
        return text

    server.command(name)(run)


def register(server: PllmServer, feature: Feature) -> None:
    async def answered(params: Any) -> Any:
        document = getattr(params, "text_document", None)
        uri = document.uri if document is not None else next(iter(server.documents.by_uri), "")
        view = await server.looked(uri, feature.needs)
        if view is None:
            return _nothing(feature.method)
        try:
            return await _answer(server, feature, view, params)
        except (JsonRpcException, asyncio.CancelledError):
            raise  # a refusal with words for the user, or a request that the client took back
        except StaleError:
            return _nothing(feature.method)
        except Exception as problem:
            server.tell_once(f"pllm failed on its own account ({feature.method}: {type(problem).__name__}).")
            return _nothing(feature.method)

    server.feature(feature.method, feature.options)(answered)


async def _answer(server: PllmServer, feature: Feature, view: View, params: Any) -> Any:
    if feature.work is None:
        return feature.answer(view, params)
    stamp = view.document.stamp
    pool = server.documents.pool
    worked = await asyncio.get_running_loop().run_in_executor(pool, feature.work, view, params)
    if view.document.stamp != stamp:
        raise StaleError
    return feature.answer(view, params, worked)


def _nothing(method: str) -> Any:
    """The empty answer to a request."""
    if method == types.TEXT_DOCUMENT_DIAGNOSTIC:
        return types.RelatedFullDocumentDiagnosticReport(items=[])
    return None


def _shut_down(server: PllmServer, params: Any = None) -> None:  # noqa: ARG001 - the message's shape
    server.was_shut_down = True


def _initialized(server: PllmServer, params: types.InitializedParams) -> None:  # noqa: ARG001 - the message's shape
    """Ask to be told of files that change outside of the editor, where the client does that."""
    workspace = server.client_capabilities.workspace
    watching = workspace.did_change_watched_files if workspace is not None else None
    if watching is None or not watching.dynamic_registration:
        return
    watchers = [types.FileSystemWatcher(pattern) for pattern in WATCHED]
    options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
    registration = types.Registration("pllm-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
    server.client_register_capability(types.RegistrationParams([registration]))


def _register_texts(server: PllmServer) -> None:
    documents = server.documents

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def _opened(params: types.DidOpenTextDocumentParams) -> None:
        given = params.text_document
        server.changed(documents.open(given.uri, given.text, given.version))

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def _changed(params: types.DidChangeTextDocumentParams) -> None:
        document = documents.by_uri.get(params.text_document.uri)
        if document is None:
            return
        for change in params.content_changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                start, end = change.range.start, change.range.end
                document.buffer.edit(
                    Position(start.line, start.character), Position(end.line, end.character), change.text
                )
            else:
                document.buffer.replace(change.text)
        document.version = params.text_document.version
        documents.touch(document)
        server.changed(document)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def _closed(params: types.DidCloseTextDocumentParams) -> None:
        document = documents.close(params.text_document.uri)
        if document is not None:
            server.closed(document)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def _saved(params: types.DidSaveTextDocumentParams) -> None:  # noqa: ARG001 - the message's shape
        documents.disk_changed()

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def _watched(params: types.DidChangeWatchedFilesParams) -> None:  # noqa: ARG001 - the message's shape
        server.look_again()

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def _configured(params: types.DidChangeConfigurationParams) -> None:  # noqa: ARG001 - the message's shape
        server.look_again()
