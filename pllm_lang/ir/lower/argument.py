"""Arguments checked against the parameters that a record declares.

In: the named arguments of a call and its `ParamSpec`s. Out: every parameter in the record's order with its
value as span-free data, defaults filled in; what is missing, unknown, of the wrong kind or out of range is
a finding.
"""

from __future__ import annotations

from typing import TypeAlias

from pllm_lang.catalog import expr as ex
from pllm_lang.catalog.read.expressions import constant_expr
from pllm_lang.catalog.records import Component, Format, Kernel, ParamSpec
from pllm_lang.ir.lower.admits import admits, allowed_text
from pllm_lang.ir.lower.clauses import party
from pllm_lang.ir.lower.context import Context
from pllm_lang.ir.lower.naming import constants, look
from pllm_lang.ir.lower.report import report, report_fault, span_of, suggest, whence
from pllm_lang.ir.lower.types import intern_format, read_format
from pllm_lang.ir.words import show_expr
from pllm_lang.resolve.constants import Fault, evaluate, evaluate_integer, evaluate_number
from pllm_lang.resolve.modules import ConstValue
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.article import with_article

Arguments: TypeAlias = dict[str, syn.Entry]
Params: TypeAlias = tuple[tuple[str, ex.Expr], ...]


def read_params(
    ctx: Context,
    specs: tuple[ParamSpec, ...],
    given: Arguments,
    anchor: syn.Anchor,
    callee: syn.Node,
    name: str,
) -> Params | None:
    """Every parameter with its value, None after a finding. `name` is how messages call the record.

    Nothing is said to be missing where an argument has an unknown name or none: it was probably meant.
    """
    names = {spec.name for spec in specs}
    told = not names.issuperset(given) or (isinstance(callee, syn.Call) and has_unnamed(callee))
    values: list[tuple[str, ex.Expr]] = []
    complete = True
    for spec in specs:
        entry = given.get(spec.name)
        if entry is not None:
            value = read_argument(ctx, spec, entry.value, anchor)
        else:
            value = spec.default
            if value is None and not told:
                _report_missing(ctx, spec, anchor, callee, name)
            elif spec.kind == "format" and isinstance(value, ex.Ref):
                value = _default_format(ctx, value.name)
        if value is None:
            complete = False
        else:
            values.append((spec.name, value))
    return tuple(values) if complete else None


def _default_format(ctx: Context, key: str) -> ex.Expr | None:
    record = ctx.library.get(key)
    return ex.Ref(f"%f{intern_format(ctx, record)}") if isinstance(record, Format) else None


def _report_missing(ctx: Context, spec: ParamSpec, anchor: syn.Anchor, callee: syn.Node, name: str) -> None:
    help = f"add `{spec.name}: ...`, {describe(spec)}"
    report(ctx, "params.missing", f"`{name}` needs `{spec.name}`", span_of(ctx, anchor, callee), help)


def report_unknown_argument(
    ctx: Context, entry: syn.Entry, known: list[str], anchor: syn.Anchor, name: str
) -> None:
    listed = ", ".join(f"`{item}`" for item in known)
    help = suggest(ctx, entry.name, known) or (f"it takes {listed}" if known else "it takes none")
    message = f"`{name}` has no parameter `{entry.name}`"
    report(ctx, "params.unknown", message, span_of(ctx, anchor, entry), help, data={"name": entry.name})


def describe(spec: ParamSpec) -> str:
    """`an integer in [16, 32]`, for messages."""
    article = "an" if spec.kind[0] in "aeiou" else "a"
    return f"{article} {spec.kind}{allowed_text(spec.allowed)}"


def read_argument(ctx: Context, spec: ParamSpec, expr: syn.Expr, anchor: syn.Anchor) -> ex.Expr | None:
    """The value of one argument, None after a finding."""
    value = _value(ctx, spec, expr, anchor)
    if value is None or spec.allowed is None or admits(spec.allowed, value):
        return value
    message = f"`{spec.name}` is {describe(spec)}; {show_expr(value)} is not"
    data = {"value": show_expr(value), "limit": allowed_text(spec.allowed).removeprefix(" ")}
    report(
        ctx, "params.out_of_range", message, span_of(ctx, anchor, expr), _meant(ctx, spec, value), data=data
    )
    return None


def _meant(ctx: Context, spec: ParamSpec, value: ex.Expr) -> str:
    if not isinstance(value, ex.Ref) or not isinstance(spec.allowed, ex.ListOf):
        return ""
    return suggest(ctx, value.name, (item.name for item in spec.allowed.items if isinstance(item, ex.Ref)))


def _value(ctx: Context, spec: ParamSpec, expr: syn.Expr, anchor: syn.Anchor) -> ex.Expr | None:
    match spec.kind:
        case "integer":
            return _constant(ctx, evaluate_integer(expr, constants(ctx)), anchor)
        case "real" | "ratio":
            return _constant(ctx, evaluate_number(expr, constants(ctx)), anchor)
        case "text" | "boolean":
            return _of_kind(ctx, spec, expr, anchor)
        case "word":
            return _word(ctx, spec, expr, anchor)
        case "party":
            if isinstance(expr, syn.Name):
                return ex.Ref(party(ctx, expr.id, expr, anchor))
            return _wrong(ctx, spec, expr, anchor)
        case "format":
            index = read_format(ctx, expr, anchor)
            return None if index is None else ex.Ref(f"%f{index}")
        case "list" | "shape":
            return _list(ctx, spec, expr, anchor)
        case "component":
            return read_component(ctx, expr, anchor)


def _wrong(ctx: Context, spec: ParamSpec, expr: syn.Expr, anchor: syn.Anchor) -> None:
    message = f"`{spec.name}` is {describe(spec)}"
    help = "write `true` or `false`" if spec.kind == "boolean" else ""
    report(ctx, "params.wrong_kind", message, span_of(ctx, anchor, expr), help)


def _constant(ctx: Context, value: ConstValue | Fault, anchor: syn.Anchor) -> ex.Expr | None:
    if isinstance(value, Fault):
        report_fault(ctx, value, anchor)
        return None
    return constant_expr(value)


def _of_kind(ctx: Context, spec: ParamSpec, expr: syn.Expr, anchor: syn.Anchor) -> ex.Expr | None:
    value = evaluate(expr, constants(ctx))
    if isinstance(value, str if spec.kind == "text" else bool):
        return constant_expr(value)
    return _wrong(ctx, spec, expr, anchor)


def _word(ctx: Context, spec: ParamSpec, expr: syn.Expr, anchor: syn.Anchor) -> ex.Expr | None:
    """A word stands for itself, whatever else its name may mean in the plan."""
    if isinstance(expr, syn.Name):
        return ex.Ref(expr.id)
    return _wrong(ctx, spec, expr, anchor)


def _list(ctx: Context, spec: ParamSpec, expr: syn.Expr, anchor: syn.Anchor) -> ex.Expr | None:
    if isinstance(expr, syn.ListExpr):
        items = [_item(ctx, item, anchor) for item in expr.items]
        kept = tuple(item for item in items if item is not None)
        return ex.ListOf(kept) if len(kept) == len(items) else None
    value = evaluate(expr, constants(ctx))
    return constant_expr(value) if isinstance(value, tuple) else _wrong(ctx, spec, expr, anchor)


def _item(ctx: Context, expr: syn.Expr, anchor: syn.Anchor) -> ex.Expr | None:
    if (
        isinstance(expr, syn.Name)
        and look(ctx, expr.id) is None
        and expr.id not in ctx.frame.module.constants
    ):
        return ex.Ref(expr.id)
    return _constant(ctx, evaluate(expr, constants(ctx)), anchor)


# ---- components as arguments -------------------------------------------------------------------------


def read_component(ctx: Context, expr: syn.Expr, anchor: syn.Anchor) -> ex.Apply | None:
    """`chunked(max_elements: 8192)`: the key of a component or a kernel, with its parameters."""
    key, component = _find_record(ctx, expr)
    if not isinstance(component, Component | Kernel):
        _report_no_component(ctx, expr, anchor)
        return None
    given = named_arguments(ctx, expr, anchor, component.name)
    for entry in given.values():
        known = [spec.name for spec in component.params]
        if entry.name not in known:
            report_unknown_argument(ctx, entry, known, anchor, component.name)
    params = read_params(ctx, component.params, given, anchor, expr, component.name)
    return None if params is None else ex.Apply(key, (), params)


def find_component(ctx: Context, expr: syn.Expr, anchor: syn.Anchor) -> tuple[str, Component] | None:
    """The component that a name or a call names, None after a finding."""
    key, record = _find_record(ctx, expr)
    if isinstance(record, Component):
        return key, record
    _report_no_component(ctx, expr, anchor)
    return None


def _find_record(ctx: Context, expr: syn.Expr) -> tuple[str, object]:
    callee = expr.callee if isinstance(expr, syn.Call) else expr
    binding = ctx.frame.module.scope.get(callee.id) if isinstance(callee, syn.Name) else None
    return (binding.key, ctx.library.get(binding.key)) if binding else ("", None)


def _report_no_component(ctx: Context, expr: syn.Expr, anchor: syn.Anchor) -> None:
    callee = expr.callee if isinstance(expr, syn.Call) else expr
    name = callee.id if isinstance(callee, syn.Name) else ""
    binding = ctx.frame.module.scope.get(name)
    span = span_of(ctx, anchor, callee)
    if binding is not None:
        report(ctx, "names.wrong_kind", f"`{name}` is {with_article(binding.kind)}, not a component", span)
        return
    help = whence(ctx, name, "component") or "import it, for example from `std.methods`"
    message = f"no component `{name}` is defined here" if name else "a component's name is needed here"
    report(ctx, "names.unknown", message, span, help, data={"name": name})


def has_unnamed(call: syn.Call) -> bool:
    return any(not isinstance(arg, syn.Entry) for arg in call.args)


def named_arguments(ctx: Context, expr: syn.Expr, anchor: syn.Anchor, name: str) -> Arguments:
    """The arguments of a component; all have names, each once."""
    given: Arguments = {}
    for arg in expr.args if isinstance(expr, syn.Call) else ():
        if not isinstance(arg, syn.Entry):
            message = f"arguments of `{name}` have names"
            report(ctx, "params.unnamed", message, span_of(ctx, anchor, arg), "write `name: value`")
        elif arg.name in given:
            message = f"`{arg.name}` is given twice"
            report(ctx, "params.duplicate", message, span_of(ctx, anchor, arg), "keep one of the two")
        else:
            given[arg.name] = arg
    return given
