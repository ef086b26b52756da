"""From text to tokens, with one regular expression made from the parse table.

In: text. Out: `Lexed`: tokens (kind, end, text) without white space, and comments (start, text). Every
character is covered: one that begins no token becomes a token of kind BAD, which no parser state accepts.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import NamedTuple

from pllm_lang.syntax.machine import Lexeme
from pllm_lang.syntax.table import END_KIND, Table
from pllm_lang.text.limits import MAX_STRING_CHARACTERS, MAX_WORD_CHARACTERS

_SPACE = -1
_COMMENT = -2


class Lexed(NamedTuple):
    """`tokens` ends with one of kind END_KIND and empty text."""

    tokens: list[Lexeme]
    comments: list[tuple[int, str]]


class Lexer(NamedTuple):
    pattern: re.Pattern[str]
    kinds: _Kinds
    bad: int


class _Kinds(dict[str, int]):
    """The kind of a token's text; texts seen once are looked up from then on."""

    def __init__(self, table: Table) -> None:
        super().__init__(table.literals)
        names = table.terminals
        self.bad = len(names)
        self.patterns = [(re.compile(regexp).fullmatch, names.index(name)) for name, regexp in table.patterns]

    def __missing__(self, text: str) -> int:
        kind = self._classify(text)
        if len(text) < 32 and len(self) < 10_000:
            self[text] = kind
        return kind

    def _classify(self, text: str) -> int:
        first = text[0]
        if first in " \t\r\n":
            return _SPACE
        if first == "#":
            return _COMMENT
        if len(text) > (MAX_STRING_CHARACTERS if first == '"' else MAX_WORD_CHARACTERS):
            return self.bad
        for fullmatch, kind in self.patterns:
            if fullmatch(text):
                return kind
        return self.bad


def make_lexer(table: Table) -> Lexer:
    signs = [text for text in table.literals if not text.isidentifier()]
    long = [re.escape(sign) for sign in sorted(signs, key=len, reverse=True) if len(sign) > 1]
    short = [re.escape(sign) for sign in signs if len(sign) == 1]
    regexps = [regexp for _, regexp in table.patterns]
    # A string that is not closed takes the rest of its line; any other stray character stands alone.
    alternatives = [r"[ \t\r\n]+", r"#[^\n]*", *long, *regexps, *short, r'"[^\n]*', r"(?s:.)"]
    return Lexer(re.compile("|".join(alternatives)), _Kinds(table), len(table.terminals))


def lex(lexer: Lexer, text: str, start: int = 0, stop: int | None = None) -> Lexed:
    """The tokens of `text[start:stop]`; their ends are offsets into `text`."""
    stop = len(text) if stop is None else stop
    texts = lexer.pattern.findall(text, start, stop)
    kinds = lexer.kinds
    spans = list(
        zip([kinds[t] for t in texts], accumulate(map(len, texts), initial=start), texts, strict=False)
    )
    tokens = [(kind, at + len(t), t) for kind, at, t in spans if kind >= 0]
    tokens.append((END_KIND, stop, ""))
    return Lexed(tokens, [(at, t) for kind, at, t in spans if kind == _COMMENT])
