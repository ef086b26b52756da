"""The one traversal of catalog expressions."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.catalog.expr import AnyRank, Apply, Attr, Between, Expr, Item, ListOf, MapOf, Num, Ref, Text


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct parts of an expression, in the order written."""
    match expr:
        case Apply():
            return (*expr.args, *(value for _, value in expr.named))
        case Item():
            return (expr.base, *expr.items)
        case Attr():
            return (expr.base,)
        case ListOf():
            return expr.items
        case MapOf():
            return tuple(value for _, value in expr.entries)
        case Between():
            return (expr.low, expr.high)
        case Num() | Text() | Ref() | AnyRank():
            return ()


def walk(expr: Expr) -> Iterator[Expr]:
    """Every part of an expression, itself first."""
    yield expr
    for child in children(expr):
        yield from walk(child)


def size(expr: Expr) -> int:
    """How many parts an expression has, itself included."""
    return sum(1 for _ in walk(expr))


def names_in(expr: Expr) -> set[str]:
    """The names that an expression refers to."""
    return {part.name for part in walk(expr) if isinstance(part, Ref)}
