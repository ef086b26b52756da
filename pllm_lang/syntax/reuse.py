"""After an edit: stretches of lines (declarations, items, statements) of the old tree that stand in the new one as they are.

In: what was read before, and the new tokens. Out: a way to run the machine that puts such lines into the tree without
reading them. It is the same parse, with the same messages: a line is taken over only where

* its tokens, the one behind it and the comments before it are what they were,
* no mistake was found in it, nor did getting over one reach it,
* the blocks around it begin with the same words at the same places, and the machine is about to read one more line of
  the innermost one.

Of each stretch the first and the last line are read all the same: so the list that takes the lines is there, and what the
machine knows of the line before a mistake is true.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

import msgspec

from pllm_lang.syntax.machine import Lexeme, Machine, Stack, run
from pllm_lang.syntax.nodes import Anchor, File, Params, Protocol
from pllm_lang.syntax.parse import Reading
from pllm_lang.syntax.relex import Change, Relexed

# Fields of anchors that hold anchors.
_NESTED = ("params", "results", "phases", "body")


class _Block(NamedTuple):
    """An open block of the new text: where it begins, and with which word."""

    at: int
    word: str


class _Stretch(NamedTuple):
    """`lines` stand in the new text from the token `first` up to the token `after`, inside of `blocks`."""

    first: int
    after: int
    lines: Sequence[Any]
    blocks: tuple[_Block, ...]


class Reuse:
    """Runs the machine over the tokens of a text, lines of the old tree left out."""

    def __init__(self, before: Reading, change: Change, relexed: Relexed) -> None:
        self._stretches = list(_Finder(before, change, relexed).stretches(before.parsed.file, ()))
        self._next = 0

    def __call__(
        self, machine: Machine, stack: Stack, tokens: list[Lexeme], at: int, docs: dict[int, str]
    ) -> int:
        """As `machine.run`."""
        while self._next < len(self._stretches):
            stretch = _behind(self._stretches[self._next], tokens, at)
            if stretch is not None:
                reached = run(machine, stack, tokens, at, docs, stretch.first + 1)
                if reached <= stretch.first:
                    return reached
                at = _take(machine, stack, tokens, stretch)
            self._next += 1
        return run(machine, stack, tokens, at, docs)


def _behind(stretch: _Stretch, tokens: list[Lexeme], at: int) -> _Stretch | None:
    """What of a stretch stands behind the token at which the parse goes on."""
    if at < stretch.first:
        return stretch
    if at >= stretch.after:
        return None
    lines = stretch.lines[bisect_right(stretch.lines, _start(tokens[at]), key=_at) :]
    if not lines:
        return None
    first = bisect_left(tokens, lines[0].at, key=_start)
    return stretch._replace(first=first, lines=lines)


def _take(machine: Machine, stack: Stack, tokens: list[Lexeme], stretch: _Stretch) -> int:
    """The machine has just read the first token of the stretch: that is taken back, and the lines put in its place."""
    stack.cut(len(stack.states) - 1)
    stack.end = tokens[stretch.first - 1][1]
    lines = stack.values[-1]
    if stack.states[-1] not in machine.resume or not _is_list_of_lines(lines):
        return stretch.first
    if not _is_inside(stack, stretch.blocks):
        return stretch.first
    lines.extend(stretch.lines)
    stack.end = tokens[stretch.after - 1][1]
    return stretch.after


def _is_list_of_lines(value: Any) -> bool:
    return isinstance(value, list) and isinstance(cast("list[Any]", value or [None])[-1], Anchor)


def _is_inside(stack: Stack, blocks: tuple[_Block, ...]) -> bool:
    if len(stack.bases) != len(blocks):
        return False
    places = [base for _, base in stack.bases[1:]] + [stack.base]
    for (size, _), at, block in zip(stack.bases, places, blocks, strict=False):
        word = stack.values[size - 1]
        if at != block.at or (isinstance(word, tuple) and word[2] != block.word):
            return False
    return True


# ---- stretches ---------------------------------------------------------------------------------------


class _Gap(NamedTuple):
    """What may have another meaning now: lines that begin before `high` and end behind `low`."""

    low: int
    high: int


class _Finder:
    def __init__(self, before: Reading, change: Change, relexed: Relexed) -> None:
        self.old = before.lexed.tokens
        self.new = relexed.lexed.tokens
        self.change = change
        self.broken = [(_start(self.old[first]), _start(self.old[last])) for first, last in before.broken]
        gaps = [_gap(self.old, first, last + 1) for first, last in before.broken]
        self.gaps = sorted([*gaps, _gap(self.old, relexed.low, relexed.old_high)])

    def stretches(self, block: Any, blocks: tuple[_Block, ...]) -> Iterator[_Stretch]:
        """Those of the lines of a block and of the blocks in it, in the order of the text."""
        lines = lines_of(block)
        done = 0
        for low, high in self._runs(lines):
            for line in lines[done : low + 1]:
                yield from self._inside(line, blocks)
            if high - low > 2:
                yield self._stretch(lines[low + 1 : high - 1], lines[high - 1], blocks)
            done = max(low + 1, high - 1)
        for line in lines[done:]:
            yield from self._inside(line, blocks)

    def _runs(self, lines: Sequence[Any]) -> Iterator[tuple[int, int]]:
        """Lines that stand in no gap, as ranges of indexes."""
        high = 0
        for gap in self.gaps:
            first, stop = bisect_left(lines, high, key=_at), bisect_right(lines, gap.low, key=_end)
            if first < stop:
                yield first, stop
            high = max(high, gap.high)
        first = bisect_left(lines, high, key=_at)
        if first < len(lines):
            yield first, len(lines)

    def _inside(self, line: Any, blocks: tuple[_Block, ...]) -> Iterator[_Stretch]:
        inner = lines_of(line)
        if len(inner) < 3 or any(last >= line.at and first < inner[0].at for first, last in self.broken):
            return
        at = self._moved_to(line.at)
        old, new = _token_at(self.old, line.at), _token_at(self.new, at)
        if old and old == new:
            yield from self.stretches(line, (*blocks, _Block(at, new)))

    def _stretch(self, lines: Sequence[Any], last: Any, blocks: tuple[_Block, ...]) -> _Stretch:
        if lines[0].at >= self.change.end and self.change.delta:
            lines = [_moved(line, self.change.delta) for line in lines]
        first = bisect_left(self.new, lines[0].at, key=_start)
        after = bisect_left(self.new, self._moved_to(last.at), key=_start)
        return _Stretch(first, after, lines, blocks)

    def _moved_to(self, at: int) -> int:
        return at + self.change.delta if at >= self.change.end and at > self.change.start else at


def _gap(tokens: list[Lexeme], low: int, high: int) -> _Gap:
    """The gap that tokens `low` to `high` make: a line before it ends before the token in front of them."""
    return _Gap(_start(tokens[low - 1]) if low else -1, _start(tokens[min(high, len(tokens) - 1)]))


def _token_at(tokens: list[Lexeme], at: int) -> str:
    """The word that begins at a place, "" where none does."""
    index = bisect_left(tokens, at, key=_start)
    return tokens[index][2] if index < len(tokens) and _start(tokens[index]) == at else ""


def _start(token: Lexeme) -> int:
    return token[1] - len(token[2])


def _at(line: Any) -> int:
    return line.at


def _end(line: Any) -> int:
    return line.at + line.end


def lines_of(block: Any) -> tuple[Any, ...]:
    """The lines in the braces of a block, or of the file."""
    if isinstance(block, File):
        return block.decls
    if isinstance(block, Params):
        return block.params
    return getattr(block, "phases" if isinstance(block, Protocol) else "body", ())


def _moved(anchor: Any, delta: int) -> Any:
    changes: dict[str, Any] = {"at": anchor.at + delta}
    for field in _NESTED:
        nested = getattr(anchor, field, ())
        if nested:
            changes[field] = tuple([_moved(child, delta) for child in nested])
    return msgspec.structs.replace(anchor, **changes)
