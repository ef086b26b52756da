"""Diagnostics: in the right place in every encoding, each problem once, across files and folders."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types

from tests.lsp.session import CLIENTS, run, session
from tests.lsp.test_features import BAD, PLAN, SHARED, USER


@pytest.mark.parametrize("editor", CLIENTS)
def test_letters_of_every_width_before_the_place(tmp_path: Path, editor: str) -> None:
    async def story() -> None:
        async with session(tmp_path, editor) as s:
            line = (
                '  facts "é語\U0001f600\U00010348.json" weight q: missing_format[1] public # \U0001f600\r\n'
            )
            uri = s.open("plan.pllm", "# é\U0001f600\r\n" + PLAN.replace("  output g", line + "  output g"))
            places = {s.cut(uri, one.range) for one in await s.diagnostics(uri)}
            assert {'"é語\U0001f600\U00010348.json"', "missing_format"} <= places
            s.replace(uri, "\U00010348.json", ".json")
            s.replace(uri, "# é\U0001f600", "# \U0001f600\U0001f600")
            places = {s.cut(uri, one.range) for one in await s.diagnostics(uri)}
            assert {'"é語\U0001f600.json"', "missing_format"} <= places

    run(story())


@pytest.mark.parametrize("pull", [True, False], ids=["pulled", "pushed"])
@pytest.mark.parametrize("editor", CLIENTS)
def test_either_pulled_or_pushed(tmp_path: Path, editor: str, pull: bool) -> None:
    async def story() -> None:
        async with session(tmp_path, editor, pull=pull) as s:
            uri = s.open("plan.pllm", BAD)
            assert "bounds.carrier" in await s.codes(uri)
            s.replace(uri, "bits: 16", "bits: 32")
            assert await s.codes(uri) == []
            assert (uri in s.client.diagnostics) is not pull

    run(story())


@pytest.mark.parametrize("pull", [True, False], ids=["pulled", "pushed"])
def test_an_unsaved_import_counts_and_a_broken_one_is_told_once(tmp_path: Path, pull: bool) -> None:
    async def story() -> None:
        async with session(tmp_path, "visual_studio_code", pull=pull) as s:
            s.write("shared.pllm", SHARED)
            user = s.open("user.pllm", USER)
            assert await s.codes(user) == ["names.unused"]  # `twice` is imported for nothing
            shared = s.open("shared.pllm", SHARED)
            s.replace(shared, "int(16)", "int(4)")
            await settled(s, user, "bounds.overflow")
            s.replace(shared, "int(4)", "int(4")
            broken = await s.codes(shared)
            assert [code for code in broken if code.startswith("syntax.")]
            assert not [code for code in await s.codes(user) if code.startswith("syntax.")]

    run(story())


async def settled(s: object, uri: str, code: str) -> None:
    """The other document is looked at again by itself: pushed, or pulled anew after a refresh."""
    import asyncio

    for _ in range(600):
        if s.pulls:  # type: ignore[attr-defined]
            codes = await s.codes(uri)  # type: ignore[attr-defined]
        else:
            codes = [one.code for one in s.client.diagnostics.get(uri, ())]  # type: ignore[attr-defined]
        if code in codes:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(codes)


@pytest.mark.parametrize("pull", [True, False], ids=["pulled", "pushed"])
def test_a_broken_import_that_is_not_open_is_told_in_its_own_file(tmp_path: Path, pull: bool) -> None:
    async def story() -> None:
        async with session(tmp_path, "visual_studio_code", pull=pull) as s:
            shared = s.write("shared.pllm", SHARED.replace("int(16)", "int(16"))
            user = s.open("user.pllm", USER)
            params = types.DocumentDiagnosticParams(s.document(user))
            if pull:
                report = await s.client.text_document_diagnostic_async(params)
                assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
                related = (report.related_documents or {})[shared]
                assert isinstance(related, types.FullDocumentDiagnosticReport)
                told = [str(one.code) for one in related.items]
            else:
                await s.diagnostics(user)
                told = [str(one.code) for one in s.client.diagnostics[shared]]
            assert len(told) == 1
            assert told[0].startswith("syntax.")
            if not pull:
                s.close(user)
                await drained(s, shared)

    run(story())


def test_findings_of_imports_are_told_before_those_of_the_document(tmp_path: Path) -> None:
    """Who has waited for a document's own findings has those of all files that it reads, whatever order their names hash in."""

    async def story() -> None:
        async with session(tmp_path, "visual_studio_code", pull=False) as s:
            names = [f"part{n}" for n in range(6)]
            parts = [s.write(f"{name}.pllm", f"pllm 1\nformat {name} = int(16\n") for name in names]
            imports = "".join(f'import "{name}.pllm" [{name}]\n' for name in names)
            order: list[str] = []
            published = s.client.protocol.fm.features[types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS]

            def noted(params: types.PublishDiagnosticsParams) -> None:
                order.append(params.uri)
                published(params)

            s.client.protocol.fm._features[types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS] = noted
            user = s.open("user.pllm", f"pllm 1\n{imports}")
            await s.diagnostics(user)
            assert order == [*parts, user]

    run(story())


async def drained(s: object, uri: str) -> None:
    import asyncio

    for _ in range(600):
        if s.client.diagnostics[uri] == ():  # type: ignore[attr-defined]
            return
        await asyncio.sleep(0.02)
    raise AssertionError("the findings of a closed document stayed")


def test_an_unchanged_report_is_not_sent_again(tmp_path: Path) -> None:
    async def story() -> None:
        async with session(tmp_path, "visual_studio_code", pull=True) as s:
            uri = s.open("plan.pllm", BAD)
            params = types.DocumentDiagnosticParams(s.document(uri))
            first = await s.client.text_document_diagnostic_async(params)
            params.previous_result_id = first.result_id
            again = await s.client.text_document_diagnostic_async(params)
            assert isinstance(again, types.RelatedUnchangedDocumentDiagnosticReport)
            s.replace(uri, "bits: 16", "bits: 32")
            assert isinstance(
                await s.client.text_document_diagnostic_async(params),
                types.RelatedFullDocumentDiagnosticReport,
            )

    run(story())


def test_several_roots_each_with_its_settings(tmp_path: Path) -> None:
    async def story() -> None:
        one, other = tmp_path / "one", tmp_path / "other"
        one.mkdir()
        other.mkdir()
        (one / "pllm.toml").write_text('ignore = ["names.unused"]\n')
        (other / "pllm.toml").write_text("")
        unused = PLAN.replace("  output g", "  unused = cast(g, to: f32) @ client\n  output g")
        async with session(tmp_path, "emacs", roots=(one, other)) as s:
            assert await s.codes(s.open("one/plan.pllm", unused)) == []
            assert await s.codes(s.open("other/plan.pllm", unused)) == ["names.unused"]

    run(story())


def test_a_document_that_was_never_saved_and_one_of_the_library(tmp_path: Path) -> None:
    async def story() -> None:
        async with session(tmp_path, "emacs") as s:
            uri = "untitled:Untitled-1"
            s.texts[uri], s.versions[uri] = BAD, 1
            item = types.TextDocumentItem(uri, "pllm", 1, BAD)
            s.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
            assert "bounds.carrier" in await s.codes(uri)
            from pllm_lang.resources import stdlib_dir

            path = Path(str(stdlib_dir() / "formats.pllm"))
            library = path.as_uri()
            s.texts[library], s.versions[library] = path.read_text(encoding="utf-8"), 1
            item = types.TextDocumentItem(library, "pllm", 1, s.texts[library])
            s.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
            assert await s.codes(library) == []

    run(story())


def test_unsaved_documents_with_names_that_are_alike_are_two(tmp_path: Path) -> None:
    async def story() -> None:
        async with session(tmp_path, "emacs") as s:
            texts = {"untitled:Untitled-1": BAD, "untitled:Untitled.1": "pllm 1\n"}
            for uri, text in texts.items():
                s.texts[uri], s.versions[uri] = text, 1
                item = types.TextDocumentItem(uri, "pllm", 1, text)
                s.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
            assert "bounds.carrier" in await s.codes("untitled:Untitled-1")
            assert await s.codes("untitled:Untitled.1") == []

    run(story())


@pytest.mark.parametrize(
    ("text", "code"),
    [("pllm 1\n\0", "file.not_text"), ("pllm 1\n# " + "x" * 10_100_000, "file.too_large")],
    ids=["nul", "large"],
)
def test_a_text_that_a_check_would_not_read(tmp_path: Path, text: str, code: str) -> None:
    from pllm_lang.text.limits import MAX_FILE_BYTES

    async def story() -> None:
        async with session(tmp_path, "emacs") as s:
            sized = text if code == "file.not_text" else "pllm 1\n# " + "x" * MAX_FILE_BYTES
            uri = s.open("plan.pllm", sized, on_disk=False)
            assert await s.codes(uri) == [code]

    run(story())


def test_a_configuration_that_cannot_be_read_is_told_once(tmp_path: Path) -> None:
    async def story() -> None:
        (tmp_path / "pllm.toml").write_text("ignore = 3\n")
        async with session(tmp_path, "emacs") as s:
            uri = s.open("plan.pllm", PLAN)
            assert await s.codes(uri) == []
            s.replace(uri, "bits: 32", "bits: 16")
            assert "bounds.carrier" in await s.codes(uri)
            assert len([one for one in s.client.messages if "pllm.toml" in one.message]) == 1

    run(story())
