"""The one traversal of syntax expressions."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.syntax.nodes import (
    Attribute,
    Binary,
    Call,
    Entry,
    Expr,
    Index,
    ListExpr,
    MapExpr,
    Name,
    Number,
    Paren,
    Quantity,
    Range,
    Spread,
    String,
    Unary,
)


def parts(expr: Expr | Spread | Entry) -> tuple[Expr | Spread | Entry, ...]:
    """The direct parts of an expression, in the order written."""
    match expr:
        case Call():
            return (expr.callee, *expr.args)
        case Index():
            return (expr.base, *expr.items)
        case Binary():
            return (expr.left, expr.right)
        case Range():
            return (expr.low, expr.high)
        case Unary():
            return (expr.operand,)
        case Attribute():
            return (expr.base,)
        case Paren():
            return (expr.inner,)
        case ListExpr():
            return expr.items
        case MapExpr():
            return expr.entries
        case Entry():
            return (expr.value,)
        case Number() | Quantity() | String() | Name() | Spread():
            return ()


def names_of(expr: Expr | Spread | Entry) -> Iterator[Name]:
    """Every name that an expression reads; names that are called do not count."""
    if isinstance(expr, Name):
        yield expr
    for part in parts(expr):
        if not (isinstance(expr, Call) and part is expr.callee and isinstance(part, Name)):
            yield from names_of(part)


def collect_names(expr: Expr, into: set[str]) -> None:
    """Add every name that an expression reads, called ones included."""
    waiting: list[Expr | Spread | Entry] = [expr]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Name):
            into.add(node.id)
        else:
            waiting.extend(parts(node))
