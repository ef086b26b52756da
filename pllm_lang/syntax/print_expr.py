"""Expressions as text: one way to write each, with the parentheses that its meaning needs.

In: an expression. Out: a `Doc` that the formatter breaks over lines, or one line for a message.
"""

from __future__ import annotations

from typing import assert_never

from pllm_lang.syntax.layout import Concat, Doc, Group, Indent, Line, bracket, concat, flat
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

# How tightly an expression holds together, from the grammar's rules: loosest first.
_OR, _AND, _NOT, _COMPARISON, _RANGE, _SUM, _PRODUCT, _UNARY, _POWER, _POSTFIX = range(10)
_BINARY = {
    **{"or": _OR, "and": _AND, "in": _COMPARISON},
    **dict.fromkeys(["<=", ">=", "==", "!=", "<", ">"], _COMPARISON),
    **{"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "^": _POWER},
}


def print_expr(expr: Expr) -> str:
    """The expression on one line."""
    return flat(expr_doc(expr))


def expr_doc(expr: Expr) -> Doc:
    match expr:
        case Number() | Quantity() | String():
            return expr.text
        case Name():
            return expr.id
        case ListExpr():
            return list_doc(expr)
        case MapExpr():
            return bracket("{", tuple([_entry(entry) for entry in expr.entries]), "}", " ")
        case Paren():
            return bracket_one(expr_doc(expr.inner))
        case Call():
            args = tuple([_entry(arg) if isinstance(arg, Entry) else expr_doc(arg) for arg in expr.args])
            return concat(_operand(expr.callee, _POSTFIX), bracket("(", args, ")"))
        case Index():
            items = tuple([f"...{i.id}" if isinstance(i, Spread) else expr_doc(i) for i in expr.items])
            return concat(_operand(expr.base, _POSTFIX), bracket("[", items, "]"))
        case Attribute():
            return concat(_operand(expr.base, _POSTFIX), ".", expr.name)
        case Unary():
            return _unary(expr)
        case Binary():
            return _binary(expr)
        case Range():
            sign = ".." if expr.closed else "..<"
            return concat(_operand(expr.low, _SUM), sign, _operand(expr.high, _SUM))
        case _:
            assert_never(expr)


def list_doc(expr: ListExpr) -> Doc:
    """A list; one of plain values fills its lines, as a table of numbers should."""
    plain = all(isinstance(item, Number | Quantity | Name | String | Unary) for item in expr.items)
    return bracket("[", tuple([expr_doc(item) for item in expr.items]), "]", fill=plain)


def bracket_one(inner: Doc) -> Doc:
    return Group(concat("(", Indent(concat(Line(""), inner)), Line(""), ")"))


def _entry(entry: Entry) -> Doc:
    return concat(f"{entry.name}: ", expr_doc(entry.value))


def _unary(expr: Unary) -> Doc:
    if expr.op == "not":
        return concat("not ", _operand(expr.operand, _NOT))
    return concat(expr.op, _operand(expr.operand, _UNARY))


def _binary(expr: Binary) -> Doc:
    level = _BINARY[expr.op]
    if expr.op == "^":
        return concat(_operand(expr.left, _POSTFIX), "^", _operand(expr.right, _UNARY))
    if expr.op == "/" and isinstance(expr.left, Number) and isinstance(expr.right, Number):
        return concat(expr.left.text, "/", expr.right.text)
    return Group(Concat(tuple(_chain(expr, level))))


def _chain(expr: Binary, level: int) -> list[Doc]:
    """`a + b - c` as one group, which breaks before each of its signs."""
    left = expr.left
    if isinstance(left, Binary) and _BINARY[left.op] == level:
        parts = _chain(left, level) if _breaks(left) else [expr_doc(left)]
    else:
        # A product inside a broken sum breaks one level further in than the sum.
        parts = [Indent(_operand(left, level)) if isinstance(left, Binary) else _operand(left, level)]
    parts.append(Indent(concat(Line(), expr.op, " ", _operand(expr.right, level + 1))))
    return parts


def _breaks(expr: Binary) -> bool:
    return not (expr.op == "/" and isinstance(expr.left, Number) and isinstance(expr.right, Number))


def _operand(expr: Expr, level: int) -> Doc:
    """An operand at a place that wants at least `level`: in parentheses where it holds less tightly."""
    doc = expr_doc(expr)
    return bracket_one(doc) if _level(expr) < level else doc


def _level(expr: Expr) -> int:
    match expr:
        case Binary():
            return _BINARY[expr.op]
        case Unary():
            return _NOT if expr.op == "not" else _UNARY
        case Range():
            return _RANGE
        case _:
            return _POSTFIX
