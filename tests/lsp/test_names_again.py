"""Whatever was typed, colours, symbols and names are those of the same text just opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types

from pllm_lang.cli.editing import Editing
from pllm_lang.lsp import names_again as module
from pllm_lang.lsp import pointing
from pllm_lang.lsp.buffer import Buffer, Position, Units
from pllm_lang.lsp.documents import Documents
from pllm_lang.lsp.features import folding, semantic_tokens, symbols
from pllm_lang.lsp.names import occurrences
from pllm_lang.lsp.view import View
from tests.lsp.test_same_as_check import CORPUS, EXAMPLES, PIECES

TEXT = types.TextDocumentIdentifier("")
NESTED = types.ClientCapabilities(
    text_document=types.TextDocumentClientCapabilities(
        document_symbol=types.DocumentSymbolClientCapabilities(hierarchical_document_symbol_support=True)
    )
)


class Open:
    """A document in an editor, without the protocol."""

    def __init__(self, path: Path, text: str, units: Units) -> None:
        self.documents = Documents(Editing)
        self.documents.units = units
        self.document = self.documents.open(path.as_uri(), text, 1)

    @property
    def buffer(self) -> Buffer:
        return self.document.buffer

    def view(self) -> View:
        self.documents.touch(self.document)
        opened = self.documents.checker.opened(self.documents.asked(self.document))
        return View(self.documents, self.document, opened, None, NESTED)

    def answers(self) -> tuple[Any, ...]:
        view = self.view()
        return (
            semantic_tokens.full(view, types.SemanticTokensParams(TEXT)),
            symbols.answer(view, types.DocumentSymbolParams(TEXT)),
            folding.answer(view, types.FoldingRangeParams(TEXT)),
        )


@given(st.sampled_from([*EXAMPLES, *CORPUS]), st.sampled_from(["utf-8", "utf-16", "utf-32"]), st.data())
@settings(max_examples=60, deadline=None)
def test_answers_after_edits_are_those_of_the_text_just_opened(
    path: Path, units: Units, data: st.DataObject
) -> None:
    edited = Open(path.parent / f"edited_{path.name}", path.read_bytes().decode("utf-8", "replace"), units)
    undone: list[str] = []
    for _ in range(5):
        buffer = edited.buffer
        if undone and data.draw(st.integers(0, 3)) == 0:
            buffer.replace(undone.pop())
        else:
            undone.append(buffer.real)
            line = data.draw(st.integers(0, len(buffer.lines) - 1))
            column = data.draw(st.integers(0, len(buffer.lines[line].content) + 1))
            end = Position(line + data.draw(st.sampled_from([0, 0, 0, 1])), column + 1)
            new = data.draw(st.sampled_from(PIECES) | st.just(""))
            buffer.edit(Position(line, column), max(end, Position(line, column)), new)
        again = edited.answers()
        assert again == Open(path.parent / f"edited_{path.name}", buffer.real, units).answers()
        view = edited.view()
        if view.opened.module is not None:
            assert pointing.names(view) == occurrences(view.opened.module, view.opened.library)


@given(st.text("ab é\U0001f600\r\n"), st.sampled_from(["utf-8", "utf-16", "utf-32"]), st.data())
def test_places_of_many_are_the_places_of_each(text: str, units: Units, data: st.DataObject) -> None:
    buffer = Buffer(text, data.draw(st.integers(0, 3)), units)
    size = st.integers(0, len(buffer.text))
    stretches = sorted((min(pair), max(pair)) for pair in data.draw(st.lists(st.tuples(size, size))))
    for (start, end), found in zip(stretches, buffer.on_lines(stretches), strict=True):
        first, last = buffer.position(start), buffer.position(end)
        if first.line == last.line:
            assert found == (first.line, first.column, last.column)
        else:
            assert found[0] == -1


MOST = 7
"""The changed statement, the one that reads its value, and those that the parse reads beside a change (`syntax/reuse.py`)."""


def test_statements_that_nothing_changed_are_not_looked_through_again(monkeypatch: Any) -> None:
    steps = "".join(f"  y{i + 1} = reshape(y{i}, shape: [4])\n" for i in range(500))
    text = f"pllm 1\n\nplan p {{\n  input y0: int8[4] from client\n{steps}  output y500 to client\n}}\n"
    looked: list[object] = []
    again = module._Again._looked  # pyright: ignore[reportPrivateUsage]

    def noted(self: Any, stmt: Any) -> Any:
        looked.append(stmt)
        return again(self, stmt)

    monkeypatch.setattr(module._Again, "_looked", noted)  # pyright: ignore[reportPrivateUsage]
    opened = Open(EXAMPLES[0].parent / "long.pllm", text, "utf-16")
    opened.answers()
    assert len(looked) == 502
    looked.clear()
    opened.buffer.edit(Position(200, 9), Position(200, 9), "d")
    opened.answers()
    assert len(looked) <= MOST
    looked.clear()
    opened.buffer.edit(Position(200, 2), Position(200, 3), "z")
    opened.answers()
    assert len(looked) <= MOST
