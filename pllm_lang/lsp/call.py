"""The call around the cursor, read from the tokens before it: it works in the middle of typing, where no tree does.

In: the text and an offset. Out: which name is called, which piece of its brackets the cursor is in, and how it began.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from pllm_lang.syntax.lexer import lex
from pllm_lang.syntax.parse import tools

_OPEN, _CLOSE = {"(": ")", "[": "]", "{": "}"}, {")", "]", "}"}
MAX_BACK = 20_000
"""Characters before the cursor that are read: no call is longer."""


class Bracket(NamedTuple):
    """An open bracket before the cursor: the word before it, the sign, how many commas since, and the last `name:`."""

    word: str
    sign: str
    commas: int
    named: str
    role: Literal["using", "call"]


class Before(NamedTuple):
    """The words before the cursor on its statement's line, the open brackets around it from the outermost in, and the
    word that is being typed."""

    words: tuple[str, ...]
    brackets: tuple[Bracket, ...]
    typed: str

    @property
    def inner(self) -> Bracket | None:
        return self.brackets[-1] if self.brackets else None


def before(text: str, offset: int) -> Before:
    """What stands before the cursor, from the line on that the innermost bracket's line begins with."""
    start = text.rfind("\n", 0, max(0, offset - MAX_BACK)) + 1 if offset > MAX_BACK else 0
    lexed = lex(tools()[0], text[start:offset])
    if any(at + len(comment) >= offset - start for at, comment in lexed.comments[-1:]):
        return Before((), (), "#")
    words: list[str] = []
    line: list[str] = []
    opened: list[tuple[str, list[str], int, str, int]] = []
    previous_end = 0
    for _, end, word in lexed.tokens:
        if not word:
            continue
        begin = end - len(word)
        at_round = any(sign in "([" for sign, *_ in opened)
        if "\n" in text[start + previous_end : start + begin] and not at_round:
            line = []
        previous_end = end
        if word in _OPEN:
            opened.append((word, list(line), 0, "", len(line)))
        elif word in _CLOSE:
            if opened:
                opened.pop()
        elif opened and opened[-1][0] in "([" and word == ",":
            sign, words_before, commas, _, size = opened[-1]
            opened[-1] = (sign, words_before, commas + 1, "", size)
        elif opened and opened[-1][0] in "([" and word.endswith(":") and word[:-1].strip().isidentifier():
            sign, words_before, commas, _, size = opened[-1]
            opened[-1] = (sign, words_before, commas, word[:-1].strip(), size)
        line.append(word)
    words = line
    typed = words[-1] if words and previous_end == offset - start and _is_word(words[-1]) else ""
    if "\n" in text[start + previous_end : offset] and not any(sign in "([" for sign, *_ in opened):
        words, typed = [], ""
    if typed:
        words = words[:-1]
    return Before(tuple(words), tuple(_bracket(one) for one in opened), typed)


def _is_word(text: str) -> bool:
    return text.isidentifier()


def _bracket(one: tuple[str, list[str], int, str, int]) -> Bracket:
    sign, words, commas, named, _ = one
    word = words[-1] if words and _is_word(words[-1]) else ""
    role: Literal["using", "call"] = "using" if len(words) > 1 and words[-2] == "using" else "call"
    return Bracket(word, sign, commas, named, role)
