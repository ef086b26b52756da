"""The one traversal of a plan: its nodes in order, what a node reads and makes, and the same node renumbered.

In: bodies, nodes and expressions of `ir/plan.py`. Out: values ids, or rebuilt data; nothing is changed in
place. In expressions a value is `Ref("%v12")`, a repeat variable `Ref("%0")`, a result of the step itself
`Ref("%r0")`, and a format of the plan's table `Ref("%f3")`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import assert_never

from msgspec.structs import replace

from pllm_lang.catalog import expr as ex
from pllm_lang.ir.plan import (
    Carried,
    Member,
    Node,
    Operand,
    Plan,
    Repeat,
    Requirement,
    StateWrite,
    Step,
)

Number = Callable[[int], int]


def nodes(
    body: tuple[Node, ...], loops: tuple[Repeat, ...] = ()
) -> Iterator[tuple[Node, tuple[Repeat, ...]]]:
    """Every node with the repeats around it, outermost first; a repeat comes before its body."""
    for node in body:
        yield node, loops
        if isinstance(node, Repeat):
            yield from nodes(node.body, (*loops, node))


def steps(plan: Plan) -> Iterator[Step]:
    """Every step of every stage, in the order written, which is how locks and certificates number them."""
    for stage in plan.stages:
        yield from (node for node, _ in nodes(stage.body) if isinstance(node, Step))


def reads(node: Node) -> list[int]:
    """Values and families that the node reads itself (not what the body of a repeat reads)."""
    match node:
        case Step():
            return [family(operand) for operand in node.operands]
        case Repeat():
            return [carried.initial for carried in node.carried]
        case StateWrite():
            return [family(node.state), node.value]
        case Requirement():
            return [value for value in map(value_of, references(node.condition)) if value is not None]
        case _:
            assert_never(node)


def makes(node: Node) -> tuple[int, ...]:
    """Values that exist because of the node, as seen in the body that holds it."""
    if isinstance(node, Step):
        return node.results
    if isinstance(node, Repeat):
        return tuple(carried.final for carried in node.carried)
    return ()


def free(node: Node) -> list[int]:
    """Values that the node reads and neither it nor anything inside it makes; in order of first reading."""
    if not isinstance(node, Repeat):
        return reads(node)
    inside = {carried.inner for carried in node.carried}
    found = reads(node)
    for child in node.body:
        found += [value for value in free(child) if value not in inside]
        inside.update(makes(child))
    found += [carried.next for carried in node.carried if carried.next not in inside]
    return list(dict.fromkeys(found))


def writes(node: Node) -> set[int]:
    """States that the node writes, or anything inside it."""
    if isinstance(node, Repeat):
        return set[int]().union(*map(writes, node.body))
    return {family(node.state)} if isinstance(node, StateWrite) else set()


def family(operand: Operand) -> int:
    """The value id of an operand, or of the family that it is a member of."""
    return operand.family if isinstance(operand, Member) else operand


def references(expr: ex.Expr) -> Iterator[str]:
    """Every name in an expression."""
    if isinstance(expr, ex.Ref):
        yield expr.name
    for child in children(expr):
        yield from references(child)


def value_of(name: str) -> int | None:
    """12 for `%v12`, None for any other name."""
    return int(name[2:]) if name.startswith("%v") else None


def children(expr: ex.Expr) -> tuple[ex.Expr, ...]:
    match expr:
        case ex.Num() | ex.Text() | ex.Ref() | ex.AnyRank():
            return ()
        case ex.Apply():
            return (*expr.args, *(value for _, value in expr.named))
        case ex.Item():
            return (expr.base, *expr.items)
        case ex.Attr():
            return (expr.base,)
        case ex.ListOf():
            return expr.items
        case ex.MapOf():
            return tuple(value for _, value in expr.entries)
        case ex.Between():
            return (expr.low, expr.high)
        case _:
            assert_never(expr)


def rename(expr: ex.Expr, new: Callable[[str], str]) -> ex.Expr:
    """The expression with the name `new(name)` for every name in it."""
    return substitute(expr, lambda name: ex.Ref(new(name)))


def substitute(expr: ex.Expr, new: Callable[[str], ex.Expr]) -> ex.Expr:
    """The expression with `new(name)` in place of every name in it."""

    def each(items: tuple[ex.Expr, ...]) -> tuple[ex.Expr, ...]:
        return tuple(substitute(item, new) for item in items)

    def pairs(items: tuple[tuple[str, ex.Expr], ...]) -> tuple[tuple[str, ex.Expr], ...]:
        return tuple((name, substitute(value, new)) for name, value in items)

    match expr:
        case ex.Num() | ex.Text() | ex.AnyRank():
            return expr
        case ex.Ref():
            return new(expr.name)
        case ex.Apply():
            return ex.Apply(expr.fn, each(expr.args), pairs(expr.named))
        case ex.Item():
            return ex.Item(substitute(expr.base, new), each(expr.items))
        case ex.Attr():
            return ex.Attr(substitute(expr.base, new), expr.name)
        case ex.ListOf():
            return ex.ListOf(each(expr.items))
        case ex.MapOf():
            return ex.MapOf(pairs(expr.entries))
        case ex.Between():
            return ex.Between(substitute(expr.low, new), substitute(expr.high, new), expr.closed)
        case _:
            assert_never(expr)


def map_steps(body: tuple[Node, ...], change: Callable[[Step], Step]) -> tuple[Node, ...]:
    """The body with `change(step)` for every step, inside repeats too."""

    def one(node: Node) -> Node:
        if isinstance(node, Repeat):
            return replace(node, body=map_steps(node.body, change))
        return change(node) if isinstance(node, Step) else node

    return tuple(map(one, body))


def renumber(node: Node, number: Number) -> Node:
    """The node with `number(id)` for every value id in it."""
    match node:
        case Step():
            operands = tuple(renumber_operand(operand, number) for operand in node.operands)
            return replace(node, operands=operands, results=tuple(map(number, node.results)))
        case Repeat():
            carried = tuple(
                Carried(number(c.initial), number(c.inner), number(c.next), number(c.final))
                for c in node.carried
            )
            body = tuple(renumber(child, number) for child in node.body)
            return replace(node, carried=carried, body=body)
        case StateWrite():
            return StateWrite(renumber_operand(node.state, number), number(node.value))
        case Requirement():
            return Requirement(renumber_expr(node.condition, number), node.reason)
        case _:
            assert_never(node)


def renumber_operand(operand: Operand, number: Number) -> Operand:
    if isinstance(operand, Member):
        return Member(number(operand.family), operand.index)
    return number(operand)


def renumber_expr(expr: ex.Expr, number: Number) -> ex.Expr:
    def new(name: str) -> str:
        value = value_of(name)
        return name if value is None else f"%v{number(value)}"

    return rename(expr, new)
