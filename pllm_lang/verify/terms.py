"""Expressions of records as text, for messages."""

from __future__ import annotations

from typing import assert_never

from pllm_lang.catalog.expr import AnyRank, Apply, Attr, Between, Expr, Item, ListOf, MapOf, Num, Ref, Text

_BINDS = {"or": 1, "and": 2, "not": 3, "+": 6, "-": 6, "*": 7, "/": 7, "^": 9} | dict.fromkeys(
    ("<=", "<", ">=", ">", "==", "!=", "in"), 4
)


def term_text(expr: Expr, outer: int = 0) -> str:
    """The expression as a plan would write it; qualified names by their last part."""
    match expr:
        case Num():
            return expr.value
        case Text():
            return f'"{expr.value}"'
        case Ref():
            return expr.name.rsplit(".", 1)[-1]
        case Apply():
            return _apply(expr, outer)
        case Item():
            return f"{term_text(expr.base, 10)}[{_list(expr.items)}]"
        case Attr():
            return f"{term_text(expr.base, 10)}.{expr.name}"
        case ListOf():
            return f"[{_list(expr.items)}]"
        case MapOf():
            return "{" + ", ".join(f"{name}: {term_text(value)}" for name, value in expr.entries) + "}"
        case Between():
            return f"{term_text(expr.low, 5)}{'..' if expr.closed else '..<'}{term_text(expr.high, 5)}"
        case AnyRank():
            return f"...{expr.name}"
        case _:
            assert_never(expr)


def _list(items: tuple[Expr, ...]) -> str:
    return ", ".join(term_text(item) for item in items)


def _apply(expr: Apply, outer: int) -> str:
    strength = _BINDS.get(expr.fn)
    if strength is None:
        named = [f"{name}: {term_text(value)}" for name, value in expr.named]
        return f"{expr.fn.rsplit('.', 1)[-1]}({', '.join([*map(term_text, expr.args), *named])})"
    if len(expr.args) == 1:
        inner = term_text(expr.args[0], 8)
        written = f"not {inner}" if expr.fn == "not" else f"{expr.fn}{inner}"
    else:
        spaced = expr.fn if expr.fn == "^" else f" {expr.fn} "
        written = f"{term_text(expr.args[0], strength)}{spaced}{term_text(expr.args[1], strength + 1)}"
    return f"({written})" if strength < outer else written
