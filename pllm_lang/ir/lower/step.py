"""Steps: `y = operator(...)`, `y = block(...)`, and writes of states.

In: a step. Out: nodes appended to the body, names defined. Every target is defined even after an error,
with the type `UNKNOWN`, so that one slip costs one finding.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec.structs import replace

from pllm_lang.ir.lower.affine import Affine, normal
from pllm_lang.ir.lower.call import find_operator, lower_operator
from pllm_lang.ir.lower.condition import tightened
from pllm_lang.ir.lower.context import Context, StateName, Value
from pllm_lang.ir.lower.facts import facts_of
from pllm_lang.ir.lower.naming import define, look
from pllm_lang.ir.lower.operand import member_index, missing_value, read_operand
from pllm_lang.ir.lower.report import declared, origin_of, report, span_of, suggest, whence, written
from pllm_lang.ir.lower.state import note_write
from pllm_lang.ir.lower.suffix import Suffix, read_suffix
from pllm_lang.ir.lower.types import show_type
from pllm_lang.ir.plan import UNKNOWN, Member, Operand, StateWrite, TensorType
from pllm_lang.resolve.modules import Binding
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.article import with_article
from pllm_lang.text.finding import Span

Results: TypeAlias = list[tuple[Operand, TensorType]]


def block_of(ctx: Context, step: syn.Step) -> Binding | None:
    """The block that the step calls, None where it calls something else."""
    callee = step.value.callee if isinstance(step.value, syn.Call) else None
    binding = ctx.frame.module.scope.get(callee.id) if isinstance(callee, syn.Name) else None
    return binding if binding is not None and binding.kind == "block" else None


def lower_step(ctx: Context, step: syn.Step) -> None:
    """A step that calls no block."""
    names = tuple(target.name.id for target in step.targets)
    assign(ctx, step, _results(ctx, step, names))


def assign(ctx: Context, step: syn.Step, results: Results) -> None:
    """Gives the results to the step's targets."""
    if len(results) != len(step.targets):
        results = _counted(ctx, step, results)
    for target, (operand, kind) in zip(step.targets, results, strict=True):
        _assign(ctx, step, target, operand, kind)


def _results(ctx: Context, step: syn.Step, names: tuple[str, ...]) -> Results:
    value = step.value
    if not isinstance(value, syn.Call) or not isinstance(value.callee, syn.Name):
        return _not_a_call(ctx, step)
    callee = find_operator(ctx, value.callee.id)
    if callee is not None:
        suffix = read_suffix(ctx, step, names) if step.clauses else Suffix()
        if ctx.facts and not ctx.frame.prefix:
            _assume_seen(ctx, names, suffix)
        results = lower_operator(ctx, callee, value, step, step.targets, suffix)
        if results:
            _map_clauses(ctx, results[0][0], step)
        return [*results]
    _report_callee(ctx, step, value.callee)
    return unknown_results(ctx, step)


def _assume_seen(ctx: Context, names: tuple[str, ...], suffix: Suffix) -> None:
    """What a facts file says of a result was seen on data, so it is assumed."""
    bounds = list(suffix.assumes)
    for position, name in enumerate(names):
        stated = facts_of(ctx, name, 0)
        bounds += [replace(bound, result=position) for bound in (*stated.true, *stated.seen)]
    suffix.assumes = tightened(bounds)


def _map_clauses(ctx: Context, value: int, step: syn.Step) -> None:
    assumed = 0
    for clause in step.clauses:
        role = "using" if isinstance(clause, syn.Using) else "at"
        if isinstance(clause, syn.Assume):
            role, assumed = f"assume{assumed}", assumed + 1
        ctx.parts[value, role] = origin_of(ctx, step, clause)
    for position, target in enumerate(step.targets):
        ctx.parts[value, f"target{position}"] = origin_of(ctx, step, target)


def unknown_results(ctx: Context, step: syn.Step) -> Results:
    """A value of unknown type for every target, after an error."""
    return [(missing_value(ctx, t.name.id, origin_of(ctx, step, t)), UNKNOWN) for t in step.targets]


def _counted(ctx: Context, step: syn.Step, results: Results) -> Results:
    given, made = len(step.targets), len(results)
    message = f"the right side has {_many(made, 'result')}, the left side {_many(given, 'name')}"
    report(ctx, "types.arity", message, span_of(ctx, step, step.targets[0]), _made(ctx, step))
    return (results + unknown_results(ctx, step))[:given] if given > made else results[:given]


def _made(ctx: Context, step: syn.Step) -> str:
    """The results of the operator that a step calls, by name."""
    name = (
        step.value.callee.id
        if isinstance(step.value, syn.Call) and isinstance(step.value.callee, syn.Name)
        else ""
    )
    callee = find_operator(ctx, name)
    if callee is None:
        return ""
    made = ", ".join(result.name for result in callee.record.results)
    return f"write `{made} = {name}(...)`, with names of your own"


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _report_callee(ctx: Context, step: syn.Step, callee: syn.Name) -> None:
    scope = ctx.frame.module.scope
    binding = scope.get(callee.id)
    span = span_of(ctx, step, callee)
    if binding is not None:
        message = f"`{callee.id}` is {with_article(binding.kind)}, not an operator or a block"
        help = "a component stands after `using`" if binding.kind == "component" else ""
        report(ctx, "names.wrong_kind", message, span, help)
        return
    message = f"no operator or block `{callee.id}` is defined here"
    help = whence(ctx, callee.id, "operator") or suggest(ctx, callee.id, declared(ctx, "block"))
    report(ctx, "names.unknown", message, span, help, data={"name": callee.id})


def _not_a_call(ctx: Context, step: syn.Step) -> Results:
    """`state = value` writes a state; anything else is no step."""
    target = step.targets[0]
    if len(step.targets) == 1 and isinstance(look(ctx, target.name.id), StateName) and not step.clauses:
        found = read_operand(ctx, step.value, step)
        return [found] if found else unknown_results(ctx, step)
    help = "write `y = operator(...)`"
    binding = ctx.frame.module.scope.get(step.value.id) if isinstance(step.value, syn.Name) else None
    if binding is not None and binding.kind == "policy":
        help = f"a policy stands in the head of the plan: `plan name under {binding.name} {{`"
    elif isinstance(step.value, syn.Name) and (right := _value_after_at(ctx, step)):
        left, name = step.value.id, target.name.id
        help = f"`@` says who computes; write `{name} = matmul({left}, {right})`, or `linear` with weights `[out, in]`"
    elif isinstance(step.value, syn.Name):
        help = f"write `{step.value.id}` where `{target.name.id}` is meant: a value has one name"
    elif isinstance(step.value, syn.Binary) and step.value.op in _WORDS:
        left, right = (written(ctx, step, side) for side in (step.value.left, step.value.right))
        help = f"write `{target.name.id} = {_WORDS[step.value.op]}({left}, {right})`"
    report(
        ctx, "types.not_a_step", "a step calls an operator or a block", span_of(ctx, step, step.value), help
    )
    return unknown_results(ctx, step)


def _value_after_at(ctx: Context, step: syn.Step) -> str:
    """`w` of `y = x @ w`, where `w` is a value and no party."""
    parties = (clause.party.id for clause in step.clauses if isinstance(clause, syn.At))
    return next((party for party in parties if look(ctx, party) is not None), "")


_WORDS = {"+": "add", "-": "sub", "*": "mul"}


def _assign(ctx: Context, step: syn.Step, target: syn.Target, operand: Operand, kind: TensorType) -> None:
    name = target.name.id
    named = look(ctx, name)
    if isinstance(named, StateName):
        _write(ctx, named, target, operand, kind, step)
        return
    if target.index is not None:
        message = f"`{name}` is no state family; only members of a state are written by index"
        report(ctx, "types.not_a_step", message, span_of(ctx, step, target))
    define(ctx, name, Value(operand, kind), span_of(ctx, step, target))


def _write(
    ctx: Context, named: StateName, target: syn.Target, value: Operand, kind: TensorType, step: syn.Step
) -> None:
    """`kv[layer] = value`: the state's type, its invariant owed by the verifier."""
    span = span_of(ctx, step, target)
    index: Affine | None = Affine(0)
    if named.count and target.index is None:
        message = f"`{target.name.id}` is a family of {named.count} states; one member is written at a time"
        report(ctx, "types.index", message, span, f"write `{target.name.id}[0] = ...`")
        return
    if target.index is not None:
        items = (target.index,)
        index = (
            member_index(ctx, named, items, target, step) if named.count else _no_family(ctx, target, span)
        )
    if index is None:
        return
    if UNKNOWN not in (kind, named.type) and kind != named.type:
        message = f"the state is {show_type(ctx, named.type)}, what is written is {show_type(ctx, kind)}"
        code = "shape" if kind.shape != named.type.shape else "format"
        report(ctx, f"types.{code}_mismatch", message, span)
    if isinstance(value, Member):
        report(ctx, "types.not_a_step", "a member is not written to a state as it is", span)
        return
    note_write(ctx, named, index, span)
    state = Member(named.id, normal(index)) if named.count else named.id
    ctx.body.append(StateWrite(state, value))
    ctx.parts.setdefault((value, "write"), origin_of(ctx, step, target))


def _no_family(ctx: Context, target: syn.Target, span: Span) -> None:
    message = f"`{target.name.id}` is one state, not a family; it has no members"
    report(ctx, "types.index", message, span)
