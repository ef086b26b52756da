"""Calls of operators: arguments sorted into operands and parameters, types inferred, one step appended.

In: a call. Out: the step in the body under way and the typed results. What does not fit is a finding, and
then the results have the type `UNKNOWN`, which nothing downstream complains about again.
"""

from __future__ import annotations

import msgspec

from pllm_lang.catalog.records import Operator
from pllm_lang.ir.lower.argument import Arguments, Params, read_params, report_unknown_argument
from pllm_lang.ir.lower.context import Context
from pllm_lang.ir.lower.conversion import conversion_fixes, conversion_help, signature_text
from pllm_lang.ir.lower.operand import missing_value, new_value, read_operand
from pllm_lang.ir.lower.report import origin_of, report, span_of, whence, written
from pllm_lang.ir.lower.signature import Misfit, Types, given_types, infer_types
from pllm_lang.ir.lower.suffix import Suffix
from pllm_lang.ir.lower.types import show_type
from pllm_lang.ir.plan import UNKNOWN, Operand, Step, TensorType
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.finding import Fix, Label


class Callee(msgspec.Struct, frozen=True):
    """An operator's record with what every call of it looks up."""

    key: str
    record: Operator
    operands: tuple[str, ...]
    names: frozenset[str]
    structural: bool


class Sorted(msgspec.Struct):
    """An expression for each operand (None where it is missing), and all other named arguments."""

    operands: list[syn.Expr | None]
    params: Arguments


def find_operator(ctx: Context, name: str) -> Callee | None:
    """The operator that `name` stands for; None where it stands for none."""
    binding = ctx.frame.module.scope.get(name)
    if binding is None or binding.kind != "operator":
        return None
    key = binding.key
    known = ctx.callees.get(key)
    if known is None:
        record = ctx.library.get(key)
        if not isinstance(record, Operator):
            return None
        operands = tuple(spec.name for spec in record.operands)
        names = frozenset((*operands, *(spec.name for spec in record.params)))
        structural = "structural" in record.fields
        known = ctx.callees[key] = Callee(key, record, operands, names, structural)
    return known


def lower_operator(
    ctx: Context,
    callee: Callee,
    call: syn.Call,
    anchor: syn.Anchor,
    targets: tuple[syn.Target, ...],
    suffix: Suffix,
) -> list[tuple[int, TensorType]]:
    """Appends the step; its results in the record's order, called in messages as `targets` say."""
    sorted_ = _sort(ctx, callee, call, anchor)
    operands, types = _read_operands(ctx, callee, sorted_, call, anchor, suffix)
    params = read_params(ctx, callee.record.params, sorted_.params, anchor, call.callee, callee.record.name)
    results = _result_types(ctx, callee, types, params, suffix, sorted_, call, anchor)
    values = _new_values(ctx, len(results), targets, call, anchor)
    step = Step(
        callee.key,
        operands,
        params or (),
        values,
        results,
        suffix.use,
        suffix.party,
        tuple([bound for bound in suffix.assumes if bound.result < len(results)]),
        structural=callee.structural,
    )
    ctx.body.append(step)
    if values:
        _map_parts(ctx, values[0], sorted_, call, anchor)
    return list(zip(values, results, strict=True))


def _new_values(
    ctx: Context, count: int, targets: tuple[syn.Target, ...], call: syn.Call, anchor: syn.Anchor
) -> tuple[int, ...]:
    named = [new_value(ctx, target.name.id, origin_of(ctx, anchor, target)) for target in targets[:count]]
    spare = [new_value(ctx, "", origin_of(ctx, anchor, call)) for _ in range(count - len(named))]
    return (*named, *spare)


def _result_types(
    ctx: Context,
    callee: Callee,
    types: Types,
    params: Params | None,
    suffix: Suffix,
    arguments: Sorted,
    call: syn.Call,
    anchor: syn.Anchor,
) -> Types:
    """Inferred where every operand has a type and every parameter a value; else `UNKNOWN`."""
    record = callee.record
    if params is None or suffix.broken or UNKNOWN in types:
        return (UNKNOWN,) * len(record.results)
    found = infer_types(ctx, callee.key, record, types, params)
    if isinstance(found, Misfit):
        _report_misfit(ctx, callee, found, types, arguments, call, anchor)
        return (UNKNOWN,) * len(record.results)
    if suffix.component is None or suffix.use is None:
        return found
    return given_types(ctx, record, suffix.component, suffix.use.params, types, found)


def _report_misfit(
    ctx: Context,
    callee: Callee,
    misfit: Misfit,
    types: Types,
    arguments: Sorted,
    call: syn.Call,
    anchor: syn.Anchor,
) -> None:
    node: syn.Node = call
    labels: list[Label] = []
    for name, expr, kind in zip(callee.operands, arguments.operands, types, strict=True):
        if expr is None:
            continue
        if name == misfit.operand:
            node = expr
        else:
            labels.append(Label(span_of(ctx, anchor, expr), f"{name}: {show_type(ctx, kind)}"))
    help = f"`{signature_text(callee.record)}`"
    fixes: tuple[Fix, ...] = ()
    if misfit.sort == "format":
        texts = [written(ctx, anchor, expr) if expr else "..." for expr in arguments.operands]
        help = conversion_help(ctx, types, texts)
        fixes = conversion_fixes(ctx, types, arguments.operands, anchor)
    code = f"types.{misfit.sort}_mismatch"
    report(ctx, code, misfit.message, span_of(ctx, anchor, node), help, tuple(labels), fixes=fixes)


def _map_parts(ctx: Context, value: int, arguments: Sorted, call: syn.Call, anchor: syn.Anchor) -> None:
    parts = ctx.parts
    parts[value, "step"] = origin_of(ctx, anchor, call)
    for position, operand in enumerate(arguments.operands):
        if operand is not None:
            parts[value, f"operand{position}"] = origin_of(ctx, anchor, operand)
    for name, entry in arguments.params.items():
        parts[value, f"param:{name}"] = origin_of(ctx, anchor, entry)


# ---- arguments ---------------------------------------------------------------------------------------


def _sort(ctx: Context, callee: Callee, call: syn.Call, anchor: syn.Anchor) -> Sorted:
    found = Sorted([None] * len(callee.operands), {})
    position = 0
    for arg in call.args:
        if isinstance(arg, syn.Entry):
            _sort_named(ctx, callee, arg, anchor, found)
        elif position < len(callee.operands):
            found.operands[position] = arg
            position += 1
        else:
            position += 1
    if position > len(callee.operands):
        _report_count(ctx, callee, position, call, anchor)
    return found


def _sort_named(ctx: Context, callee: Callee, arg: syn.Entry, anchor: syn.Anchor, found: Sorted) -> None:
    name = arg.name
    if name not in callee.names:
        known = [*(spec.name for spec in callee.record.params), *callee.operands]
        report_unknown_argument(ctx, arg, known, anchor, callee.record.name)
        found.params[name] = arg
    elif name in callee.operands:
        position = callee.operands.index(name)
        if found.operands[position] is not None:
            _report_twice(ctx, arg, anchor)
        found.operands[position] = arg.value
    elif name in found.params:
        _report_twice(ctx, arg, anchor)
    else:
        found.params[name] = arg


def _report_twice(ctx: Context, arg: syn.Entry, anchor: syn.Anchor) -> None:
    message = f"`{arg.name}` is given twice"
    report(ctx, "params.duplicate", message, span_of(ctx, anchor, arg), "keep one of the two")


def _report_count(ctx: Context, callee: Callee, given: int, call: syn.Call, anchor: syn.Anchor) -> None:
    takes = ", ".join(f"`{name}`" for name in callee.operands) or "none"
    message = f"`{callee.record.name}` has {len(callee.operands)} operands, {given} are given"
    params = [spec.name for spec in callee.record.params]
    help = f"its operands are {takes}"
    if params:
        help += f"; parameters are written by name: `{params[0]}: ...`"
    report(ctx, "types.arity", message, span_of(ctx, anchor, call), help)


def _read_operands(
    ctx: Context, callee: Callee, arguments: Sorted, call: syn.Call, anchor: syn.Anchor, suffix: Suffix
) -> tuple[tuple[Operand, ...], tuple[TensorType, ...]]:
    operands: list[Operand] = []
    types: list[TensorType] = []
    for name, expr in zip(callee.operands, arguments.operands, strict=True):
        if expr is None:
            if callee.names.issuperset(arguments.params):
                message = f"`{callee.record.name}` needs its operand `{name}`"
                report(ctx, "types.arity", message, span_of(ctx, anchor, call))
            found = None
        elif isinstance(expr, syn.Call):
            found = _lower_inner(ctx, expr, anchor, suffix)
        else:
            found = read_operand(ctx, expr, anchor)
        operand, kind = found or (missing_value(ctx, "", origin_of(ctx, anchor, call)), UNKNOWN)
        operands.append(operand)
        types.append(kind)
    return tuple(operands), tuple(types)


def _lower_inner(
    ctx: Context, call: syn.Call, anchor: syn.Anchor, suffix: Suffix
) -> tuple[int, TensorType] | None:
    """A call in operand position: only what merely moves entries, done by whoever does the step."""
    name = call.callee.id if isinstance(call.callee, syn.Name) else ""
    callee = find_operator(ctx, name)
    if callee is None:
        message = f"no operator `{name}` is defined here" if name else "only a name can be called"
        span = span_of(ctx, anchor, call.callee)
        help = whence(ctx, name, "operator")
        report(ctx, "names.unknown", message, span, help, data={"name": name})
        return None
    if not callee.structural:
        help = f"give it a line of its own, `t = {name}(...)`, so that `using` and `@` say how it is done"
        message = f"`{name}` computes, so it is a step and cannot stand inside another"
        report(ctx, "types.nested_call", message, span_of(ctx, anchor, call), help)
        return None
    if len(callee.record.results) != 1:
        message = f"`{name}` has {len(callee.record.results)} results, so it cannot stand inside another call"
        help = f"give them names on a line of their own, `a, b = {name}(...)`"
        report(ctx, "types.nested_call", message, span_of(ctx, anchor, call), help)
        return None
    return lower_operator(ctx, callee, call, anchor, (), Suffix(party=suffix.party))[0]
