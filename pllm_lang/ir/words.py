"""Expressions as they would be written, for messages and for showing a plan."""

from __future__ import annotations

from pllm_lang.catalog import expr as ex


def show_expr(expr: ex.Expr) -> str:
    """An expression as it would be written."""
    match expr:
        case ex.Num():
            return expr.value
        case ex.Ref():
            return expr.name.rsplit(".", 1)[-1]
        case ex.Text():
            return f'"{expr.value}"'
        case ex.ListOf():
            return "[" + ", ".join(map(show_expr, expr.items)) + "]"
        case ex.MapOf():
            return "{" + ", ".join(f"{key}: {show_expr(value)}" for key, value in expr.entries) + "}"
        case ex.Between():
            return f"{show_expr(expr.low)}..{'' if expr.closed else '<'}{show_expr(expr.high)}"
        case ex.Attr():
            return f"{show_expr(expr.base)}.{expr.name}"
        case ex.Item():
            return f"{show_expr(expr.base)}[{', '.join(map(show_expr, expr.items))}]"
        case ex.AnyRank():
            return f"...{expr.name}"
        case ex.Apply() if not expr.fn[0].isalpha() or expr.fn in ("and", "or", "in"):
            if len(expr.args) == 1:
                return f"{expr.fn}{show_expr(expr.args[0])}"
            return f" {expr.fn} ".join(map(show_expr, expr.args))
        case ex.Apply():
            named = [f"{key}: {show_expr(value)}" for key, value in expr.named]
            return f"{expr.fn.rsplit('.', 1)[-1]}({', '.join([*map(show_expr, expr.args), *named])})"
