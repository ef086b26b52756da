"""The parser's machine: runs the parse table over tokens and builds nodes as it reduces.

In: tokens of the lexer and a `Stack`. Out: the stack, advanced; its only value is the File when all is read.
Two things make it quick: chains of rules that hand their only child through (ten levels of operators around
a plain name) are followed once and remembered, and nodes are built at once, without a generic tree between.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from pllm_lang.syntax.actions import DOCUMENTED, find_action
from pllm_lang.syntax.table import BEGIN, Rule, Table
from pllm_lang.text.limits import MAX_DEPTH

# (kind, end, text): `end` is absolute
Lexeme: TypeAlias = tuple[int, int, str]

# Nothing that is nested less deep than MAX_DEPTH needs more states; a level of a plan's body needs seven.
_MAX_STATES = 10 * MAX_DEPTH

# How a rule's value is made; from _NODE on a node is built, one level deeper than its children.
_UNIT, _CHILD, _ONE, _APPEND, _CONCAT, _LEAF, _NODE, _ANCHOR = range(8)


class Reduction(NamedTuple):
    """A rule made ready to run; `take` counts children from the top of the stack, None is an absent one."""

    mode: int
    size: int
    lhs: int
    action: Callable[..., Any]
    take: tuple[int | None, ...]
    documented: bool


class Machine(NamedTuple):
    """A parse table made ready to run. `memo` remembers the ends of unit chains."""

    table: Table
    rows: list[dict[int, int]]
    rules: list[Reduction]
    memo: dict[tuple[int, int, int], int]
    resume: frozenset[int]


class Stack:
    """What the machine has read so far: states, and for each state but the first its value, start and depth.

    `base` is the place of the current anchor; `bases` holds, for each open anchor, the number of states below
    it and the place of the anchor around it. `end` is where the last token ended. `line` is where the last
    line (declaration, item, statement) began: the index of its first token and the states before it.
    """

    __slots__ = ("base", "bases", "depths", "end", "line", "starts", "states", "values")

    def __init__(self, start: int) -> None:
        self.states = [start]
        self.values: list[Any] = []
        self.starts: list[int] = []
        self.depths: list[int] = []
        self.bases: list[tuple[int, int]] = []
        self.base = 0
        self.end = 0
        self.line: tuple[int, tuple[int, ...]] = (0, (start,))

    def cut(self, size: int) -> None:
        """Forget all but the lowest `size` states."""
        del self.states[size:], self.values[size - 1 :], self.starts[size - 1 :], self.depths[size - 1 :]
        while self.bases and self.bases[-1][0] >= size:
            _, self.base = self.bases.pop()


def make_machine(table: Table) -> Machine:
    rules = [_ready(rule) for rule in table.rules]
    return Machine(table, _soft_rows(table), rules, {}, frozenset(table.resume))


def _soft_rows(table: Table) -> list[dict[int, int]]:
    """The actions, with each keyword read as a name wherever only a name is possible."""
    name = table.terminals.index("NAME")
    keywords = [kind for text, kind in table.literals.items() if text.isidentifier()]
    rows: list[dict[int, int]] = []
    for row in table.actions:
        soft = dict.fromkeys(keywords, row[name]) if name in row else {}
        rows.append({**soft, **row})
    return rows


def _ready(rule: Rule) -> Reduction:
    modes = {"child": _CHILD, "list_one": _ONE, "list_append": _APPEND, "list_concat": _CONCAT}
    mode = modes.get(rule.action, _NODE)
    action: Callable[..., Any] = tuple if mode < _LEAF else find_action(rule.action)
    if rule.unit:
        mode = _UNIT
    elif rule.anchor:
        mode = _ANCHOR
    elif mode == _NODE and rule.take == (0,) and rule.size == 1:
        mode = _LEAF
    take = tuple(k - rule.size if k >= 0 else None for k in rule.take)
    return Reduction(mode, rule.size, rule.lhs, action, take, rule.action in DOCUMENTED)


def run(
    machine: Machine,
    stack: Stack,
    tokens: list[Lexeme],
    at: int,
    docs: dict[int, str],
    stop: int | None = None,
) -> int:
    """Read tokens from index `at` up to `stop`, or to the last; the index of the token that does not fit, or where it ends.

    A node deeper than MAX_DEPTH is never built: the machine stops before it, see `is_too_deep`.
    """
    _, rows, rules, memo, resume = machine
    states, values, starts, depths = stack.states, stack.values, stack.starts, stack.depths
    base = stack.base
    stop = len(tokens) if stop is None else stop
    for position in range(at, stop):
        kind, end, text = tokens[position]
        move = rows[states[-1]].get(kind)
        while move is not None and move < 0:
            rule = rules[~move]
            mode = rule.mode
            if mode == _LEAF:
                values[-1] = rule.action(starts[-1] - base, stack.end - base, values[-1])
                states.pop()
            elif mode == _UNIT:
                states.pop()
            else:
                if not _reduce(stack, rule, docs):
                    return position
                base = stack.base
            key = (states[-1], rule.lhs, kind)
            state = memo.get(key)
            if state is None:
                state = memo[key] = _follow(machine, states[-1], rule.lhs, kind)
            states.append(state)
            move = rows[state].get(kind)
        if move is None:
            return position
        if len(states) > _MAX_STATES:
            return position
        start = end - len(text)
        if move >= BEGIN:
            move -= BEGIN
            if states[-1] in resume:
                stack.line = (position, tuple(states))
            stack.bases.append((len(states), base))
            base = stack.base = start
        states.append(move)
        values.append((start - base, end - base, text))
        starts.append(start)
        depths.append(0)
        stack.end = end
    return stop


def is_too_deep(stack: Stack) -> bool:
    return len(stack.states) > _MAX_STATES or (bool(stack.depths) and stack.depths[-1] > MAX_DEPTH)


def _follow(machine: Machine, below: int, lhs: int, kind: int) -> int:
    """The state after `lhs` on top of `below`, once all rules that only hand it through are reduced."""
    gotos = machine.table.gotos[below]
    state = gotos[lhs]
    move = machine.rows[state].get(kind, 0)
    while move < 0 and machine.rules[~move].mode == _UNIT:
        state = gotos[machine.rules[~move].lhs]
        move = machine.rows[state].get(kind, 0)
    return state


def _reduce(stack: Stack, rule: Reduction, docs: dict[int, str]) -> bool:
    """Replace the topmost values by the one that the rule makes of them; False where it would be too deep."""
    mode, size, _, _, take, _ = rule
    values, depths = stack.values, stack.depths
    if not size:
        values.append(_value(stack, rule, docs))
        stack.starts.append(stack.end)
        depths.append(0)
        return True
    depth = max(depths[-size:])
    if mode == _APPEND:
        value = values[-size]
        value.append(values[take[1] or -1])
    else:
        if mode >= _NODE:
            depth += 1
            if depth > MAX_DEPTH:
                depths[-1] = depth
                return False
        value = _value(stack, rule, docs)
    del stack.states[-size:]
    if size > 1:
        del values[1 - size :], stack.starts[1 - size :], depths[1 - size :]
    values[-1] = value
    depths[-1] = depth
    return True


def _value(stack: Stack, rule: Reduction, docs: dict[int, str]) -> Any:
    children = [None if k is None else stack.values[k] for k in rule.take]
    mode = rule.mode
    if mode == _NODE:
        start = stack.starts[-rule.size] if rule.size else stack.end
        return rule.action(start - stack.base, stack.end - stack.base, *children)
    if mode == _ANCHOR:
        return _anchor(stack, rule, children, docs)
    if mode == _CONCAT:
        return _concat(children)
    return children if mode == _ONE else children[0]


def _anchor(stack: Stack, rule: Reduction, children: list[Any], docs: dict[int, str]) -> Any:
    """Build an anchor, and make the anchor around it the current one."""
    at = stack.base
    _, stack.base = stack.bases.pop()
    doc = docs.get(at) if rule.documented else None
    if doc:
        return rule.action(at, stack.end - at, *children, doc=doc)
    return rule.action(at, stack.end - at, *children)


def _concat(children: list[Any]) -> list[Any]:
    """One list of values and lists of values."""
    joined: list[Any] = []
    for child in children:
        if isinstance(child, list):
            joined += child
        else:
            joined.append(child)
    return joined
