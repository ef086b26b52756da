"""Colours for documentation: a Pygments lexer that gives the tokens of this package's own lexer.

Keywords, signs and the shapes of numbers and names come from the parse table, so the colours cannot fall behind the grammar.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from pygments.lexer import Lexer
from pygments.token import (
    Comment,
    Error,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Whitespace,
    _TokenType,  # pyright: ignore[reportPrivateUsage] - the only type of tokens there is
)

from pllm_lang.syntax.lexer import lex
from pllm_lang.syntax.parse import tools
from pllm_lang.syntax.table import END_KIND

Token = tuple[int, _TokenType, str]

_PATTERNS: dict[str, _TokenType] = {
    "NUMBER": Number,
    "QUANTITY": Number,
    "STRING": String.Double,
    "NAME": Name,
    "COMPARE": Operator,
    "PLUSMINUS": Operator,
    "TIMES": Operator,
}
_BRACKETS = frozenset("()[]{},:.")


class PllmLexer(Lexer):
    """Every character of a text that the language knows is coloured; what it does not know is an Error token."""

    name = "pllm"
    url = "https://github.com/pllm-lang/pllm-lang"
    aliases: ClassVar[Sequence[str]] = ["pllm"]
    filenames: ClassVar[Sequence[str]] = ["*.pllm"]
    mimetypes: ClassVar[Sequence[str]] = ["text/x-pllm"]
    version_added = ""

    def get_tokens_unprocessed(self, text: str) -> Iterator[Token]:
        """(offset, kind, text) of everything, white space and comments too."""
        at = 0
        for start, kind, shown in _coloured(text):
            if start > at:
                yield at, Whitespace, text[at:start]
            yield start, kind, shown
            at = start + len(shown)
        if at < len(text):
            yield at, Whitespace, text[at:]


def _coloured(text: str) -> Iterator[Token]:
    """Tokens and comments in order, without white space."""
    lexer, machine = tools()
    lexed = lex(lexer, text)
    tokens = [(end - len(shown), kind, shown) for kind, end, shown in lexed.tokens if kind != END_KIND]
    names = machine.table.terminals
    comments = iter([*lexed.comments, (len(text) + 1, "")])
    comment = next(comments)
    for index, (start, kind, shown) in enumerate(tokens):
        while comment[0] < start:
            yield comment[0], Comment.Special if comment[1].startswith("##") else Comment, comment[1]
            comment = next(comments)
        following = tokens[index + 1][2] if index + 1 < len(tokens) else ""
        name = names[kind] if kind < len(names) else ""
        yield from _split(start, name, shown, following)
    while comment[1]:
        yield comment[0], Comment.Special if comment[1].startswith("##") else Comment, comment[1]
        comment = next(comments)


def _split(start: int, name: str, shown: str, following: str) -> Iterator[Token]:
    """The token of a terminal; a field's name and its colon are two."""
    if name == "FIELD":
        yield start, Name.Attribute, shown[:-1]
        yield start + len(shown) - 1, Punctuation, ":"
    elif name == "NAME" and following == "(":
        yield start, Name.Function, shown
    elif name in _PATTERNS:
        yield start, _PATTERNS[name], shown
    elif not name:
        yield start, Error, shown
    elif shown.isidentifier():
        yield start, Keyword, shown
    else:
        yield start, Punctuation if shown in _BRACKETS else Operator, shown
