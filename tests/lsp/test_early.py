"""What needs a document only opened never waits for its check."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import msgspec
import pytest

from pllm_lang.cli.editing import Editing
from pllm_lang.lsp.documents import CheckFailedError, Documents
from pllm_lang.lsp.snapshot import Asked, Opened, Snapshot

TEXT = "pllm 1\n\nimport std.formats [int8]\n\nplan p {\n  input x: int8[4] from client\n  output x to client\n}\n"
PATIENCE = 60


class Slow(Editing):
    """A checker that goes on with a check when it is told to; `fails` says where one ends with an exception."""

    def __init__(self, fails: str = "") -> None:
        super().__init__()
        self.fails = fails
        self.may_go_on = threading.Event()
        self.opened_alone = 0

    def opened(self, asked: Asked) -> Opened:
        self.opened_alone += 1
        return super().opened(asked)

    def checked(self, asked: Asked) -> Snapshot:
        def told(opened: Opened) -> None:
            asked.tell(opened)
            assert self.may_go_on.wait(PATIENCE)
            if self.fails == "behind":
                raise ValueError

        if self.fails == "before":
            raise ValueError
        return super().checked(msgspec.structs.replace(asked, tell=told))


def run(story: Any) -> None:
    asyncio.run(asyncio.wait_for(story, PATIENCE))


def test_the_opened_document_is_there_while_it_is_checked() -> None:
    async def story() -> None:
        checker = Slow()
        documents = Documents(lambda: checker)
        document = documents.open("file:///early/plan.pllm", TEXT, 1)
        check = asyncio.ensure_future(documents.checked(document))
        await asyncio.sleep(0)
        opened = await documents.opened(document)
        assert not check.done()
        assert opened is await documents.opened(document)
        checker.may_go_on.set()
        assert (await check).opened is opened
        assert checker.opened_alone == 0

    run(story())


@pytest.mark.parametrize("fails", ["before", "behind"])
def test_a_check_that_fails_takes_nothing_away(fails: str) -> None:
    async def story() -> None:
        checker = Slow(fails)
        checker.may_go_on.set()
        documents = Documents(lambda: checker)
        document = documents.open("file:///early/plan.pllm", TEXT, 1)
        check = asyncio.ensure_future(documents.checked(document))
        await asyncio.sleep(0)
        assert (await documents.opened(document)).module is not None
        with pytest.raises(CheckFailedError):
            await check
        assert checker.opened_alone == (1 if fails == "before" else 0)

    run(story())


def test_a_document_edited_meanwhile_is_opened_as_it_is_now() -> None:
    async def story() -> None:
        checker = Slow()
        documents = Documents(lambda: checker)
        document = documents.open("file:///early/plan.pllm", TEXT, 1)
        check = asyncio.ensure_future(documents.checked(document))
        await asyncio.sleep(0)
        await documents.opened(document)
        document.buffer.replace(TEXT.replace("plan p", "plan q"))
        documents.touch(document)
        again = asyncio.ensure_future(documents.opened(document))
        checker.may_go_on.set()
        assert "plan q" in (await again).source.text
        assert "plan q" in (await check).opened.source.text

    run(story())
