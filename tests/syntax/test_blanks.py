"""Blanks at the ends of lines mean nothing, in mistakes too: an editor's text has some that its user does not see."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pllm_lang.lsp.buffer import Buffer
from pllm_lang.syntax.parse import parse
from pllm_lang.text.finding import Span
from pllm_lang.text.source import make_source
from tests.syntax.test_reparse import TEXTS, edits


def told(text: str, blanks: int) -> list[Any]:
    """What is said of a text whose lines have so many blanks at their ends, by line and column."""
    buffer = Buffer(text, blanks)

    def place(span: Span) -> Any:
        return buffer.position(span.start), buffer.position(span.end)

    return [
        (
            one.code,
            one.message,
            place(one.span),
            [(place(label.span), label.text) for label in one.labels],
            one.help,
        )
        for one in parse(make_source("t", buffer.text)).findings
    ]


@given(st.sampled_from(TEXTS), st.data())
@settings(max_examples=150, deadline=None)
def test_blanks_change_no_message(path: Path, data: st.DataObject) -> None:
    text = path.read_text(encoding="utf-8")
    for _ in range(data.draw(st.integers(1, 3))):
        text = data.draw(edits(text))
    assert told(text, 48) == told(text, 0)


@pytest.mark.parametrize(
    "text",
    [
        "pllm 1\n\noperator squa\n  structural: true\n  means :y-= x * x\n}\n\noperator turned {F} (x: F[m, n]) -> (y: F[n, m]) {\n"
        "  structural: true\n  means y = transpose(x)\n}\n",
        "plan p {\n  input x: int8[4]\n  repeat i in 0..<3 {\n    y = f(x)\n}\n",
        "plan p {\n  y = f(x\n}\n# the end",
    ],
)
def test_blanks_at_the_end_of_the_text_change_no_message(text: str) -> None:
    assert told(text, 0)
    assert told(text, 48) == told(text, 0)
