"""Inputs, weights and states: values that a plan begins with.

In: their declarations. Out: entries in the plan's tables, names in scope.
"""

from __future__ import annotations

from pllm_lang.ir.lower.clauses import Said, read_clauses
from pllm_lang.ir.lower.condition import tightened
from pllm_lang.ir.lower.context import Context, Family, StateName, Value
from pllm_lang.ir.lower.facts import facts_of, weight_facts
from pllm_lang.ir.lower.limits import MAX_FAMILY
from pllm_lang.ir.lower.naming import constants, define
from pllm_lang.ir.lower.operand import new_value
from pllm_lang.ir.lower.report import origin_of, report, report_fault, span_of, written
from pllm_lang.ir.lower.types import read_type
from pllm_lang.ir.plan import Input, Placement, State, Weight
from pllm_lang.resolve.constants import Fault, evaluate_integer
from pllm_lang.syntax import nodes as syn

_INPUT = (syn.From, syn.Public, syn.As, syn.At, syn.Where)
_WEIGHT = (syn.Public, syn.Secret, syn.Where)
_STATE = (syn.Public, syn.As, syn.At, syn.Where)


def lower_input(ctx: Context, decl: syn.Input) -> None:
    name = decl.name.id
    kind = read_type(ctx, decl.type, decl)
    said = read_clauses(ctx, decl.clauses, decl, name, _INPUT)
    value = new_value(ctx, name, origin_of(ctx, decl, decl.name))
    target = ctx.stage_inputs if ctx.frame.stage else ctx.inputs
    stated = facts_of(ctx, name, 0)
    bounds = tightened([*said.bounds, *stated.true]) if stated.true else said.bounds
    target.append(Input(value, kind, said.owner, _placed(said), bounds, stated.seen))
    define(ctx, name, Value(value, kind), span_of(ctx, decl, decl.name))


def _placed(said: Said) -> Placement:
    """An input that only says whose it is lies with its owner, in the clear."""
    if said.placement.kind == "unplaced" and said.owner:
        return Placement("party", (said.owner,))
    return said.placement


def lower_weight(ctx: Context, decl: syn.Weight) -> None:
    name = decl.name.id
    count = _count(ctx, decl.family, decl)
    kind = read_type(ctx, decl.type, decl)
    said = read_clauses(ctx, decl.clauses, decl, name, _WEIGHT)
    if ctx.policy is not None and not said.public and not said.secret_from:
        help = "write `public`, or `secret from [...]` with the parties that must not learn it"
        message = f"the weight `{name}` is neither public nor kept secret from anyone"
        report(ctx, "types.weight_owner", message, span_of(ctx, decl, decl.name), help)
    value = new_value(ctx, name, origin_of(ctx, decl, decl.name))
    stated = weight_facts(ctx, decl, kind, count)
    bounds = tightened([*said.bounds, *stated.true]) if stated.true else said.bounds
    weight = Weight(value, kind, count, said.secret_from, bounds, stated.checkpoint, assumed=stated.seen)
    ctx.weights.append(weight)
    ctx.weight_of[value] = weight
    named = Family(value, kind, count) if count else Value(value, kind)
    define(ctx, name, named, span_of(ctx, decl, decl.name))


def lower_state(ctx: Context, decl: syn.State) -> None:
    name = decl.name.id
    count = _count(ctx, decl.family, decl)
    kind = read_type(ctx, decl.type, decl)
    said = read_clauses(ctx, decl.clauses, decl, name, _STATE)
    value = new_value(ctx, name, origin_of(ctx, decl, decl.name))
    ctx.states.append(State(value, kind, count, said.placement, said.bounds))
    define(ctx, name, StateName(value, kind, count), span_of(ctx, decl, decl.name))


def _count(ctx: Context, family: syn.Expr | None, decl: syn.Anchor) -> int:
    """Members of `w[0..<24]`, 0 where the name is no family."""
    if family is None:
        return 0
    found = read_range(ctx, family, decl)
    if found is None:
        return 1
    low, high = found
    if low != 0:
        report(
            ctx,
            "types.index",
            "members of a family count from 0",
            span_of(ctx, decl, family),
            "write `0..<24`",
        )
    if high - low > MAX_FAMILY:
        report(ctx, "limits.family", f"a family has at most {MAX_FAMILY} members", span_of(ctx, decl, family))
        return 1
    return max(high, 1)


def read_range(ctx: Context, expr: syn.Expr, anchor: syn.Anchor) -> tuple[int, int] | None:
    """`low..<high` or `low..high` as a half-open pair, at least one long; None after a finding."""
    if not isinstance(expr, syn.Range):
        message = "a range is needed here"
        end = written(ctx, anchor, expr)
        report(
            ctx, "types.index", message, span_of(ctx, anchor, expr), f"write `0..<{end}` for {end} of them"
        )
        return None
    ends: list[int] = []
    for end in (expr.low, expr.high):
        value = evaluate_integer(end, constants(ctx))
        if isinstance(value, Fault):
            report_fault(ctx, value, anchor)
            return None
        ends.append(value)
    low, high = ends[0], ends[1] + (1 if expr.closed else 0)
    if high <= low:
        report(ctx, "types.index", "this range is empty", span_of(ctx, anchor, expr))
        return None
    return low, high
