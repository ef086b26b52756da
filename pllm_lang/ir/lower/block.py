"""Blocks: sub-plans expanded in place.

In: a call of a block. Out: its steps in the body under way, its results for the caller to name. A block
sees its parameters, the declarations of its own module, and nothing of the caller. Recursion is refused;
how much may be expanded is limited (`ir/lower/limits.py`).
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec.structs import replace

from pllm_lang.catalog.read.params import is_param
from pllm_lang.ir.lower.argument import report_unknown_argument
from pllm_lang.ir.lower.block_types import bind_type, check_type
from pllm_lang.ir.lower.context import Context, Exactly, FormatName, Frame, Named, Scope, Value
from pllm_lang.ir.lower.limits import MAX_BLOCK_DEPTH
from pllm_lang.ir.lower.naming import constants, look
from pllm_lang.ir.lower.operand import missing_value, read_operand
from pllm_lang.ir.lower.report import origin_of, report, report_fault, span_of
from pllm_lang.ir.lower.types import read_format
from pllm_lang.ir.plan import UNKNOWN, Operand, TensorType
from pllm_lang.resolve.constants import Fault, evaluate
from pllm_lang.resolve.modules import Binding
from pllm_lang.syntax import nodes as syn

Results: TypeAlias = list[tuple[Operand, TensorType]]
Given: TypeAlias = dict[str, syn.Expr]


def enter_block(ctx: Context, binding: Binding, call: syn.Call, step: syn.Step) -> syn.Block | None:
    """Sets the frame up for the block's body, its parameters bound; None after a finding."""
    block = find_block(ctx, binding)
    if block is None or not _may_enter(ctx, binding, call, step):
        return None
    if step.clauses:
        message = "a block is expanded in place; its own steps say how they are done"
        report(ctx, "types.clause", message, span_of(ctx, step, step.clauses[0]))
    given = _sort(ctx, block, call, step)
    names = _read_arguments(ctx, binding, block, given, call, step)
    _enter(ctx, binding, call, step)
    scope = ctx.frame.scope
    scope.names.update(names)
    for param in block.params:
        named = names.get(param.name.id)
        if isinstance(named, Value) and param.type is not None and named.type is not UNKNOWN:
            bind_type(ctx, block, param, named.type)
    return block


def find_block(ctx: Context, binding: Binding) -> syn.Block | None:
    known = ctx.blocks.get(binding.module)
    if known is None:
        module = ctx.modules.get(binding.module)
        decls = module.file.decls if module else ()
        known = {decl.name.id: decl for decl in decls if isinstance(decl, syn.Block)}
        ctx.blocks[binding.module] = known
    return known.get(binding.name)


def _may_enter(ctx: Context, binding: Binding, call: syn.Call, step: syn.Step) -> bool:
    around = ctx.frame.blocks
    span = span_of(ctx, step, call)
    if binding.key in around:
        names = [key.rsplit(".", 1)[-1] for key in (*around[around.index(binding.key) :], binding.key)]
        message = f"the block `{binding.name}` expands itself: {' -> '.join(names)}"
        report(ctx, "blocks.recursive", message, span, "a block is expanded in place; use `repeat` to repeat")
        return False
    if len(around) >= MAX_BLOCK_DEPTH:
        report(ctx, "limits.expansion", f"more than {MAX_BLOCK_DEPTH} blocks inside each other", span)
        return False
    return True


def _enter(ctx: Context, binding: Binding, call: syn.Call, step: syn.Step) -> None:
    frame = ctx.frame
    ctx.frame = Frame(
        module=ctx.modules[binding.module],
        scope=Scope(),
        prefix=f"{frame.prefix}{binding.name}.",
        call=frame.call or origin_of(ctx, step, call),
        blocks=(*frame.blocks, binding.key),
        loops=frame.loops,
        loop=frame.loop,
        stage=frame.stage,
    )


def block_results(ctx: Context, block: syn.Block, outer: Frame, call: syn.Call, step: syn.Step) -> Results:
    """What the body made of the block's results; leaves the block."""
    results: Results = []
    for result in block.results:
        named = look(ctx, result.name.id)
        if isinstance(named, Value):
            if result.type is not None:
                check_type(ctx, result, named.type)
            results.append((named.id, named.type))
            continue
        if not ctx.stopped:
            message = f"the block `{block.name.id}` makes no `{result.name.id}`"
            report(ctx, "names.unknown", message, span_of(ctx, block, block.name))
        results.append((missing_value(ctx, result.name.id, origin_of(ctx, step, call)), UNKNOWN))
    ctx.frame = outer
    return results


# ---- arguments ---------------------------------------------------------------------------------------


def _sort(ctx: Context, block: syn.Block, call: syn.Call, step: syn.Step) -> Given:
    names = [param.name.id for param in block.params]
    given: Given = {}
    unnamed = [arg for arg in call.args if not isinstance(arg, syn.Entry)]
    for param, arg in zip(block.params, unnamed, strict=False):
        given[param.name.id] = arg
    if len(unnamed) > len(names):
        message = f"the block `{block.name.id}` has {len(names)} parameters, {len(unnamed)} are given"
        report(ctx, "types.arity", message, span_of(ctx, step, call))
    for arg in call.args:
        if not isinstance(arg, syn.Entry):
            continue
        if arg.name not in names:
            report_unknown_argument(ctx, arg, names, step, block.name.id)
        elif arg.name in given:
            message = f"`{arg.name}` is given twice"
            report(ctx, "params.duplicate", message, span_of(ctx, step, arg), "keep one of the two")
        else:
            given[arg.name] = arg.value
    return given


def _read_arguments(
    ctx: Context, binding: Binding, block: syn.Block, given: Given, call: syn.Call, step: syn.Step
) -> dict[str, Named]:
    names: dict[str, Named] = {}
    for param in block.params:
        name = param.name.id
        if name in given:
            named = _argument(ctx, param, given[name], step)
        elif param.default is not None:
            named = _default(ctx, binding, param, param.default)
        else:
            message = f"`{block.name.id}` needs `{name}`"
            report(ctx, "params.missing", message, span_of(ctx, step, call))
            named = None
        names[name] = named or Value(missing_value(ctx, name, origin_of(ctx, step, call)), UNKNOWN)
    return names


def _argument(ctx: Context, param: syn.Param, expr: syn.Expr, anchor: syn.Anchor) -> Named | None:
    if is_param(param):
        return _constant_argument(ctx, param, expr, anchor)
    return _value_argument(ctx, expr, anchor)


def _default(ctx: Context, binding: Binding, param: syn.Param, expr: syn.Expr) -> Named | None:
    """Written in the block's module, so read with the names of that module, whatever the caller calls so."""
    outer = ctx.frame
    ctx.frame = replace(outer, module=ctx.modules[binding.module], scope=Scope())
    found = _argument(ctx, param, expr, param)
    ctx.frame = outer
    return found


def _value_argument(ctx: Context, expr: syn.Expr, anchor: syn.Anchor) -> Named | None:
    if isinstance(expr, syn.Call):
        help = "give it a line of its own: `t = ...`"
        report(
            ctx, "types.nested_call", "a call cannot stand inside another", span_of(ctx, anchor, expr), help
        )
        return None
    found = read_operand(ctx, expr, anchor)
    return found and Value(*found)


def _constant_argument(ctx: Context, param: syn.Param, expr: syn.Expr, anchor: syn.Anchor) -> Named | None:
    kind = param.type.id if isinstance(param.type, syn.Name) else ""
    if kind == "format":
        index = read_format(ctx, expr, anchor)
        return None if index is None else FormatName(index)
    value = evaluate(expr, constants(ctx))
    if isinstance(value, Fault):
        report_fault(ctx, value, anchor)
        return None
    return Exactly(value)
