"""What is known at the place where a parse got stuck, and the questions that messages and recovery ask of it.

In: the machine's stack and the tokens. Out: answers; nothing here changes the stack.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from pllm_lang.syntax.machine import Lexeme, Machine, Stack
from pllm_lang.syntax.table import BEGIN, END_KIND
from pllm_lang.text.source import Source

_OPENERS = {"(": ")", "[": "]", "{": "}"}
_CLOSERS = {")": "(", "]": "[", "}": "{"}


class Token(NamedTuple):
    """A token with its place; `kind` as in `Table.terminals`, `$BAD` for a character that begins none."""

    kind: str
    start: int
    end: int
    text: str

    @property
    def is_word(self) -> bool:
        return self.text.isidentifier()


class Trouble(NamedTuple):
    """A parse stuck at token `at`.

    `states` are those before that token was looked at; `level` is how many of them remain when the broken
    line is dropped; `first` is the index of the token with which that line began (`at` itself where nothing
    of it was read); `whole` tells that what was read of it would be a line by itself.
    """

    source: Source
    machine: Machine
    states: tuple[int, ...]
    tokens: list[Lexeme]
    at: int
    level: int
    first: int
    whole: bool


def look(source: Source, machine: Machine, stack: Stack, tokens: list[Lexeme], at: int) -> Trouble:
    """The machine may have reduced too far for a token that then did not fit; so its line is read once
    more."""
    first, below = stack.line
    states = list(below)
    for kind, _, _ in tokens[first:at]:
        shift(machine, states, kind)
    level = len(states)
    while level > 1 and states[level - 1] not in machine.resume:
        level -= 1
    if level == len(states):
        return Trouble(source, machine, tuple(states), tokens, at, level, at, whole=False)
    trouble = Trouble(source, machine, tuple(states), tokens, at, level, first, whole=False)
    return _as_whole(trouble) if open_bracket(trouble) is None else trouble


def line_end(trouble: Trouble) -> str | None:
    """A token that could follow if the line read so far is whole: the block's end, or a next declaration."""
    if fits(trouble, "}"):
        return "}"
    return "import" if fits(trouble, "$END") else None


def _as_whole(trouble: Trouble) -> Trouble:
    """The same where the line read so far is whole and the trouble begins on a new one: then nothing is
    broken."""
    following = line_end(trouble)
    if following is None:
        return trouble
    if not is_line_first(trouble, trouble.at) and not is_end(trouble):
        return trouble._replace(whole=True)
    states = list(trouble.states)
    shift(trouble.machine, states, trouble.machine.table.literals[following])
    states.pop()
    return trouble._replace(states=tuple(states), level=len(states), first=trouble.at, whole=True)


def token(trouble: Trouble, index: int) -> Token:
    """The token at an index; past either end of the text, an empty one."""
    index = max(0, min(index, len(trouble.tokens) - 1))
    kind, end, text = trouble.tokens[index]
    names = trouble.machine.table.terminals
    return Token(names[kind] if kind < len(names) else "$BAD", end - len(text), end, text)


def here(trouble: Trouble) -> Token:
    return token(trouble, trouble.at)


def before(trouble: Trouble) -> Token:
    if trouble.at == 0:
        return Token("$START", 0, 0, "")
    return token(trouble, trouble.at - 1)


def after(trouble: Trouble) -> Token:
    return token(trouble, trouble.at + 1)


def first_word(trouble: Trouble) -> str:
    """The word with which the broken line began; empty where nothing of it was read."""
    return token(trouble, trouble.first).text if trouble.first < trouble.at else ""


def is_end(trouble: Trouble) -> bool:
    return trouble.tokens[trouble.at][0] == END_KIND


def column(trouble: Trouble, index: int) -> int:
    """The column (from 0) of a token. Blanks at the end of a text mean nothing: its end begins a line where one ends before it."""
    kind, end, text = trouble.tokens[index]
    if kind == END_KIND and is_line_first(trouble, index):
        return 0
    return trouble.source.line_column(end - len(text))[1] - 1


def line(trouble: Trouble, index: int) -> int:
    _, end, text = trouble.tokens[index]
    return trouble.source.line_column(end - len(text))[0]


def is_line_first(trouble: Trouble, index: int) -> bool:
    """Whether only white space stands before the token on its line."""
    return index == 0 or "\n" in trouble.source.text[trouble.tokens[index - 1][1] : _start(trouble, index)]


def line_start(trouble: Trouble, index: int) -> int:
    """The index of the first token on the line of a token."""
    begin = trouble.source.text.rfind("\n", 0, _start(trouble, index)) + 1
    return bisect_left(trouble.tokens, begin, 0, index, key=lambda token: token[1] - len(token[2]))


def _start(trouble: Trouble, index: int) -> int:
    _, end, text = trouble.tokens[index]
    return end - len(text)


def open_bracket(trouble: Trouble) -> int | None:
    """The index of the innermost bracket of the broken line that is not closed before the trouble."""
    opened: list[int] = []
    for index in range(trouble.first, trouble.at):
        text = trouble.tokens[index][2]
        if text in _OPENERS:
            opened.append(index)
        elif text in _CLOSERS and opened:
            opened.pop()
    return opened[-1] if opened else None


def closer(opener: str) -> str:
    return _OPENERS[opener]


def fits(trouble: Trouble, *kinds: str, states: tuple[int, ...] | None = None) -> bool:
    """Whether tokens of these kinds, one after the other, could stand at the place of the trouble."""
    table = trouble.machine.table
    stack = list(trouble.states if states is None else states)
    for name in kinds:
        if name not in table.terminals or not shift(trouble.machine, stack, table.terminals.index(name)):
            return False
    return True


def fits_instead(trouble: Trouble, *kinds: str) -> bool:
    """Whether these could stand in place of the token before the trouble."""
    if trouble.first >= trouble.at:
        return False
    states = list(trouble.states[: trouble.level])
    for kind, _, _ in trouble.tokens[trouble.first : trouble.at - 1]:
        shift(trouble.machine, states, kind)
    return fits(trouble, *kinds, states=tuple(states))


def expected(trouble: Trouble) -> frozenset[str]:
    """The kinds of token that could stand at the place of the trouble, without keywords read as names."""
    as_name = _after(trouble, "NAME")
    return frozenset(
        name
        for name in trouble.machine.table.terminals
        if (state := _after(trouble, name)) is not None
        and not (name.isidentifier() and name.islower() and state == as_name)
    )


def _after(trouble: Trouble, kind: str) -> int | None:
    states = list(trouble.states)
    fitting = shift(trouble.machine, states, trouble.machine.table.terminals.index(kind))
    return states[-1] if fitting else None


def begins_line(machine: Machine, states: list[int], kind: int) -> bool:
    """Whether a keyword, as a keyword, begins a line on a stack of bare states."""
    stack = list(states)
    move = machine.table.actions[stack[-1]].get(kind)
    while move is not None and move < 0:
        _reduce(machine, stack, move)
        move = machine.table.actions[stack[-1]].get(kind)
    return move is not None and move >= BEGIN


def is_top_level(trouble: Trouble) -> bool:
    """Whether the broken line stands outside all blocks."""
    states = list(trouble.states[: trouble.level])
    return begins_line(trouble.machine, states, trouble.machine.table.literals["import"])


def _reduce(machine: Machine, stack: list[int], move: int) -> None:
    rule = machine.rules[~move]
    if rule.size:
        del stack[-rule.size :]
    stack.append(machine.table.gotos[stack[-1]][rule.lhs])


def shift(machine: Machine, stack: list[int], kind: int) -> bool:
    """Move a stack of bare states over one token."""
    move = machine.rows[stack[-1]].get(kind)
    while move is not None and move < 0:
        _reduce(machine, stack, move)
        move = machine.rows[stack[-1]].get(kind)
    if move is None:
        return False
    stack.append(move - BEGIN if move >= BEGIN else move)
    return True


def keywords(trouble: Trouble) -> list[str]:
    return sorted(text for text in trouble.machine.table.literals if text.isidentifier())
