"""Replay: what a plan reads and writes of a family is there, in every turn of its repeats.

In: a plan. The walk follows a family as one value, and a folded program runs two turns of a repeat only, so both would take a
member that no weight has. An index is affine in the variables of the repeats around it; over all turns it has to stay within
the family. A plain value is no family. ReplayError where it is otherwise.
"""

from __future__ import annotations

from typing import TypeAlias

from pllm_lang.artifacts.replay import numbers as n
from pllm_lang.artifacts.replay.numbers import Range
from pllm_lang.artifacts.replay.refusal import need
from pllm_lang.catalog.expr import Apply, Expr, Num, Ref
from pllm_lang.ir.plan import Node, Operand, Plan, Repeat, StateWrite, Step

Turns: TypeAlias = dict[str, Range]


def has_its_members(plan: Plan) -> None:
    families = {one.value: one.count for one in (*plan.weights, *plan.states) if one.count}
    for stage in plan.stages:
        _nodes(stage.body, families, {})


def _nodes(body: tuple[Node, ...], families: dict[int, int], turns: Turns) -> None:
    for node in body:
        if type(node) is Step:
            for operand in node.operands:
                _is_there(operand, families, turns)
        elif type(node) is Repeat and node.low < node.high:
            variable = f"%{node.depth}"
            need(variable not in turns, "certificate.plan", "two repeats have one variable", variable)
            _nodes(node.body, families, {**turns, variable: (node.low, node.high - 1)})
        elif type(node) is StateWrite:
            _is_there(node.state, families, turns)
            _is_there(node.value, families, turns)


def _is_there(operand: Operand, families: dict[int, int], turns: Turns) -> None:
    if type(operand) is int:
        need(operand not in families, "certificate.plan", "a family is read as one value", f"%{operand}")
    else:
        assert not isinstance(operand, int)
        last = families.get(operand.family, 0) - 1
        there = n.within(_reach(operand.index, turns), (0, last))
        need(
            there, "certificate.plan", "a member is read that the family does not have", f"%{operand.family}"
        )


def _reach(index: Expr, turns: Turns) -> Range:
    match index:
        case Num(value=value):
            return n.number(value), n.number(value)
        case Ref(name=name):
            return turns.get(name)
        case Apply(fn="+" | "-" | "*" as fn, args=(left, right)):
            x, y = _reach(left, turns), _reach(right, turns)
            return n.add(x, y) if fn == "+" else n.add(x, n.neg(y)) if fn == "-" else n.mul(x, y)
        case _:
            return None
