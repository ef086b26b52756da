"""Syntax expressions to catalog expressions: spans gone, numbers exact, declared names qualified.

A name that stands for a declaration becomes `Ref` of its key (`std.formats.q7`), a constant its value. Every
other name stays as it is: an operand, a variable, a parameter, or a word, decided where it is used.
"""

from __future__ import annotations

from fractions import Fraction

from pllm_lang.catalog import expr as ir
from pllm_lang.catalog.read.context import Context
from pllm_lang.resolve.modules import ConstValue
from pllm_lang.resolve.texts import read_text
from pllm_lang.resolve.units import Problem, read_number, read_quantity
from pllm_lang.syntax import nodes as syn

COMPARISONS = frozenset({"<=", ">=", "==", "!=", "<", ">"})
NOTHING = ir.Ref("")


def to_expr(node: syn.Expr | syn.Spread, ctx: Context, anchor: syn.Anchor) -> ir.Expr:
    """The meaning of `node` in `anchor`; what cannot be read is a finding and NOTHING."""
    match node:
        case syn.Number() | syn.Quantity() | syn.String() | syn.Name():
            return _atom(node, ctx, anchor)
        case syn.Paren():
            return to_expr(node.inner, ctx, anchor)
        case syn.Unary():
            return _unary(node, ctx, anchor)
        case syn.Binary():
            return _binary(node, ctx, anchor)
        case syn.Range():
            return ir.Between(to_expr(node.low, ctx, anchor), to_expr(node.high, ctx, anchor), node.closed)
        case syn.ListExpr():
            return ir.ListOf(tuple(to_expr(item, ctx, anchor) for item in node.items))
        case syn.MapExpr():
            return ir.MapOf(_entries(node.entries, ctx, anchor))
        case syn.Call():
            return _call(node, ctx, anchor)
        case syn.Index():
            return ir.Item(
                to_expr(node.base, ctx, anchor), tuple(to_expr(i, ctx, anchor) for i in node.items)
            )
        case syn.Attribute():
            return ir.Attr(to_expr(node.base, ctx, anchor), node.name)
        case syn.Spread():
            return ir.AnyRank(node.id)


def name_expr(name: str, ctx: Context) -> ir.Expr:
    if name in ctx.local:
        return ir.Ref(name)
    if name in ctx.constants:
        return constant_expr(ctx.constants[name])
    binding = ctx.scope.get(name)
    return ir.Ref(binding.key if binding else name)


def constant_expr(value: ConstValue) -> ir.Expr:
    if isinstance(value, bool):
        return ir.Ref("true" if value else "false")
    if isinstance(value, str):
        return ir.Text(value)
    if isinstance(value, tuple):
        return ir.ListOf(tuple(map(constant_expr, value)))
    return ir.Num(str(value))


def _atom(
    node: syn.Number | syn.Quantity | syn.String | syn.Name, ctx: Context, anchor: syn.Anchor
) -> ir.Expr:
    match node:
        case syn.Number():
            return _number(node, read_number(node.text), ctx, anchor)
        case syn.Quantity():
            read = read_quantity(node.text)
            return _number(node, read if isinstance(read, Problem) else read[0], ctx, anchor)
        case syn.String():
            return ir.Text(read_text(node))
        case syn.Name():
            return name_expr(node.id, ctx)


def _number(node: syn.Node, value: int | Fraction | Problem, ctx: Context, anchor: syn.Anchor) -> ir.Expr:
    if not isinstance(value, Problem):
        return ir.Num(str(value))
    ctx.report(value.code, value.message, ctx.span(anchor, node), value.help)
    return NOTHING


def _unary(node: syn.Unary, ctx: Context, anchor: syn.Anchor) -> ir.Expr:
    operand = to_expr(node.operand, ctx, anchor)
    if node.op == "+":
        return operand
    if node.op == "-" and isinstance(operand, ir.Num):
        return ir.Num(operand.value[1:] if operand.value.startswith("-") else _negated(operand.value))
    return ir.Apply(node.op, (operand,))


def _negated(number: str) -> str:
    return number if number == "0" else "-" + number


def _binary(node: syn.Binary, ctx: Context, anchor: syn.Anchor) -> ir.Expr:
    if node.op in COMPARISONS and isinstance(node.left, syn.Binary) and node.left.op in COMPARISONS:
        help_ = "write `a <= b and b <= c`"
        ctx.report("records.chained_comparison", "comparisons do not chain", ctx.span(anchor, node), help_)
    return ir.Apply(node.op, (to_expr(node.left, ctx, anchor), to_expr(node.right, ctx, anchor)))


def _entries(
    entries: tuple[syn.Entry, ...], ctx: Context, anchor: syn.Anchor
) -> tuple[tuple[str, ir.Expr], ...]:
    seen: set[str] = set()
    for entry in entries:
        if entry.name in seen:
            ctx.report(
                "records.duplicate_field",
                f"`{entry.name}` is given twice",
                ctx.span(anchor, entry),
                "keep one of the two",
            )
        seen.add(entry.name)
    return tuple((entry.name, to_expr(entry.value, ctx, anchor)) for entry in entries)


def _call(node: syn.Call, ctx: Context, anchor: syn.Anchor) -> ir.Expr:
    if not isinstance(node.callee, syn.Name):
        ctx.report("records.wrong_value", "only a name can be called", ctx.span(anchor, node.callee))
        return NOTHING
    name = node.callee.id
    callee = name_expr(name, ctx) if ctx.calls_records else ir.Ref(name)
    args = tuple(to_expr(a, ctx, anchor) for a in node.args if not isinstance(a, syn.Entry))
    named = tuple(a for a in node.args if isinstance(a, syn.Entry))
    fn = callee.name if isinstance(callee, ir.Ref) else name
    return ir.Apply(fn, args, _entries(named, ctx, anchor))
