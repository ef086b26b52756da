"""Operands: names, members of families, stored scales, literals, and calls that only move entries.

In: an expression in operand position. Out: the operand with its type, None after a finding. A literal
becomes a constant of the plan; a structural call (`outer(sx, w.scale)`) a step of its own in the same
place.
"""

from __future__ import annotations

from typing import TypeAlias

from pllm_lang.catalog.expr import Origin
from pllm_lang.catalog.formats import EXACT
from pllm_lang.ir.lower.affine import Affine, normal, reach, read_index
from pllm_lang.ir.lower.context import (
    Context,
    Exactly,
    Family,
    FormatName,
    LoopVariable,
    Named,
    StateName,
    Value,
)
from pllm_lang.ir.lower.naming import constants, look, report_unknown
from pllm_lang.ir.lower.report import origin_of, report, report_fault, span_of, suggest
from pllm_lang.ir.lower.state import note_read
from pllm_lang.ir.lower.types import intern_format
from pllm_lang.ir.plan import UNKNOWN, Constant, Input, Member, Operand, TensorType, Weight
from pllm_lang.ir.walk import family
from pllm_lang.resolve.constants import Fault, evaluate
from pllm_lang.resolve.modules import ConstValue
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.article import with_article

Typed: TypeAlias = tuple[Operand, TensorType]


def read_operand(ctx: Context, expr: syn.Expr, anchor: syn.Anchor) -> Typed | None:
    """An operand that is no call; calls are the step's affair (`ir/lower/call.py`)."""
    match expr:
        case syn.Name():
            return _named(ctx, expr, anchor)
        case syn.Paren():
            return read_operand(ctx, expr.inner, anchor)
        case syn.Index():
            return _member(ctx, expr, anchor)
        case syn.Attribute():
            return _attribute(ctx, expr, anchor)
        case syn.Binary() | syn.Unary() if not _constant(ctx, expr):
            message = f"`{expr.op}` is arithmetic of constants; a step of the plan names its operator"
            help = "write `add(a, b)`, `sub(a, b)`, `mul(a, b)` on a line of its own"
            report(ctx, "types.not_an_operand", message, span_of(ctx, anchor, expr), help)
            return None
        case _:
            return _literal(ctx, expr, anchor)


def _named(ctx: Context, expr: syn.Name, anchor: syn.Anchor) -> Typed | None:
    named = look(ctx, expr.id)
    if isinstance(named, Value):
        return named.id, named.type
    if named is None:
        if expr.id in ctx.frame.module.constants:
            return _literal(ctx, expr, anchor)
        _report_no_value(ctx, expr, anchor)
        return None
    return _whole(ctx, named, expr, anchor)


def _report_no_value(ctx: Context, expr: syn.Name, anchor: syn.Anchor) -> None:
    binding = ctx.frame.module.scope.get(expr.id)
    span = span_of(ctx, anchor, expr)
    if binding is None or binding.kind == "operator":
        report_unknown(ctx, expr.id, span)
        return
    report(ctx, "names.wrong_kind", f"`{expr.id}` is {with_article(binding.kind)}, not a value", span)


def _whole(ctx: Context, named: Named, expr: syn.Name, anchor: syn.Anchor) -> Typed | None:
    span = span_of(ctx, anchor, expr)
    match named:
        case StateName(count=0):
            note_read(ctx, named, Affine(0), span)
            return named.id, named.type
        case Family() | StateName():
            help = f"write `{expr.id}[0]`, or `{expr.id}[layer]` inside a `repeat layer in 0..<{named.count}`"
            message = f"`{expr.id}` is a family of {named.count}; an operand is one of its members"
            report(ctx, "types.not_an_operand", message, span, help)
        case Exactly():
            return _literal(ctx, expr, anchor)
        case LoopVariable():
            message = f"`{expr.id}` counts a repeat; it may stand in an index only"
            report(ctx, "types.not_an_operand", message, span)
        case FormatName():
            report(ctx, "names.wrong_kind", f"`{expr.id}` is a format, not a value", span)
        case Value():
            return named.id, named.type
    return None


# ---- members -----------------------------------------------------------------------------------------


def _member(ctx: Context, expr: syn.Index, anchor: syn.Anchor) -> Typed | None:
    if not isinstance(expr.base, syn.Name):
        report(ctx, "types.not_an_operand", "only a family has members", span_of(ctx, anchor, expr))
        return None
    named = look(ctx, expr.base.id)
    if named is None:
        if expr.base.id in ctx.frame.module.constants:
            return _literal(ctx, expr, anchor)
        _report_no_value(ctx, expr.base, anchor)
        return None
    if not isinstance(named, Family | StateName) or named.count == 0:
        message = f"`{expr.base.id}` is one value, not a family; it has no members"
        help = "`slice(x, ...)` and `gather(x, i)` take parts of a tensor"
        report(ctx, "types.not_an_operand", message, span_of(ctx, anchor, expr), help)
        return None
    index = member_index(ctx, named, expr.items, expr, anchor)
    if index is None:
        return None
    if isinstance(named, StateName):
        note_read(ctx, named, index, span_of(ctx, anchor, expr))
    return Member(named.id, normal(index)), named.type


def member_index(
    ctx: Context,
    named: Family | StateName,
    items: tuple[syn.Expr | syn.Spread, ...],
    node: syn.Node,
    anchor: syn.Anchor,
) -> Affine | None:
    """The index of a member; it must lie inside the family for every turn of the repeats."""
    if len(items) != 1 or isinstance(items[0], syn.Spread):
        report(ctx, "types.index", "a family has one index", span_of(ctx, anchor, node))
        return None
    index = read_index(ctx, items[0], anchor)
    if index is None:
        return None
    low, high = reach(index)
    if low >= 0 and high < named.count:
        return index
    reached = str(low) if low == high else f"{low}..{high}"
    message = f"the index reaches {reached}, but the family has members 0..{named.count - 1}"
    data = {"value": reached, "limit": str(named.count - 1)}
    help = f"a repeat over all of them runs `in 0..<{named.count}`"
    report(ctx, "types.index", message, span_of(ctx, anchor, items[0]), help, data=data)
    return None


# ---- stored scales -----------------------------------------------------------------------------------


def _attribute(ctx: Context, expr: syn.Attribute, anchor: syn.Anchor) -> Typed | None:
    base = expr.base.base if isinstance(expr.base, syn.Index) else expr.base
    named = look(ctx, base.id) if isinstance(base, syn.Name) else None
    if named is None and isinstance(base, syn.Name):
        _report_no_value(ctx, base, anchor)
        return None
    weight = ctx.weight_of.get(family(named.id)) if isinstance(named, Value | Family) else None
    if weight is None or not isinstance(named, Value | Family) or expr.name != "scale":
        message = f"there is no `.{expr.name}` here: only a weight whose format declares a scale has `.scale`"
        help = suggest(ctx, expr.name, ("scale",)) if expr.name != "scale" else ""
        report(ctx, "types.not_an_operand", message, span_of(ctx, anchor, expr), help)
        return None
    scale = _scale_of(ctx, weight, expr, anchor)
    if scale is None:
        return None
    if isinstance(named.id, Member):
        return Member(family(scale.id), named.id.index), scale.type
    if not isinstance(expr.base, syn.Index):
        return scale.id, scale.type
    scales = Family(family(scale.id), scale.type, weight.count)
    index = member_index(ctx, scales, expr.base.items, expr, anchor)
    return None if index is None else (Member(scales.id, normal(index)), scale.type)


def _scale_of(ctx: Context, weight: Weight, expr: syn.Attribute, anchor: syn.Anchor) -> Value | None:
    known = ctx.scales.get(weight.value)
    if known is not None:
        return known
    form = ctx.formats[weight.type.format] if weight.type.format >= 0 else EXACT
    if not form.scale:
        message = f"values of the format `{form.name}` stand for themselves; it declares no scale"
        report(ctx, "types.not_an_operand", message, span_of(ctx, anchor, expr))
        return None
    rows = {"row": weight.type.shape[:-1], "column": weight.type.shape[-1:], "tensor": ()}[form.scale]
    kind = TensorType(intern_format(ctx, EXACT), rows)
    value = new_value(ctx, f"{ctx.values[weight.value][0]}.scale", ctx.values[weight.value][1])
    ctx.weights.append(
        Weight(
            value, kind, weight.count, weight.secret_from, facts_key=weight.facts_key, scale_of=weight.value
        )
    )
    ctx.scales[weight.value] = Value(value, kind)
    return ctx.scales[weight.value]


# ---- literals ----------------------------------------------------------------------------------------


def _constant(ctx: Context, expr: syn.Expr) -> bool:
    """Whether no value of the plan occurs in the arithmetic."""
    match expr:
        case syn.Name():
            return not isinstance(look(ctx, expr.id), Value | Family | StateName)
        case syn.Paren():
            return _constant(ctx, expr.inner)
        case syn.Unary():
            return _constant(ctx, expr.operand)
        case syn.Binary():
            return _constant(ctx, expr.left) and _constant(ctx, expr.right)
        case _:
            return True


def _literal(ctx: Context, expr: syn.Expr, anchor: syn.Anchor) -> Typed | None:
    value = evaluate(expr, constants(ctx))
    if isinstance(value, Fault):
        report_fault(ctx, value, anchor)
        return None
    shape = _shape_of(value)
    if shape is None:
        message = "a literal is a number, or nested lists of numbers with rows of equal length"
        report(ctx, "types.not_an_operand", message, span_of(ctx, anchor, expr))
        return None
    entries = tuple(_entries(value))
    kind = TensorType(intern_format(ctx, EXACT), shape)
    known = ctx.constant_index.get((shape, entries))
    if known is None:
        known = ctx.constant_index[(shape, entries)] = new_value(ctx, "", origin_of(ctx, anchor, expr))
        ctx.constants.append(Constant(known, kind, entries))
    return known, kind


def _shape_of(value: ConstValue) -> tuple[int, ...] | None:
    if isinstance(value, bool | str):
        return None
    if not isinstance(value, tuple):
        return ()
    inner = {_shape_of(item) for item in value}
    shape = inner.pop() if len(inner) == 1 else None
    return None if shape is None else (len(value), *shape)


def _entries(value: ConstValue) -> list[str]:
    if isinstance(value, tuple):
        return [entry for item in value for entry in _entries(item)]
    return [str(value)]


def missing_value(ctx: Context, name: str, origin: Origin) -> int:
    """A value in place of one that an error kept from being made: an input of unknown type."""
    value = new_value(ctx, name, origin)
    ctx.inputs.append(Input(value, UNKNOWN))
    return value


def new_value(ctx: Context, name: str, origin: Origin) -> int:
    """A fresh value id, called `name` in messages."""
    value = ctx.next_value
    ctx.next_value = value + 1
    frame = ctx.frame
    ctx.values[value] = (frame.prefix + name if name else name, origin)
    if frame.call is not None:
        ctx.expanded[value] = frame.call
    return value
