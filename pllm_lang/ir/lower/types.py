"""Type expressions: `act8[1, 896]`, `fixed(64, 18)[n]`, `exact`, a format variable of a block.

In: a syntax expression. Out: a `TensorType`, `UNKNOWN` after a finding. Formats are entered in the plan's
table once.
"""

from __future__ import annotations

import msgspec

from pllm_lang.catalog.expr import NOWHERE
from pllm_lang.catalog.formats import STANDARD
from pllm_lang.catalog.records import Format
from pllm_lang.ir.lower.context import Context, FormatName
from pllm_lang.ir.lower.limits import MAX_ENTRIES, MAX_RANK
from pllm_lang.ir.lower.naming import all_names, constants, look
from pllm_lang.ir.lower.report import report, report_fault, span_of, suggest, whence, written
from pllm_lang.ir.plan import UNKNOWN, TensorType
from pllm_lang.resolve.constants import Fault, evaluate_integer
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.article import with_article


def read_type(ctx: Context, expr: syn.Expr, anchor: syn.Anchor) -> TensorType:
    if isinstance(expr, syn.Index):
        index = read_format(ctx, expr.base, anchor)
        shape = _shape(ctx, expr, anchor)
        return UNKNOWN if index is None or shape is None else TensorType(index, shape)
    index = read_format(ctx, expr, anchor)
    return UNKNOWN if index is None else TensorType(index, ())


def read_format(ctx: Context, expr: syn.Expr, anchor: syn.Anchor) -> int | None:
    """The index of a format in the plan's table, None after a finding."""
    if isinstance(expr, syn.Name):
        return _named_format(ctx, expr, anchor)
    span = span_of(ctx, anchor, expr)
    help = "declare it first (`format q = fixed(64, 18)`) and write its name"
    if isinstance(expr, syn.Call) and isinstance(expr.callee, syn.Name) and expr.callee.id not in _MAKERS:
        shape = ", ".join(written(ctx, anchor, arg) for arg in expr.args)
        help = f"a shape stands in brackets: `{expr.callee.id}[{shape}]`"
    elif isinstance(expr, syn.ListExpr):
        help = f"write the format before the shape: `f32{written(ctx, anchor, expr)}`"
    report(ctx, "types.not_a_format", "a format is needed here", span, help)
    return None


def _named_format(ctx: Context, name: syn.Name, anchor: syn.Anchor) -> int | None:
    named = look(ctx, name.id)
    if isinstance(named, FormatName):
        return named.index
    if name.id in STANDARD:
        return intern_format(ctx, STANDARD[name.id])
    binding = ctx.frame.module.scope.get(name.id)
    if binding is None:
        message = f"no format `{name.id}` is defined here"
        help = whence(ctx, name.id, "format") or _made_by(name.id) or suggest(ctx, name.id, all_names(ctx))
        report(ctx, "names.unknown", message, span_of(ctx, anchor, name), help, data={"name": name.id})
        return None
    known = ctx.format_index.get(binding.key)
    if known is not None:
        return known
    record = ctx.library.get(binding.key)
    if not isinstance(record, Format):
        if binding.kind != "format":  # else its declaration has a finding of its own
            message = f"`{name.id}` is {with_article(binding.kind)}, not a format"
            report(ctx, "types.not_a_format", message, span_of(ctx, anchor, name))
        return None
    index = ctx.format_index[binding.key] = intern_format(ctx, record)
    return index


def _made_by(name: str) -> str:
    """For the name of a kind of format, how a format of that kind is declared."""
    return f"declare one: `format q = {name}({_MAKERS[name]})`" if name in _MAKERS else ""


_MAKERS = {"float": "32", "int": "8", "fixed": "64, 18", "ring": "64"}


def intern_format(ctx: Context, form: Format) -> int:
    """The index of the format in the plan's table."""
    key = format_key(form)
    index = ctx.format_index.get(key)
    if index is None:
        index = ctx.format_index[key] = len(ctx.formats)
        ctx.formats.append(form)
    return index


def format_key(form: Format) -> str:
    """Equal for formats that are the same set of values under the same name."""
    bare = msgspec.structs.replace(form, doc="", origin=NOWHERE)
    return "=" + msgspec.json.encode(bare).decode()


def _shape(ctx: Context, expr: syn.Index, anchor: syn.Anchor) -> tuple[int, ...] | None:
    shape: list[int] = []
    size = 1
    for item in expr.items:
        dimension = _dimension(ctx, item, anchor)
        if dimension is None:
            return None
        shape.append(dimension)
        size *= dimension
    if size > MAX_ENTRIES or len(shape) > MAX_RANK:
        message = f"a tensor has at most {MAX_RANK} dimensions and {MAX_ENTRIES} entries"
        report(ctx, "limits.tensor", message, span_of(ctx, anchor, expr))
        return None
    return tuple(shape)


def _dimension(ctx: Context, item: syn.Expr | syn.Spread, anchor: syn.Anchor) -> int | None:
    if isinstance(item, syn.Number) and item.text.isdecimal() and len(item.text) < 16:
        value = int(item.text)
    elif isinstance(item, syn.Spread):
        message = "`...` stands only in an operator's signature"
        report(ctx, "types.not_a_shape", message, span_of(ctx, anchor, item))
        return None
    else:
        value = evaluate_integer(item, constants(ctx))
    if isinstance(value, Fault):
        report_fault(ctx, value, anchor)
        return None
    if value < 1:
        report(
            ctx, "types.not_a_shape", f"a dimension is at least 1, not {value}", span_of(ctx, anchor, item)
        )
        return None
    return value


def show_type(ctx: Context, kind: TensorType) -> str:
    if kind is UNKNOWN or kind.format < 0:
        return "unknown"
    name = ctx.formats[kind.format].name
    return f"{name}[{', '.join(map(str, kind.shape))}]" if kind.shape else name
