"""What a text holds besides its tree: comments, blank lines, and where the braces of blocks stand.

In: a `Parsed`. Out: a `Trivia`, which the formatter walks along with the tree: each comment is handed out
once, in order.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from pllm_lang.syntax.lexer import lex
from pllm_lang.syntax.parse import Parsed, tools

_OPENERS = frozenset("([{")
_CLOSERS = frozenset(")]}")


class Comment(NamedTuple):
    """`blank` tells whether a blank line stands before it."""

    text: str
    blank: bool


class Trivia:
    def __init__(self, parsed: Parsed) -> None:
        self.text = parsed.source.text
        self.comments = parsed.comments
        self.next = 0
        tokens = lex(tools()[0], self.text).tokens
        self.starts = [end - len(text) for _, end, text in tokens]
        self.tokens = [text for _, _, text in tokens]

    def before(self, at: int) -> list[Comment]:
        """The comments before a place that were not handed out yet."""
        found: list[Comment] = []
        while self.next < len(self.comments) and self.comments[self.next][0] < at:
            start, text = self.comments[self.next]
            found.append(Comment(text.rstrip(), self.is_blank_before(start)))
            self.next += 1
        return found

    def trailing(self, end: int) -> str:
        """The comment behind a place on the same line, if nothing else stands between."""
        if self.next == len(self.comments):
            return ""
        start, text = self.comments[self.next]
        if self.text[end:start].strip(" \t,"):
            return ""
        self.next += 1
        return text.rstrip()

    def has_inside(self, start: int, end: int) -> bool:
        """Whether a comment that was not handed out yet begins in a stretch."""
        return self.next < len(self.comments) and start <= self.comments[self.next][0] < end

    def is_blank_before(self, at: int) -> bool:
        """Whether a blank line stands before a place."""
        gap = self.text[:at] if at < 4096 else self.text[at - 4096 : at]
        return gap[len(gap.rstrip(" \t\r\n")) :].count("\n") > 1

    def opening(self, at: int, end: int, first: int | None) -> int:
        """The place of the `{` of a block: before its first line, or before its `}` where it has none."""
        index = bisect_left(self.starts, end if first is None else first) - (2 if first is None else 1)
        return self.starts[max(index, bisect_left(self.starts, at))]

    def as_written(self, start: int, end: int, indent: int) -> list[str]:
        """The lines of a stretch as they are broken, indented by the brackets that are open."""
        lines: list[str] = []
        depth = 0
        at = start
        for line in self.text[start:end].split("\n"):
            stop = at + len(line)
            first, last = bisect_left(self.starts, at), bisect_left(self.starts, stop)
            if line.strip():
                closes = self.tokens[first] in _CLOSERS
                levels = max(depth - closes, 0 if closes or not lines else 1)
                lines.append(" " * (indent + 2 * levels) + self._spaced(first, last, at, stop))
            tokens = self.tokens[first:last]
            depth += sum((token in _OPENERS) - (token in _CLOSERS) for token in tokens)
            at = stop + 1
        return lines

    def _spaced(self, first: int, last: int, at: int, stop: int) -> str:
        """The tokens of one line, one space between two at most, and the comment behind them."""
        parts: list[str] = []
        for start, token in zip(self.starts[first:last], self.tokens[first:last], strict=True):
            apart = parts and (at < start or parts[-1][-1] in ",:")
            parts += [" ", token] if apart else [token]
            at = start + len(token)
        comment = self.text[at:stop].strip()
        return "".join(parts) + ("  " if parts and comment else "") + comment
