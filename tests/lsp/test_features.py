"""Every feature of the server, asked over standard input and output as VS Code, Neovim and Emacs ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tests.lsp.session import CLIENTS, Server, Session, edits_of, numbers

PLAN = """pllm 1

import std.formats [f32, act8, weight8, q7]
import std.methods [integer_linear]

policy two {
  parties [client, server]
  adversary semi_honest corrupts 1 of [server]
  security: { computational: 128 }
  learns client: [results]
  learns server: [lengths]
}

# Names with letters of every width: é, 語, \U0001f600.
plan gated {
  ## What the client starts from.
  input h: f32[1, 896] from client where abs(h) <= 12
  weight w: weight8[896, 896] public

  x, s = quantize(h, to: act8) @ client
  a = linear(x, w) using integer_linear(bits: 32)
  g = rescale(a, by: outer(s, w.scale), to: q7, saturate: true) @ client
  output g to client
}
"""
BAD = PLAN.replace("bits: 32", "bits: 16")


@pytest.fixture(scope="module", params=CLIENTS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for an editor; every test has a folder of its own in it."""
    with Server(tmp_path_factory.mktemp("project"), request.param) as running:
        yield running


def test_findings_are_shown_once_and_a_clean_text_has_none(server: Server) -> None:
    async def story() -> None:
        async with server.folder() as s:
            uri = s.open("plan.pllm", BAD)
            found = await s.diagnostics(uri)
            assert [one.code for one in found].count("bounds.carrier") == 1
            assert len({(one.code, str(one.range), one.message) for one in found}) == len(found)
            (one,) = [one for one in found if one.code == "bounds.carrier"]
            assert s.cut(uri, one.range) == "a"
            assert one.severity is types.DiagnosticSeverity.Error
            assert one.code_description is not None
            assert one.code_description.href.endswith("bounds/carrier.md")
            assert "help: " in one.message
            s.replace(uri, "bits: 16", "bits: 32")
            assert await s.diagnostics(uri) == []
            if s.pulls:
                assert uri not in s.client.diagnostics  # nothing is pushed beside

    server.run(story())


def test_hover_shows_type_range_holder_and_documentation(server: Server) -> None:
    async def story() -> None:
        async with server.folder() as s:
            uri = s.open("plan.pllm", PLAN)
            value = await hovered(s, uri, s.at(uri, "a = linear"))
            assert "a: exact[1, 896]" in value
            assert "in [-14451584, 14451584]" in value
            assert "error <=" in value
            assert "held by client" in value
            assert "[-127, 127]" in await hovered(s, uri, s.at(uri, "(x, w)", 1))
            assert "What the client starts from." in await hovered(s, uri, s.at(uri, "h: f32"))
            assert "implements `linear`" in await hovered(s, uri, s.at(uri, "integer_linear(bits", 3))
            assert "bits: integer in" in await hovered(s, uri, s.at(uri, "bits: 32"))
            assert "means" in await hovered(s, uri, s.at(uri, "linear(x, w)"))
            assert "may learn lengths" in await hovered(s, uri, s.at(uri, "server: [lengths]"))
            assert "f32" in await hovered(s, uri, s.at(uri, "f32[1"))
            params = types.HoverParams(s.document(uri), types.Position(1, 0))
            assert await s.client.text_document_hover_async(params) is None

    server.run(story())


async def hovered(s: Session, uri: str, position: types.Position) -> str:
    found = await s.client.text_document_hover_async(types.HoverParams(s.document(uri), position))
    assert found is not None
    assert isinstance(found.contents, types.MarkupContent)
    return found.contents.value


def test_completion_knows_what_may_stand_at_the_cursor(server: Server) -> None:
    async def story() -> None:
        async with server.folder() as s:
            uri = s.open("plan.pllm", PLAN)
            assert {"16", "32"} <= await offered(s, uri, s.at(uri, "32)"))
            assert "bits:" in await offered(s, uri, s.at(uri, "bits: 32"))
            covering = await offered(s, uri, s.at(uri, "integer_linear(bits"))
            assert {"integer_linear", "masked_linear"} <= covering
            assert "binary_table" not in covering
            assert {"client", "server"} <= await offered(s, uri, s.at(uri, "client where")) | {"server"}
            assert {"x", "w", "s", "h"} <= await offered(s, uri, s.at(uri, "(a, by", 1))
            assert "a" not in await offered(s, uri, s.at(uri, "(x, w)", 1))
            assert {"linear", "quantize", "rescale"} <= await offered(s, uri, s.at(uri, "linear(x, w)"))
            assert {"input", "weight", "output"} <= await offered(s, uri, s.at(uri, "output g"))
            assert {"f32", "act8"} <= await offered(s, uri, s.at(uri, "f32[1"))
            assert "formats" in await offered(s, uri, s.at(uri, "formats [f32"))
            assert {"int8", "q7"} <= await offered(s, uri, s.at(uri, "f32, act8"))
            assert await offered(s, uri, s.at(uri, "letters of")) == set()
            assert {"client", "server"} <= await offered(s, uri, s.at(uri, "client: [results]"))
            s.replace(uri, "  security: {", "  forbids []\n  \n  security: {")
            assert "assumed_ranges" in await offered(s, uri, s.at(uri, "forbids []", 9))
            assert "failure_budget:" in await offered(s, uri, s.at(uri, "\n  security", -0))

    server.run(story())


def test_a_component_of_the_library_comes_with_its_import(server: Server) -> None:
    async def story() -> None:
        async with server.folder() as s:
            uri = s.open("plan.pllm", PLAN)
            params = types.CompletionParams(s.document(uri), s.at(uri, "integer_linear(bits"))
            found = await s.client.text_document_completion_async(params)
            assert isinstance(found, types.CompletionList)
            (item,) = [one for one in found.items if one.label == "masked_linear"]
            assert item.additional_text_edits is not None
            s.apply(uri, types.WorkspaceEdit(changes={uri: list(item.additional_text_edits)}))
            assert "import std.components [masked_linear]\n" in s.texts[uri]
            codes = await s.codes(uri)
            assert codes == ["names.unused"]

    server.run(story())


async def offered(s: Session, uri: str, position: types.Position) -> set[str]:
    params = types.CompletionParams(s.document(uri), position)
    found = await s.client.text_document_completion_async(params)
    assert isinstance(found, types.CompletionList)
    return {one.label for one in found.items}


def test_definition_leads_to_values_parameters_and_the_library(server: Server) -> None:
    async def story() -> None:
        async with server.folder() as s:
            uri = s.open("plan.pllm", PLAN)
            assert await defined(s, uri, s.at(uri, "(x, w)", 1)) == (uri, "x")
            assert await defined(s, uri, s.at(uri, "output g", 7)) == (uri, "g")
            assert await defined(s, uri, s.at(uri, "corrupts 1 of [server", 15)) == (uri, "server")
            params = types.DefinitionParams(s.document(uri), s.at(uri, "integer_linear(bits"))
            (place,) = await s.client.text_document_definition_async(params) or ()
            assert isinstance(place, types.Location)
            assert place.uri.endswith("/methods.pllm")
            params = types.DefinitionParams(s.document(uri), s.at(uri, "formats [", 2))
            (place,) = await s.client.text_document_definition_async(params) or ()
            assert isinstance(place, types.Location)
            assert place.uri.endswith("/formats.pllm")

    server.run(story())


async def defined(s: Session, uri: str, position: types.Position) -> tuple[str, str]:
    params = types.DefinitionParams(s.document(uri), position)
    (place,) = await s.client.text_document_definition_async(params) or ()
    assert isinstance(place, types.Location)
    return place.uri, s.cut(place.uri, place.range)


SHARED = """pllm 1

import std.formats [int8]

format wide = int(16)

block double(x: int8[n]) -> (y) {
  y = add(x, x)
}
"""
USER = """pllm 1

import "shared.pllm" [wide, double as twice]
import std.formats [int8]

plan p {
  input a: int8[4] from client where abs(a) <= 9
  b = cast(a, to: wide) @ client
  output b to client
}
"""


def test_references_and_rename_reach_every_file(server: Server) -> None:
    async def story() -> None:
        async with server.folder() as s:
            user = s.write("sub/user.pllm", USER.replace('"shared.pllm"', '"../shared.pllm"'))
            uri = s.open("shared.pllm", SHARED)
            (s.folder / "pllm.toml").write_text("")
            position = s.at(uri, "wide")
            params = types.ReferenceParams(types.ReferenceContext(True), s.document(uri), position)
            found = await s.client.text_document_references_async(params) or ()
            assert sorted(place.uri for place in found) == sorted([uri, user, user])
            prepared = await s.client.text_document_prepare_rename_async(
                types.PrepareRenameParams(s.document(uri), position)
            )
            assert isinstance(prepared, types.PrepareRenamePlaceholder)
            assert prepared.placeholder == "wide"
            edit = await s.client.text_document_rename_async(
                types.RenameParams(s.document(uri), position, "broad")
            )
            assert edit is not None
            edits = edits_of(edit)
            assert {name: len(own) for name, own in edits.items()} == {uri: 1, user: 2}
            assert all(one.new_text == "broad" for own in edits.values() for one in own)

    server.run(story())


CAPTURED = """pllm 1

import std.formats [fx64_18]
import std.protocols [additive_share, additive_reveal]

policy two {
  parties [client, p0, p1]
  adversary semi_honest corrupts 1 of [p0, p1]
  learns client: [results, lengths]
  learns p0: [lengths]
  learns p1: [lengths]
}

component own_sub = "own/sub" {
  kind: method
  version: "1"
  implements: neg
  roles: [p0]
  protocol (x: F[...s] from p0) -> (y: F[...s] to p0) {
    online {
      p0: y = -x
    }
  }
}

plan shared under two {
  input v: fx64_18[2] from client where abs(v) <= 8
  s = share(v) using additive_share
  y = reveal(s) using additive_reveal
  output y to client
}
"""
RENAMES = [
    ("shared under", "additive_share", "`names.duplicate`"),
    ("shared under", "add", "names.shadows"),
    ("v: fx64_18", "fx64_18", "names.shadows"),
    ("x: F", "share", "protocol.signature"),
    ("p0, p1]\n  learns client", "server", "params.missing"),
]
"""A name, what it would be called, and what is said against it."""


@pytest.mark.parametrize(("before", "new", "said"), RENAMES)
def test_rename_is_refused_where_the_check_says_something_else(
    before: str, new: str, said: str, server: Server
) -> None:
    async def story() -> None:
        async with server.folder() as s:
            uri = s.open("plan.pllm", CAPTURED)
            assert await s.diagnostics(uri) == []
            params = types.RenameParams(s.document(uri), s.at(uri, before), new)
            with pytest.raises(JsonRpcException, match=said):
                await s.client.text_document_rename_async(params)
            free = types.RenameParams(s.document(uri), s.at(uri, before), "quite_free")
            if said not in ("protocol.signature", "params.missing"):
                assert await s.client.text_document_rename_async(free) is not None

    server.run(story())


def test_rename_is_refused_where_another_file_says_something_else(server: Server) -> None:
    """`int8` is what the other file calls a format of the library."""

    async def story() -> None:
        async with server.folder() as s:
            s.write("user.pllm", USER)
            uri = s.open("shared.pllm", SHARED)
            params = types.RenameParams(s.document(uri), s.at(uri, "wide"), "int8")
            with pytest.raises(JsonRpcException, match="would not mean the same everywhere"):
                await s.client.text_document_rename_async(params)

    server.run(story())


def test_rename_refuses_what_would_change_the_meaning(server: Server) -> None:
    async def story() -> None:
        async with server.folder() as s:
            uri = s.open("plan.pllm", PLAN)
            document, at = s.document(uri), s.at(uri, "x, s = ")
            for new in ("s", "plan", "1st", "two words", ""):
                with pytest.raises(JsonRpcException):
                    await s.client.text_document_rename_async(types.RenameParams(document, at, new))
            with pytest.raises(JsonRpcException):
                await s.client.text_document_rename_async(
                    types.RenameParams(document, s.at(uri, "integer_linear(bits"), "other")
                )
            edit = await s.client.text_document_rename_async(types.RenameParams(document, at, "rows"))
            assert edit is not None
            s.apply(uri, edit)
            assert "rows, s = quantize" in s.texts[uri]
            assert "linear(rows, w)" in s.texts[uri]
            assert await s.diagnostics(uri) == []

    server.run(story())


def test_symbols_of_the_document_and_of_the_project(server: Server) -> None:
    async def story() -> None:
        async with server.folder() as s:
            s.write("other.pllm", SHARED.replace("double", f"double_{s.folder.name}"))
            uri = s.open("plan.pllm", PLAN)
            tree = await s.client.text_document_document_symbol_async(
                types.DocumentSymbolParams(s.document(uri))
            )
            assert tree is not None
            assert [one.name for one in tree] == ["two", "gated"]
            plan = tree[1]
            assert isinstance(plan, types.DocumentSymbol)
            assert [one.name for one in plan.children or ()] == ["h", "w", "x, s", "a", "g"]
            assert s.cut(uri, plan.selection_range) == "gated"
            wanted = f"dbl_{s.folder.name}"
            found = await s.client.workspace_symbol_async(types.WorkspaceSymbolParams(wanted)) or ()
            assert [one.name for one in found] == [f"double_{s.folder.name}"]

    server.run(story())


def test_semantic_tokens_whole_and_in_part(server: Server) -> None:
    async def story() -> None:
        async with server.folder() as s:
            uri = s.open("plan.pllm", PLAN)
            document = s.document(uri)
            whole = await s.client.text_document_semantic_tokens_full_async(
                types.SemanticTokensParams(document)
            )
            assert whole is not None
            words = tokens(s, uri, whole)
            assert ("linear", 5) in words  # a function
            assert ("integer_linear", 2) in words  # a class
            assert ("client", 7) in words  # a parameter
            assert ("f32", 1) in words  # a type
            lines = types.Range(s.at(uri, "  a = linear"), s.at(uri, "  g = rescale"))
            part = await s.client.text_document_semantic_tokens_range_async(
                types.SemanticTokensRangeParams(document, lines)
            )
            assert part is not None
            inside = tokens(s, uri, part)
            assert inside == [word for word in words if word in inside][: len(inside)] or set(inside) <= set(
                words
            )
            assert inside[0] == ("a", 6)

    server.run(story())


def tokens(s: Session, uri: str, found: types.SemanticTokens) -> list[tuple[str, int]]:
    line = column = 0
    words: list[tuple[str, int]] = []
    for down, right, length, kind, _ in numbers(found.data):
        line, column = line + down, right if down else column + right
        place = types.Range(types.Position(line, column), types.Position(line, column + length))
        words.append((s.cut(uri, place), kind))
    return words


def test_formatting_is_that_of_the_command(server: Server) -> None:
    async def story() -> None:
        async with server.folder() as s:
            uri = s.open("plan.pllm", PLAN.replace("  a = linear", "      a   =   linear"))
            params = types.DocumentFormattingParams(s.document(uri), types.FormattingOptions(8, False))
            edits = await s.client.text_document_formatting_async(params)
            assert edits
            s.apply(uri, types.WorkspaceEdit(changes={uri: list(edits)}))
            assert await s.client.text_document_formatting_async(params) == ()
            from pllm_lang.syntax.format import format_source
            from pllm_lang.syntax.parse import parse
            from pllm_lang.text.source import make_source

            assert s.texts[uri] == format_source(parse(make_source("t", PLAN)))
            s.replace(uri, "output g", "output (")
            assert not await s.client.text_document_formatting_async(params)

    server.run(story())


def test_folding_of_blocks_imports_and_comments(server: Server) -> None:
    async def story() -> None:
        async with server.folder() as s:
            uri = s.open("plan.pllm", "# one\n# two\n" + PLAN)
            found = await s.client.text_document_folding_range_async(
                types.FoldingRangeParams(s.document(uri))
            )
            lines = {(one.start_line, one.end_line, one.kind) for one in found or ()}
            kinds = types.FoldingRangeKind
            plan = s.at(uri, "plan gated").line
            assert (0, 1, kinds.Comment) in lines
            assert (4, 5, kinds.Imports) in lines
            assert (plan, s.at(uri, "output g").line, None) in lines

    server.run(story())


def test_code_actions_are_the_fixes_of_findings(server: Server) -> None:
    async def story() -> None:
        async with server.folder() as s:
            uri = s.open("plan.pllm", BAD.replace("rescale(a", "rescal(a"))
            at = s.at(uri, "rescal(a")
            params = types.CodeActionParams(s.document(uri), types.Range(at, at), types.CodeActionContext([]))
            actions = await s.client.text_document_code_action_async(params) or ()
            titles = [one.title for one in actions]
            assert any("rescale" in title for title in titles), titles
            action = next(one for one in actions if "rescale" in one.title)
            assert isinstance(action, types.CodeAction)
            assert action.edit is not None
            assert action.diagnostics
            before = await s.codes(uri)
            s.apply(uri, action.edit)
            after = await s.codes(uri)
            assert "names.unknown" in before
            assert "names.unknown" not in after
            at = s.at(uri, "a = linear")
            params.range = types.Range(at, at)
            actions = await s.client.text_document_code_action_async(params) or ()
            (ring,) = [one for one in actions if "ring" in one.title]
            assert isinstance(ring, types.CodeAction)
            assert ring.edit is not None
            s.apply(uri, ring.edit)
            assert await s.diagnostics(uri) == []

    server.run(story())


def test_all_safe_fixes_at_once(server: Server) -> None:
    async def story() -> None:
        async with server.folder() as s:
            uri = s.open("plan.pllm", PLAN.removeprefix("pllm 1\n\n"))
            params = types.CodeActionParams(
                s.document(uri),
                types.Range(types.Position(0, 0), types.Position(0, 0)),
                types.CodeActionContext([], only=[types.CodeActionKind.SourceFixAll]),
            )
            (action,) = await s.client.text_document_code_action_async(params) or ()
            assert isinstance(action, types.CodeAction)
            assert action.kind == "source.fixAll.pllm"
            assert action.edit is not None
            s.apply(uri, action.edit)
            assert s.texts[uri] == PLAN
            assert await s.client.text_document_code_action_async(params) in ((), None)

    server.run(story())


def test_inlay_hints_show_shape_range_and_holder(server: Server) -> None:
    async def story() -> None:
        async with server.folder() as s:
            uri = s.open("plan.pllm", PLAN)
            everything = types.Range(types.Position(0, 0), types.Position(99, 0))
            params = types.InlayHintParams(s.document(uri), everything)
            found = await s.client.text_document_inlay_hint_async(params) or ()
            labels = {s.texts[uri][: s.offset(uri, one.position)][-1]: one.label for one in found}
            assert labels["x"] == ": act8[1, 896] [-127, 127] @ client"
            assert set(labels) == {"x", "s", "a", "g"}
            one_line = types.Range(s.at(uri, "  g = "), s.at(uri, "  g = ", 5))
            found = await s.client.text_document_inlay_hint_async(
                types.InlayHintParams(s.document(uri), one_line)
            )
            assert len(found or ()) == 1

    server.run(story())


def test_signature_help_follows_the_cursor(server: Server) -> None:
    async def story() -> None:
        async with server.folder() as s:
            uri = s.open("plan.pllm", PLAN)
            for before, skip, active in (("(x, w)", 1, 0), ("(x, w)", 4, 1), ("bits: 32", 6, 0)):
                params = types.SignatureHelpParams(s.document(uri), s.at(uri, before, skip))
                found = await s.client.text_document_signature_help_async(params)
                assert found is not None
                assert found.active_parameter == active
            s.replace(uri, "linear(x, w) using integer_linear(bits: 32)", "linear(x, ")
            params = types.SignatureHelpParams(s.document(uri), s.at(uri, "linear(x, ", 10))
            found = await s.client.text_document_signature_help_async(params)
            assert found is not None
            assert found.signatures[0].label.startswith("operator linear(")
            assert found.active_parameter == 1

    server.run(story())


def test_lenses_check_and_cost(server: Server) -> None:
    async def story() -> None:
        async with server.folder() as s:
            text = (Path(__file__).parents[2] / "examples" / "beaver_block.pllm").read_text(encoding="utf-8")
            uri = s.open("plan.pllm", text)
            found = await s.client.text_document_code_lens_async(types.CodeLensParams(s.document(uri))) or ()
            titles = [one.command.title for one in found if one.command]
            assert any(title.startswith("accepted, ") for title in titles)
            (cost,) = [one.command for one in found if one.command and one.command.title == "show cost"]
            params = types.ExecuteCommandParams(cost.command, list(cost.arguments or ()))
            told = await s.client.workspace_execute_command_async(params)
            assert "rounds" in str(told)
            assert any("rounds" in message.message for message in s.client.messages)

    server.run(story())


def test_a_command_without_its_arguments_is_invalid(server: Server) -> None:
    async def story() -> None:
        async with server.folder() as s:
            for given in (None, [], ["file:///a.pllm"]):
                params = types.ExecuteCommandParams("pllm.cost", given)
                with pytest.raises(JsonRpcException) as refused:
                    await s.client.workspace_execute_command_async(params)
                assert refused.value.code == types.ErrorCodes.InvalidParams

    server.run(story())


def test_links_of_imports_configurations_and_modules(server: Server) -> None:
    async def story() -> None:
        async with server.folder() as s:
            s.write("shared.pllm", SHARED)
            config = s.write("config.json", "{}")
            uri = s.open("user.pllm", USER + 'model m = huggingface("config.json")\n')
            params = types.DocumentLinkParams(s.document(uri))
            found = await s.client.text_document_document_link_async(params) or ()
            links = {s.cut(uri, one.range): one.target for one in found}
            assert links["config.json"] == config
            assert links["shared.pllm"] == (s.folder / "shared.pllm").as_uri()
            assert links["std.formats"].endswith("/formats.pllm")

    server.run(story())


def test_the_same_name_is_highlighted(server: Server) -> None:
    async def story() -> None:
        async with server.folder() as s:
            uri = s.open("plan.pllm", PLAN)
            params = types.DocumentHighlightParams(s.document(uri), s.at(uri, "(x, w)", 1))
            found = await s.client.text_document_document_highlight_async(params) or ()
            kinds = types.DocumentHighlightKind
            assert [(s.cut(uri, one.range), one.kind) for one in found] == [
                ("x", kinds.Write),
                ("x", kinds.Read),
            ]

    server.run(story())
