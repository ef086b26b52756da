"""After an edit: the tokens of the lines of text that changed, between those of the others.

In: the old text with its tokens, and the new text. Out: exactly what `lex` would give for the new text, and which of its
tokens are new. No token and no comment goes on behind the end of its line, so lines are read one by one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import NamedTuple

from pllm_lang.syntax.lexer import Lexed, Lexer, lex
from pllm_lang.syntax.machine import Lexeme
from pllm_lang.syntax.table import END_KIND


class Change(NamedTuple):
    """`length` new characters stand for `old[start:end]`."""

    start: int
    end: int
    length: int

    @property
    def delta(self) -> int:
        return self.length - (self.end - self.start)


class Relexed(NamedTuple):
    """`lexed` are the tokens of the new text: `low` old ones, new ones, and from `high` on the old ones that stood behind
    the index `old_high`."""

    lexed: Lexed
    low: int
    high: int
    old_high: int


def change_between(old: str, new: str) -> Change:
    """The smallest stretch whose replacement leads from one text to the other."""
    start = _common(len(old), len(new), lambda n: old[:n] == new[:n])
    most = min(len(old), len(new)) - start
    end = _common(most, most, lambda n: old[len(old) - n :] == new[len(new) - n :])
    return Change(start, len(old) - end, len(new) - end - start)


def _common(one: int, other: int, equal: Callable[[int], bool]) -> int:
    """The largest n that is `equal`, by halving: what is common for n is common for less."""
    low, high = 0, min(one, other)
    while low < high:
        middle = (low + high + 1) // 2
        if equal(middle):
            low = middle
        else:
            high = middle - 1
    return low


def relex(lexer: Lexer, before: Lexed, old: str, new: str, change: Change) -> Relexed:
    start = new.rfind("\n", 0, change.start) + 1
    stop = old.find("\n", change.end)
    stop = len(old) if stop < 0 else stop
    piece = lex(lexer, new, start, stop + change.delta)
    last = len(before.tokens) - 1
    low = bisect_right(before.tokens, start, 0, last, key=_end)
    high = bisect_right(before.tokens, stop, 0, last, key=_end)
    tokens = before.tokens[:low] + piece.tokens[:-1]
    now = len(tokens)
    tokens += _moved(before.tokens[high:last], change.delta)
    tokens.append((END_KIND, len(new), ""))
    first = bisect_left(before.comments, start, key=_start)
    after = before.comments[bisect_left(before.comments, stop, key=_start) :]
    if change.delta:
        after = [(at + change.delta, text) for at, text in after]
    comments = before.comments[:first] + piece.comments + after
    return Relexed(Lexed(tokens, comments), low, now, high)


def _end(token: Lexeme) -> int:
    return token[1]


def _start(comment: tuple[int, str]) -> int:
    return comment[0]


def _moved(tokens: list[Lexeme], delta: int) -> list[Lexeme]:
    return [(kind, end + delta, text) for kind, end, text in tokens] if delta else tokens
