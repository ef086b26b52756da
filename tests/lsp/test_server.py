"""The server stays up: whatever one feature, one message or one check does."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from pllm_lang.cli import discover
from pllm_lang.cli.discover import files_near
from pllm_lang.lsp.documents import CheckFailedError, Documents
from pllm_lang.lsp.feature import features
from pllm_lang.lsp.snapshot import Asked, Opened, Snapshot, StaleError
from tests.lsp.session import SERVER, run, session
from tests.lsp.test_features import PLAN


def test_every_feature_of_the_design_is_there() -> None:
    offered = {feature.method for feature in features()}
    wanted = (
        "diagnostic hover completion definition references rename prepareRename documentSymbol semanticTokens/full "
        "semanticTokens/range formatting foldingRange codeAction inlayHint signatureHelp codeLens documentLink"
    )
    assert {f"textDocument/{name}" for name in wanted.split()} | {"workspace/symbol"} <= offered


class Failing:
    """A checker that fails as often as it is told to."""

    def __init__(self, times: int) -> None:
        self.times = times
        self.forgotten = 0

    def checked(self, asked: Asked) -> Snapshot:
        asked.tick()
        if self.times:
            self.times -= 1
            raise KeyError(asked.text)
        return Snapshot(None, (), (), ())  # type: ignore[arg-type]

    def opened(self, asked: Asked) -> Opened:
        raise NotImplementedError

    def forget(self, _path: str) -> None:
        self.forgotten += 1


def test_a_check_that_fails_is_tried_once_more_without_memory() -> None:
    async def story() -> None:
        checker = Failing(1)
        documents = Documents(lambda: checker)  # type: ignore[arg-type]
        document = documents.open("file:///a.pllm", "secret", 1)
        assert (await documents.checked(document)).findings == ()
        assert checker.forgotten == 1
        checker.times = 2
        documents.touch(document)
        with pytest.raises(CheckFailedError) as failed:
            await documents.checked(document)
        assert str(failed.value) == "KeyError"  # and nothing of the text
        documents.touch(document)
        assert (await documents.checked(document)).findings == ()

    asyncio.run(story())


class Slow(Failing):
    """A checker that ends only when its text is stale, the first time."""

    def __init__(self) -> None:
        super().__init__(0)
        self.seen: list[str] = []

    def checked(self, asked: Asked) -> Snapshot:
        self.seen.append(asked.text.strip())
        while asked.text.startswith("old"):
            time.sleep(0.002)
            asked.tick()
        return Snapshot(None, (), (), ())  # type: ignore[arg-type]


def test_a_check_of_an_old_text_ends_and_the_new_one_is_checked() -> None:
    async def story() -> None:
        checker = Slow()
        documents = Documents(lambda: checker)  # type: ignore[arg-type]
        document = documents.open("file:///a.pllm", "old", 1)
        waiting = asyncio.ensure_future(documents.checked(document))
        while not checker.seen:  # the check has to be under way, however late its thread begins
            await asyncio.sleep(0.01)
        document.buffer.replace("new")
        documents.touch(document)
        await asyncio.wait_for(waiting, 30)
        assert checker.seen == ["old", "new"]

    asyncio.run(story())


def test_a_document_closed_meanwhile_is_not_waited_for() -> None:
    async def story() -> None:
        documents = Documents(Slow)  # type: ignore[arg-type]
        document = documents.open("file:///a.pllm", "old", 1)
        waiting = asyncio.ensure_future(documents.checked(document))
        await asyncio.sleep(0.05)
        documents.close(document.uri)
        with pytest.raises(StaleError):
            await asyncio.wait_for(waiting, 30)

    asyncio.run(story())


def test_one_check_serves_all_who_wait_for_it() -> None:
    async def story() -> None:
        checker = Slow()
        documents = Documents(lambda: checker)  # type: ignore[arg-type]
        document = documents.open("file:///a.pllm", "new", 1)
        await asyncio.gather(*(documents.checked(document) for _ in range(5)))
        assert checker.seen == ["new"]

    asyncio.run(story())


def test_a_feature_that_fails_answers_with_nothing_and_the_others_go_on(tmp_path: Path) -> None:
    async def story() -> None:
        async with session(tmp_path, "emacs") as s:
            uri = s.open("plan.pllm", PLAN)
            wild = types.Position(2**31 - 1, 2**31 - 1)
            everywhere = types.Range(wild, wild)
            document = s.document(uri)
            client = s.client
            await client.text_document_hover_async(types.HoverParams(document, wild))
            await client.text_document_completion_async(types.CompletionParams(document, wild))
            await client.text_document_signature_help_async(types.SignatureHelpParams(document, wild))
            await client.text_document_inlay_hint_async(types.InlayHintParams(document, everywhere))
            unknown = types.TextDocumentIdentifier("file:///nowhere/at/all.pllm")
            assert await client.text_document_hover_async(types.HoverParams(unknown, wild)) is None
            client.text_document_did_close(types.DidCloseTextDocumentParams(unknown))
            s.whole(uri, "\0")
            assert await s.codes(uri) == ["file.not_text"]
            for method in ("hover", "definition", "completion"):
                params = {
                    "hover": types.HoverParams,
                    "definition": types.DefinitionParams,
                    "completion": types.CompletionParams,
                }[method](document, types.Position(0, 0))
                await getattr(client, f"text_document_{method}_async")(params)
            s.whole(uri, PLAN)
            assert await s.codes(uri) == []
            assert not client.messages

    run(story())


def test_a_document_that_no_file_can_be_named_as_disturbs_no_other(tmp_path: Path) -> None:
    async def story() -> None:
        async with session(tmp_path, "emacs") as s:
            uri = s.open("plan.pllm", PLAN)
            for other in ("file:///tmp/a%00b.pllm", "file:///tmp/\ud83d.pllm", "untitled:" + "x" * 5_000, ""):
                s.client.text_document_did_open(
                    types.DidOpenTextDocumentParams(types.TextDocumentItem(other, "pllm", 1, PLAN))
                )
                s.whole(uri, PLAN)
                assert await s.codes(uri) == []
            assert not s.client.messages

    run(story())


def test_what_stands_in_an_imported_buffer_is_judged_as_in_a_file(tmp_path: Path) -> None:
    """The editor's copy has blanks behind its lines, and nothing that is told shows them."""

    async def story() -> None:
        async with session(tmp_path, "emacs") as s:
            lib = s.open("lib.pllm", "pllm 1\n\nformat low = int(-4, 4)\n")
            uri = s.open("plan.pllm", 'pllm 1\n\nimport "./lib.pllm" [low]\n')
            s.whole(lib, "pllm 1\n\n# \0\n")
            s.whole(uri, s.texts[uri] + "\n")
            [found] = [one for one in await s.diagnostics(uri) if one.code == "file.not_text"]
            assert found.message.startswith("`./lib.pllm`: byte 3 of line 3 is NUL")

    run(story())


def test_a_byte_order_mark_means_nothing_and_moves_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        async with session(tmp_path, "emacs") as s:
            uri = s.open("plan.pllm", "\ufeffpllm 1\n\nimport std.formats [int8]\n")
            for line in (2, 3):
                [found] = await s.diagnostics(uri)
                assert (found.code, found.range.start) == ("names.unused", types.Position(line, 20))
                s.replace(uri, "import", "\nimport")
            used = s.open("used.pllm", 'pllm 1\n\nimport "plan.pllm" [int16]\n')
            assert await s.codes(used) == ["names.unknown"]

    run(story())


def test_a_refusal_in_words_is_not_told_twice(tmp_path: Path) -> None:
    async def story() -> None:
        async with session(tmp_path, "emacs") as s:
            uri = s.open("plan.pllm", PLAN)
            asked = types.RenameParams(s.document(uri), types.Position(0, 0), "other")
            with pytest.raises(JsonRpcException):
                await s.client.text_document_rename_async(asked)
            assert await s.codes(uri) == []
            assert not s.client.messages

    run(story())


def test_a_request_of_another_form_is_answered(tmp_path: Path) -> None:
    """Nobody waits for it, and the next one is as always."""

    async def story() -> None:
        async with session(tmp_path, "emacs") as s:
            uri = s.open("plan.pllm", PLAN)
            for line in (-1, "here", None, 2**40):
                position = types.Position(0, 0)
                object.__setattr__(position, "line", line)
                with pytest.raises(JsonRpcException) as refused:
                    await s.client.text_document_hover_async(types.HoverParams(s.document(uri), position))
                assert refused.value.code == types.ErrorCodes.InvalidParams.value
            assert await s.codes(uri) == []

    run(story())


def test_a_file_whose_name_is_no_text_is_passed_over(tmp_path: Path) -> None:
    async def story() -> None:
        async with session(tmp_path, "emacs") as s:
            with open(os.fsencode(tmp_path / "bad") + b"\xff.pllm", "w", encoding="utf-8") as stream:
                stream.write(PLAN)
            uri = s.open("plan.pllm", PLAN)
            assert await s.codes(uri) == []
            found = await s.client.workspace_symbol_async(types.WorkspaceSymbolParams("gated"))
            assert uri in {symbol.location.uri for symbol in found or ()}
            assert not s.client.messages

    run(story())


def test_a_document_in_the_root_of_a_disk_is_no_project_of_all_of_it(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"f{number}" / "deep").mkdir(parents=True)
        (tmp_path / f"f{number}" / "deep" / "plan.pllm").write_text(PLAN)
    assert len(files_near(str(tmp_path), str(tmp_path), ())) == 3
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(discover, "MAX_FOLDERS", 3)
        assert len(files_near(str(tmp_path), str(tmp_path), ())) == 1


def started(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*SERVER, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


@pytest.mark.parametrize("place", ["0.0.0.0:2087", "example.org:2087", "::1", "localhost:http", "[::]:99999"])
def test_only_this_machine_is_listened_to(place: str) -> None:
    done = started("--tcp", place)
    _, errors = done.communicate(timeout=60)
    assert done.returncode == 2
    assert b"Traceback" not in errors


def test_talking_over_a_socket() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = started("--tcp", f"127.0.0.1:{port}")
    try:
        with connected(port) as client:
            body = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"rootUri":null,"capabilities":{}}}'
            client.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            client.settimeout(60)
            assert b'"capabilities"' in client.recv(100_000)
    finally:
        server.kill()
        server.communicate()


def connected(port: int) -> socket.socket:
    for _ in range(600):
        try:
            return socket.create_connection(("127.0.0.1", port))
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the server does not listen")


def test_the_end_of_the_input_ends_the_server() -> None:
    server = started()
    out, errors = server.communicate(b"", timeout=60)
    assert server.returncode == 1  # the editor did not say goodbye
    assert out == b""
    assert b"Traceback" not in errors


def test_nothing_of_a_document_is_logged(tmp_path: Path) -> None:
    secret = "a_name_that_nobody_should_read"
    text = f"pllm 1\n\nplan p {{ input {secret}: f32[1] from client }}\n\0"
    item = {"uri": f"file:///tmp/{secret}.pllm", "languageId": "pllm", "version": 1, "text": text}
    wrong = {"textDocument": {"uri": 7}, "contentChanges": secret}
    body = [
        {"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}},
        {"method": "initialized", "params": {}},
        {"method": "textDocument/didOpen", "params": {"textDocument": item}},
        {"method": "textDocument/didChange", "params": wrong},
        {"id": 2, "method": "shutdown"},
        {"method": "exit"},
    ]
    written = [json.dumps({"jsonrpc": "2.0", **one}).encode() for one in body]
    messages = b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(one), one) for one in written)
    environment = os.environ | {"PYTHONDEVMODE": "1"}
    done = subprocess.run(
        SERVER, input=messages, capture_output=True, timeout=120, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert secret.encode() not in done.stderr


def test_check_does_not_load_the_server() -> None:
    loaded = "[m for m in sys.modules if m.split('.')[0] in ('pygls', 'lsprotocol', 'asyncio')]"
    code = f"import sys; from pllm_lang.cli import editing, checking; print({loaded})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
