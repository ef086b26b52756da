"""The parser's machine: runs the parse table over tokens and builds nodes as it reduces.

In: tokens of the lexer and a `Stack`. Out: the stack, advanced; its only value is the File when all is read.
Two things make it quick: chains of rules that hand their only child through (ten levels of operators around a
plain name) are followed once and remembered, and nodes are built at once, without a generic tree between.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..text.limits import MAX_DEPTH
from .actions import DOCUMENTED, find_action
from .table import BEGIN, END_KIND, Rule, Table

_UNIT, _LEAF, _CHILD, _ONE, _APPEND, _CONCAT, _NODE, _ANCHOR = range(8)


class Machine(NamedTuple):
    """A parse table made ready to run. `memo` remembers the ends of unit chains."""

    start: int
    rows: list[dict[int, int]]
    gotos: list[dict[int, int]]
    rules: list[tuple[int, int, int, Callable[..., Any], tuple[int, ...], bool]]
    memo: dict[tuple[int, int, int], int]


class Stack:
    """What the machine has read so far: states, and for each state but the first its value, start and depth.

    `bases` holds, for each open anchor, the number of states below it and the place of the anchor around it.
    """

    __slots__ = ("base", "bases", "depths", "end", "starts", "states", "values")

    def __init__(self, start: int) -> None:
        self.states = [start]
        self.values: list[Any] = []
        self.starts: list[int] = []
        self.depths: list[int] = []
        self.bases: list[tuple[int, int]] = []
        self.base = 0
        self.end = 0

    def cut(self, size: int) -> None:
        """Forget all but the lowest `size` states."""
        del self.states[size:], self.values[size - 1 :], self.starts[size - 1 :], self.depths[size - 1 :]
        while self.bases and self.bases[-1][0] >= size:
            _, self.base = self.bases.pop()


def make_machine(table: Table) -> Machine:
    return Machine(
        start=table.start,
        rows=_soft_rows(table),
        gotos=list(table.gotos),
        rules=[
            (_mode(rule), rule.size, rule.lhs, *_call(rule.action, rule.take)) for rule in table.rules
        ],
        memo={},
    )


def _soft_rows(table: Table) -> list[dict[int, int]]:
    """The actions, with each keyword read as a name wherever only a name is possible."""
    name = table.terminals.index("NAME")
    keywords = [kind for text, kind in table.literals.items() if text.isidentifier()]
    rows: list[dict[int, int]] = []
    for row in table.actions:
        soft = dict.fromkeys(keywords, row[name]) if name in row else {}
        rows.append({**soft, **row})
    return rows


def _mode(rule: Rule) -> int:
    if rule.unit:
        return _UNIT
    if rule.anchor:
        return _ANCHOR
    lists = {"child": _CHILD, "list_one": _ONE, "list_append": _APPEND, "list_concat": _CONCAT}
    return lists.get(rule.action, _LEAF if rule.size == 1 and rule.take == (0,) else _NODE)


def _call(action: str, take: tuple[int, ...]) -> tuple[Callable[..., Any], tuple[int, ...], bool]:
    if action == "child" or action.startswith("list_"):
        return tuple, take, False
    return find_action(action), take, action in DOCUMENTED


def run(machine: Machine, stack: Stack, tokens: list[tuple[int, int, str]], at: int, docs: dict[int, str]) -> int:
    """Read tokens from index `at`; the index of the token that does not fit, or len(tokens) when all is read.

    A node deeper than MAX_DEPTH is never built: the index is then of the token after it, and
    `stack.depths[-1]` is above the limit.
    """
    _, rows, gotos, rules, memo = machine
    states, values, starts, depths = stack.states, stack.values, stack.starts, stack.depths
    base = stack.base
    last = stack.end
    state = states[-1]
    for position in range(at, len(tokens)):
        kind, end, text = tokens[position]
        move = rows[state].get(kind)
        while move is not None and move < 0:
            mode, size, lhs, action, take, documented = rules[~move]
            if mode == _LEAF:
                values[-1] = action(starts[-1] - base, last - base, values[-1])
                states.pop()
            elif mode == _UNIT:
                states.pop()
            elif mode == _APPEND:
                depth = max(depths[-size:])
                values[-size].append(values[take[1] - size])
                values[-1] = values[-size]
                del states[-size:], values[-size:-1], starts[1 - size :], depths[1 - size :]
                depths[-1] = depth
            elif size:
                depth = max(depths[-size:]) + (mode >= _NODE)
                if depth > MAX_DEPTH:
                    stack.base, stack.end = base, last
                    depths[-1] = depth
                    return position
                if mode == _NODE:
                    children = [values[k - size] if k >= 0 else None for k in take]
                    value = action(starts[-size] - base, last - base, *children)
                elif mode == _ANCHOR:
                    value = _anchor(stack, size, last, action, take, documented, docs)
                    base = stack.base
                elif mode == _CONCAT:
                    value = []
                    for k in take:
                        child = values[k - size]
                        if isinstance(child, list):
                            value += child
                        else:
                            value.append(child)
                else:
                    value = values[take[0] - size] if mode == _CHILD else [values[take[0] - size]]
                del states[-size:], values[-size:]
                if size > 1:
                    del starts[1 - size :], depths[1 - size :]
                values.append(value)
                depths[-1] = depth
            else:
                values.append([] if mode == _CONCAT else action(0, 0, *[None for _ in take]))
                starts.append(last)
                depths.append(0)
            below = states[-1]
            key = (below, lhs, kind)
            known = memo.get(key)
            if known is None:
                known = memo[key] = _follow(machine, below, lhs, kind)
            state = known
            states.append(state)
            move = rows[state].get(kind)
        if move is None:
            stack.base, stack.end = base, last
            return position
        start = end - len(text)
        if move >= BEGIN:
            move -= BEGIN
            stack.bases.append((len(states), base))
            base = stack.base = start
        states.append(move)
        values.append((start - base, end - base, text))
        starts.append(start)
        depths.append(0)
        state = move
        last = end
    stack.base, stack.end = base, last
    return len(tokens)


def _anchor(
    stack: Stack,
    size: int,
    last: int,
    action: Callable[..., Any],
    take: tuple[int, ...],
    documented: bool,
    docs: dict[int, str],
) -> Any:
    """Build an anchor, and make the anchor around it the current one."""
    values = stack.values
    children = [values[k - size] if k >= 0 else None for k in take]
    at = stack.base
    _, stack.base = stack.bases.pop()
    doc = docs.get(at) if documented else None
    return action(at, last - at, *children, doc=doc) if doc else action(at, last - at, *children)


def _follow(machine: Machine, below: int, lhs: int, kind: int) -> int:
    """The state after `lhs` on top of `below`, once all rules that only hand it through are reduced."""
    state = machine.gotos[below][lhs]
    move = machine.rows[state].get(kind, 0)
    while move < 0 and machine.rules[~move][0] == _UNIT:
        state = machine.gotos[below][machine.rules[~move][2]]
        move = machine.rows[state].get(kind, 0)
    return state


def start_stack(machine: Machine) -> Stack:
    return Stack(machine.start)


def is_read(tokens: list[tuple[int, int, str]], at: int) -> bool:
    return at == len(tokens) and tokens[-1][0] == END_KIND
