"""Random edits sent to the real server: it never fails, and ends with what a fresh check of the final text says."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from lsprotocol import types

from pllm_lang.lsp.buffer import Buffer, Position, Units
from tests.lsp.session import CLIENTS, Session, run, session
from tests.lsp.test_same_as_check import EXAMPLES, PIECES, fresh

UNITS: dict[str, Units] = {"utf-8": "utf-8", "utf-16": "utf-16", "utf-32": "utf-32"}


@pytest.mark.parametrize("editor", CLIENTS)
def test_random_edits_end_with_what_a_fresh_check_says(tmp_path: Path, editor: str) -> None:
    async def story() -> None:
        async with session(tmp_path, editor) as s:
            chosen = random.Random(editor)
            for round_ in range(3):
                text = chosen.choice(EXAMPLES).read_text(encoding="utf-8")
                uri = s.open(f"plan{round_}.pllm", text)
                model = Buffer(text, 0, UNITS[s.encoding])
                for _ in range(25):
                    edit(s, uri, model, chosen)
                found = await s.diagnostics(uri)
                path = str(tmp_path / f"plan{round_}.pllm")
                said = sorted(
                    (str(one.code), one.range.start.line, one.range.start.character) for one in found
                )
                assert said == sorted(places(path, model))
            assert not [one for one in s.client.messages if "failed" in one.message]

    run(story())


def edit(s: Session, uri: str, model: Buffer, chosen: random.Random) -> None:
    """One to three changes in one message, as multiple cursors make them; sometimes the whole text."""
    changes: list[types.TextDocumentContentChangeEvent] = []
    for _ in range(chosen.choice((1, 1, 1, 3))):
        line = chosen.randrange(len(model.lines))
        column = chosen.randrange(len(model.lines[line].content) + 2)
        start, end = Position(line, column), Position(line, column + chosen.choice((0, 0, 1, 4)))
        new = chosen.choice(PIECES)
        model.edit(start, end, new)
        where = types.Range(types.Position(*start), types.Position(*end))
        changes.append(types.TextDocumentContentChangePartial(range=where, text=new))
    if chosen.random() < 0.05:
        changes.append(types.TextDocumentContentChangeWholeDocument(model.real))
    s.texts[uri] = model.real
    s.versions[uri] += 1
    name = types.VersionedTextDocumentIdentifier(version=s.versions[uri], uri=uri)
    s.client.text_document_did_change(types.DidChangeTextDocumentParams(name, changes))


def places(path: str, model: Buffer) -> list[tuple[str, int, int]]:
    """Code and place of the findings of a fresh check of the plain text."""
    plain = Buffer(model.real, 0, model.units)
    return [
        (one.code, *plain.position(one.span.start))
        for one in fresh(path, model.real)
        if one.span.file == path
    ]
