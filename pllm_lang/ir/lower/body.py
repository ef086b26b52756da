"""Bodies: the statements of a plan, a stage, a block or a repeat, one after the other.

In: statements. Out: nodes in the body under way. Declarations come first, whatever the order of the text,
then steps in order, then outputs and requirements; so moving a declaration changes nothing.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from pllm_lang.ir.lower.block import block_results, enter_block
from pllm_lang.ir.lower.context import Carrier, Context, Frame, LoopVariable, Scope, Value
from pllm_lang.ir.lower.declare import lower_input, lower_state, lower_weight, read_range
from pllm_lang.ir.lower.facts import check_facts, use_facts
from pllm_lang.ir.lower.limits import MAX_REPEAT_DEPTH, MAX_STATEMENTS, MAX_TURNS
from pllm_lang.ir.lower.naming import define, look, report_unknown
from pllm_lang.ir.lower.operand import new_value
from pllm_lang.ir.lower.outcome import lower_output, lower_requirement
from pllm_lang.ir.lower.report import origin_of, report, span_of
from pllm_lang.ir.lower.step import assign, block_of, lower_step, unknown_results
from pllm_lang.ir.lower.types import show_type
from pllm_lang.ir.plan import UNKNOWN, Carried, Repeat, Stage
from pllm_lang.resolve.modules import Binding
from pllm_lang.syntax import nodes as syn

Place: TypeAlias = Literal["plan", "staged plan", "stage", "block", "repeat"]

# What may stand where. In a plan with stages only declarations stand outside of them.
_STEPS = (syn.Step, syn.Repeat, syn.Requires)
_ALLOWED: dict[Place, tuple[type, ...]] = {
    "plan": (syn.Input, syn.Weight, syn.State, syn.Facts, syn.Output, *_STEPS),
    "staged plan": (syn.Input, syn.Weight, syn.State, syn.Facts, syn.Stage),
    "stage": (syn.Input, syn.Output, *_STEPS),
    "block": _STEPS,
    "repeat": (syn.Step, syn.Repeat),
}
_WHY = {
    "staged plan": "in a plan with stages every step belongs to a stage",
    "stage": "weights and states belong to the plan, outside of the stages",
    "block": "a block takes values as parameters and gives its results back",
    "repeat": "it would be said again in every turn",
}


def lower_body(ctx: Context, body: tuple[syn.Stmt, ...], place: Place) -> None:
    for stmt in arrange(ctx, body, place):
        lower_statement(ctx, stmt)
        if ctx.stopped:
            return


def arrange(ctx: Context, body: tuple[syn.Stmt, ...], place: Place) -> tuple[syn.Stmt, ...]:
    """The statements in the order of lowering; facts files are entered, what is misplaced is a finding."""
    allowed = _ALLOWED[place]
    ctx.frame.body = body
    order: dict[type, list[syn.Stmt]] = {syn.Input: [], syn.Step: [], syn.Output: []}
    for stmt in body:
        if not isinstance(stmt, allowed):
            _report_misplaced(ctx, stmt, place)
            continue
        if isinstance(stmt, syn.Facts):
            use_facts(ctx, stmt)
        order[_TURN[type(stmt)]].append(stmt)
    return (*order[syn.Input], *order[syn.Step], *order[syn.Output])


_TURN: dict[type, type] = {
    syn.Input: syn.Input,
    syn.Weight: syn.Input,
    syn.State: syn.Input,
    syn.Step: syn.Step,
    syn.Repeat: syn.Step,
    syn.Stage: syn.Step,
    syn.Output: syn.Output,
    syn.Requires: syn.Output,
    syn.Facts: syn.Output,
}


def _report_misplaced(ctx: Context, stmt: syn.Stmt, place: Place) -> None:
    word = type(stmt).__name__.lower()
    message = f"`{word}` has no place here: {_WHY.get(place, 'a plan without stages holds no stage')}"
    report(ctx, "stages.misplaced", message, span_of(ctx, stmt))


def lower_statement(ctx: Context, stmt: syn.Stmt) -> None:
    ctx.statements += 1
    if ctx.statements > MAX_STATEMENTS:
        _stop(ctx, stmt)
        return
    match stmt:
        case syn.Input():
            lower_input(ctx, stmt)
        case syn.Weight():
            lower_weight(ctx, stmt)
        case syn.State():
            lower_state(ctx, stmt)
        case syn.Step():
            block = block_of(ctx, stmt)
            if block is None:
                lower_step(ctx, stmt)
            else:
                _expand(ctx, stmt, block)
        case syn.Repeat():
            _lower_repeat(ctx, stmt)
        case syn.Stage():
            _lower_stage(ctx, stmt)
        case syn.Output():
            lower_output(ctx, stmt)
        case syn.Requires():
            lower_requirement(ctx, stmt)
        case syn.Facts():
            check_facts(ctx, stmt)


def _stop(ctx: Context, stmt: syn.Stmt) -> None:
    if not ctx.stopped:
        message = f"the plan has more than {MAX_STATEMENTS} statements once its blocks are expanded"
        help = "write equal parts as one `repeat`: its body counts once"
        report(
            ctx, "limits.expansion", message, span_of(ctx, stmt), help, data={"limit": str(MAX_STATEMENTS)}
        )
    ctx.stopped = True


def _expand(ctx: Context, step: syn.Step, binding: Binding) -> None:
    assert isinstance(step.value, syn.Call)
    outer = ctx.frame
    block = enter_block(ctx, binding, step.value, step)
    if block is None:
        assign(ctx, step, unknown_results(ctx, step))
        return
    lower_body(ctx, block.body, "block")
    results = block_results(ctx, block, outer, step.value, step)
    assign(ctx, step, results)


# ---- stages ------------------------------------------------------------------------------------------


def _lower_stage(ctx: Context, stage: syn.Stage) -> None:
    outer, around = ctx.frame, (ctx.body, ctx.outputs, ctx.stage_inputs)
    if any(stage.name.id == done.name for done in ctx.stages):
        report(
            ctx, "names.duplicate", f"there are two stages `{stage.name.id}`", span_of(ctx, stage, stage.name)
        )
    ctx.frame = Frame(outer.module, Scope(outer=outer.scope), stage=stage.name.id)
    ctx.body, ctx.outputs, ctx.stage_inputs = [], [], []
    ctx.accesses = {}
    lower_body(ctx, stage.body, "stage")
    ctx.stages.append(Stage(stage.name.id, tuple(ctx.body), tuple(ctx.stage_inputs), tuple(ctx.outputs)))
    ctx.body, ctx.outputs, ctx.stage_inputs = around
    ctx.frame = outer


# ---- repeats -----------------------------------------------------------------------------------------


def _lower_repeat(ctx: Context, stmt: syn.Repeat) -> None:
    found = read_range(ctx, stmt.range, stmt)
    low, high = found or (0, 1)
    if high - low > MAX_TURNS:
        message = f"a repeat has at most {MAX_TURNS} turns, this one has {high - low}"
        report(ctx, "limits.repeat", message, span_of(ctx, stmt, stmt.range), data={"limit": str(MAX_TURNS)})
        low, high = 0, 1
    depth = len(ctx.frame.loops)
    if depth >= MAX_REPEAT_DEPTH:
        message = f"more than {MAX_REPEAT_DEPTH} repeats inside each other"
        report(ctx, "limits.repeat", message, span_of(ctx, stmt))
        return
    carriers = _carriers(ctx, stmt)
    outer, around = ctx.frame, ctx.body
    _enter_turn(ctx, stmt, LoopVariable(depth, low, high), carriers)
    ctx.body = []
    lower_body(ctx, stmt.body, "repeat")
    body, ctx.body = tuple(ctx.body), around
    nexts = [_next(ctx, carrier) for carrier in carriers]
    ctx.frame = outer
    carried = tuple(_leave(ctx, stmt, c, value) for c, value in zip(carriers, nexts, strict=True))
    ctx.body.append(Repeat(depth, low, high, carried, body))


def _carriers(ctx: Context, stmt: syn.Repeat) -> list[Carrier]:
    carriers: list[Carrier] = []
    for item in stmt.carrying.items if stmt.carrying else ():
        named = look(ctx, item.id) if isinstance(item, syn.Name) else None
        span = span_of(ctx, stmt, item)
        if not isinstance(item, syn.Name) or (named is not None and not isinstance(named, Value)):
            report(ctx, "types.carried", "only values are carried round a repeat", span)
        elif named is None:
            report_unknown(ctx, item.id, span)
        elif not isinstance(named.id, int):
            report(ctx, "types.carried", "a member of a family is not carried", span)
        else:
            inner = new_value(ctx, item.id, origin_of(ctx, stmt, item))
            carriers.append(Carrier(item.id, named.id, inner, named.type, span))
    return carriers


def _enter_turn(ctx: Context, stmt: syn.Repeat, variable: LoopVariable, carriers: list[Carrier]) -> None:
    frame = ctx.frame
    loop = frame.loop
    if loop < 0:
        loop, ctx.loops = ctx.loops, ctx.loops + 1
    scope = Scope(outer=frame.scope)
    ctx.frame = Frame(
        frame.module,
        scope,
        frame.prefix,
        frame.call,
        frame.blocks,
        (*frame.loops, variable),
        loop,
        frame.stage,
    )
    define(ctx, stmt.variable.id, variable, span_of(ctx, stmt, stmt.variable))
    for carrier in carriers:
        scope.names[carrier.name] = Value(carrier.inner, carrier.type)
        scope.places[carrier.name] = carrier.span
        scope.carried.add(carrier.name)


def _next(ctx: Context, carrier: Carrier) -> int:
    """What the body made of the carried name, checked to be of the same type."""
    named = ctx.frame.scope.names[carrier.name]
    if not isinstance(named, Value) or not isinstance(named.id, int):
        report(ctx, "types.carried", f"`{carrier.name}` is not a value at the end of the turn", carrier.span)
        return carrier.inner
    if carrier.name in ctx.frame.scope.carried:
        message = f"`{carrier.name}` is carried, but the body gives it no new value"
        report(ctx, "types.carried", message, carrier.span, f"write `{carrier.name} = ...` in the body")
    elif UNKNOWN not in (named.type, carrier.type) and named.type != carrier.type:
        message = (
            f"`{carrier.name}` enters a turn as {show_type(ctx, carrier.type)} "
            f"and leaves it as {show_type(ctx, named.type)}"
        )
        report(ctx, "types.carried", message, carrier.span, "every turn hands on what it was handed")
    return named.id


def _leave(ctx: Context, stmt: syn.Repeat, carrier: Carrier, next_value: int) -> Carried:
    final = new_value(ctx, carrier.name, origin_of(ctx, stmt))
    scope = ctx.frame.scope
    if ctx.frame.loops and carrier.name not in scope.names:
        message = f"`{carrier.name}` is carried round this repeat, but not round the one outside"
        help = f"write `carrying [{carrier.name}]` there too, or give the value another name first"
        report(ctx, "types.carried", message, carrier.span, help)
    scope.carried.discard(carrier.name)
    if scope.outer is None and not ctx.frame.prefix:
        ctx.rebound.append((carrier.name, scope.names.get(carrier.name)))
    scope.names[carrier.name] = Value(final, carrier.type)
    return Carried(carrier.initial, carrier.inner, next_value, final)
