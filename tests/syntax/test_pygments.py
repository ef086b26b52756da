"""The Pygments lexer: our own tokens, on every text that we have, and found by its entry point."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygments.token import Comment, Error, Keyword, Whitespace

from pllm_lang.syntax.lexer import lex
from pllm_lang.syntax.parse import parse, tools
from pllm_lang.syntax.print_expr import print_expr
from pllm_lang.syntax.pygments_lexer import PllmLexer
from pllm_lang.text.source import make_source
from tests.corpus_harness import corpus_files
from tests.strategies.syntax import exprs

ROOT = Path(__file__).parents[2]
TEXTS = [
    *sorted((ROOT / "stdlib").glob("*.pllm")),
    *sorted((ROOT / "examples").rglob("*.pllm")),
    *corpus_files(),
]


def own_tokens(text: str) -> list[str]:
    lexed = lex(tools()[0], text)
    return [token for _, _, token in lexed.tokens if token]


def coloured(text: str) -> list[tuple[object, str]]:
    return [(kind, shown) for _, kind, shown in PllmLexer().get_tokens_unprocessed(text)]


def without_layout(tokens: list[tuple[object, str]]) -> str:
    return "\n".join(
        shown
        for kind, shown in tokens
        if kind not in Comment and kind is not Whitespace  # type: ignore[operator]
    ).replace("\n:", ":")


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_same_tokens_and_no_error(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    found = coloured(text)
    assert "".join(shown for _, shown in found) == text
    if not any(finding.code.startswith("syntax.") for finding in parse(make_source("t", text)).findings):
        assert not [shown for kind, shown in found if kind is Error]
    assert without_layout(found) == "\n".join(own_tokens(text)).replace("\n:", ":")
    comments = [shown for kind, shown in found if kind in Comment]  # type: ignore[operator]
    assert comments == [comment for _, comment in parse(make_source("t", text)).comments]


@given(st.text())
def test_any_text_is_covered(text: str) -> None:
    places = 0
    for start, _, shown in PllmLexer().get_tokens_unprocessed(text):
        assert start == places
        places += len(shown)
    assert places == len(text)


@given(exprs)
def test_expressions_have_no_error(expr: object) -> None:
    text = print_expr(expr)  # type: ignore[arg-type]
    assert Error not in {kind for kind, _ in coloured(text)}


def test_keywords_are_those_of_the_grammar() -> None:
    words = [word for word in tools()[1].table.literals if word.isidentifier()]
    assert words
    assert all((Keyword, word) in coloured(word) for word in words)


def test_what_is_not_of_the_language_is_an_error() -> None:
    assert (Error, ";") in coloured("x = 3;")


def test_it_is_registered() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from pygments.lexers import get_lexer_by_name as f; print(f('pllm').name)"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == "pllm\n", done.stderr
