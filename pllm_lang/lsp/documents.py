"""The open documents: their texts as they are edited, and what was last found out about each.

Checks run one at a time beside the editor's messages, so that the server always answers. One that nobody waits for any
more, because its text has changed, ends at its next tick.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from pygls import uris

from pllm_lang.lsp.buffer import Buffer, Units
from pllm_lang.lsp.snapshot import Asked, Checker, Opened, Snapshot, StaleError

if TYPE_CHECKING:  # the server is ready before the library is loaded
    from pllm_lang.lsp.names_again import Names

Made = TypeVar("Made", Opened, Snapshot)


class CheckFailedError(Exception):
    """The checker itself failed; the text is the name of the exception, never a part of a document."""


class Document:
    """`stamp` grows with every change; `seconds` is what the last check took; `names` are those found last (`pointing`)."""

    def __init__(self, uri: str, path: str, text: str, version: int, units: Units) -> None:
        self.uri = uri
        self.path = path
        self.version = version
        self.buffer = Buffer(text, units=units)
        self.stamp = 0
        self.seconds = 0.0
        self.opened: tuple[object, Opened] | None = None
        self.snapshot: tuple[object, Snapshot] | None = None
        self.names: Names | None = None
        self.running: dict[str, tuple[object, asyncio.Future[Any]]] = {}


class Documents:
    """`make_checker` is called when the first document is there: the verifier loads then."""

    def __init__(self, make_checker: Callable[[], Checker]) -> None:
        self._make_checker = make_checker
        self.units: Units = "utf-16"
        self.by_uri: dict[str, Document] = {}
        self.pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="pllm-check")
        self._stamps = 0
        self._disk = 0

    @cached_property
    def checker(self) -> Checker:
        return self._make_checker()

    # ---- texts ----

    def open(self, uri: str, text: str, version: int) -> Document:
        document = Document(uri, path_of(uri), text, version, self.units)
        self.by_uri[uri] = document
        self.touch(document)
        return document

    def close(self, uri: str) -> Document | None:
        document = self.by_uri.pop(uri, None)
        if document is not None:
            self.touch(document)
            self.checker.forget(document.path)
            self.disk_changed()
        return document

    def touch(self, document: Document) -> None:
        self._stamps += 1
        document.stamp = self._stamps

    def disk_changed(self) -> None:
        """Files that are not open may have changed."""
        self._disk += 1

    def at(self, path: str) -> Document | None:
        """The open document of a file."""
        real = os.path.realpath(path)
        return next((d for d in self.by_uri.values() if os.path.realpath(d.path) == real), None)

    def uri_of(self, path: str) -> str:
        document = self.at(path)
        return document.uri if document is not None else uris.from_fs_path(path) or ""

    def buffer_of(self, path: str) -> Buffer | None:
        """The text of a file, open or not; None where it cannot be read."""
        document = self.at(path)
        if document is not None:
            return document.buffer
        try:
            with open(path, encoding="utf-8-sig", newline="") as stream:
                return Buffer(stream.read(), 0, self.units)
        except (OSError, UnicodeDecodeError):
            return None

    def users(self, document: Document) -> list[Document]:
        """Other open documents whose check reads this one."""
        path = os.path.realpath(document.path)
        return [
            other
            for other in self.by_uri.values()
            if other is not document and other.snapshot is not None and path in _real(other.snapshot[1].read)
        ]

    # ---- what is known of them ----

    async def opened(self, document: Document) -> Opened:
        """The document parsed and its names bound, as of now."""
        if document.snapshot is not None and document.snapshot[0] == self._state(document):
            return document.snapshot[1].opened
        return await self._latest(document, "opened", self.checker.opened)

    async def checked(self, document: Document) -> Snapshot:
        """The check of the document as it is now. Raises CheckFailedError, and StaleError for one that was closed."""
        return await self._latest(document, "snapshot", self.checker.checked)

    async def _latest(self, document: Document, kind: str, make: Callable[[Asked], Made]) -> Made:
        while True:
            if self.by_uri.get(document.uri) is not document:
                raise StaleError
            state = self._state(document)
            known: tuple[object, Made] | None = getattr(document, kind)
            if known is not None and known[0] == state:
                return known[1]
            try:
                made = await self._shared(document, kind, state, make)
            except StaleError:
                continue
            if state == self._state(document):
                setattr(document, kind, (state, made))
                return made

    async def _shared(
        self, document: Document, kind: str, state: object, make: Callable[[Asked], Made]
    ) -> Made:
        """Several requests for the same wait for one check; those for the opened document, until a check has opened it."""
        under_way = document.running.get(kind)
        if under_way is None or under_way[0] != state or under_way[1].done():
            loop = asyncio.get_running_loop()
            early: asyncio.Future[Opened] = loop.create_future()

            def tell(opened: Opened) -> None:
                loop.call_soon_threadsafe(_told, early, opened)

            asked = self.asked(document, tell)
            future: asyncio.Future[Any] = loop.run_in_executor(self.pool, self._made, document, asked, make)
            future.add_done_callback(_seen)  # where nobody waits any more, a failure is no news
            if kind == "snapshot":
                future.add_done_callback(lambda _: _told(early, None))
                document.running["opened"] = (state, early)
            under_way = document.running[kind] = (state, future)
        return await asyncio.shield(under_way[1])

    def _made(self, document: Document, asked: Asked, make: Callable[[Asked], Made]) -> Made:
        asked.tick()
        start = time.monotonic()
        try:
            return self._twice(asked, make)
        finally:
            document.seconds = time.monotonic() - start

    def _twice(self, asked: Asked, make: Callable[[Asked], Made]) -> Made:
        """What is remembered of a document may be the reason of a failure, so a second try remembers nothing."""
        try:
            return make(asked)
        except StaleError:
            raise
        except Exception:
            self.checker.forget(asked.path)
        try:
            return make(asked)
        except StaleError:
            raise
        except Exception as problem:
            self.checker.forget(asked.path)
            raise CheckFailedError(type(problem).__name__) from None

    def asked(self, document: Document, tell: Callable[[Opened], object] | None = None) -> Asked:
        stamp = document.stamp

        def tick() -> None:
            if document.stamp != stamp:
                raise StaleError

        buffers = {other.path: other.buffer.text for other in self.by_uri.values()}
        asked = Asked(document.path, document.buffer.text, document.buffer.real, buffers, tick)
        return asked if tell is None else msgspec.structs.replace(asked, tell=tell)

    def _state(self, document: Document) -> object:
        """What the answer depends on: this text, the other open ones that it reads, and the disk."""
        known = document.snapshot
        read = None if known is None else _real(known[1].read)
        others = tuple(
            sorted(
                (other.path, other.stamp)
                for other in self.by_uri.values()
                if other is not document and (read is None or os.path.realpath(other.path) in read)
            )
        )
        return (document.stamp, others, self._disk)


def path_of(uri: str) -> str:
    """The path of a document; one that was never saved, or that no file can be named as, gets a name in the working folder."""
    path = uris.to_fs_path(uri) if uri.startswith("file:") else None
    if path and _can_be_named(path):
        return path
    name = "".join(letter if letter.isalnum() else "_" for letter in uri[:MAX_NAME])
    told_apart = hashlib.sha256(uri.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return os.path.join(os.getcwd(), f"{name}_{told_apart}.pllm")


MAX_NAME = 80
"""Characters that the name of an unsaved document takes from its address."""


def _can_be_named(path: str) -> bool:
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def _seen(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()


def _told(early: asyncio.Future[Opened], opened: Opened | None) -> None:
    """The document was opened on the way to its check; None where the check has ended, however it did."""
    if early.done():
        return
    if opened is not None:
        early.set_result(opened)
    else:
        early.add_done_callback(_seen)
        early.set_exception(StaleError())  # who waits for it asks again


def _real(paths: Iterable[str]) -> set[str]:
    return {os.path.realpath(path) for path in paths}
