"""What stands after a step's call: `using component(...)`, `@ party`, `assume ...`.

In: the clauses of a step. Out: a `Suffix`. Roles of a component are bound to parties by name, or explicitly
(`masked_linear(client: alice, preparation: dealer)`).
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from pllm_lang.catalog.records import Component
from pllm_lang.ir.lower.argument import (
    Arguments,
    find_component,
    named_arguments,
    read_params,
    report_unknown_argument,
)
from pllm_lang.ir.lower.clauses import party
from pllm_lang.ir.lower.condition import read_condition, tightened
from pllm_lang.ir.lower.context import Context
from pllm_lang.ir.lower.report import report, span_of
from pllm_lang.ir.plan import Bound, ComponentUse
from pllm_lang.syntax import nodes as syn


class Suffix(msgspec.Struct):
    """`broken` marks a component whose parameters could not be read, so that nothing is known of the result."""

    use: ComponentUse | None = None
    component: Component | None = None
    party: str = ""
    assumes: tuple[Bound, ...] = ()
    broken: bool = False


def read_suffix(ctx: Context, step: syn.Step, names: Collection[str]) -> Suffix:
    suffix = Suffix()
    bounds: list[Bound] = []
    positions = {name: position for position, name in enumerate(names)}
    for clause in step.clauses:
        match clause:
            case syn.Using():
                _once(ctx, suffix.component is not None, "using", clause, step)
                _read_using(ctx, clause.component, step, suffix)
            case syn.At():
                _once(ctx, bool(suffix.party), "@", clause, step)
                suffix.party = party(ctx, clause.party.id, clause.party, step)
            case syn.Assume():
                stated = read_condition(ctx, clause.condition, step, positions)
                bounds += [msgspec.structs.replace(bound, result=positions[name]) for name, bound in stated]
    suffix.assumes = tightened(bounds) if bounds else ()
    return suffix


def _once(ctx: Context, again: bool, word: str, clause: syn.Node, step: syn.Step) -> None:
    if again:
        message = f"`{word}` is said twice"
        report(ctx, "types.clause", message, span_of(ctx, step, clause), "keep one of the two")


def _read_using(ctx: Context, expr: syn.Expr, step: syn.Step, suffix: Suffix) -> None:
    found = find_component(ctx, expr, step)
    if found is None:
        return
    key, component = found
    given = named_arguments(ctx, expr, step, component.name)
    names = {spec.name for spec in component.params}
    roles = _read_roles(ctx, component, given, step)
    for entry in given.values():
        if entry.name not in names and entry.name not in component.roles:
            known = [*(spec.name for spec in component.params), *component.roles]
            report_unknown_argument(ctx, entry, known, step, component.name)
    params = read_params(ctx, component.params, _without(given, roles), step, expr, component.name)
    suffix.component = component
    suffix.use = ComponentUse(key, params or (), roles)
    suffix.broken = params is None


def _without(given: Arguments, roles: tuple[tuple[str, str], ...]) -> Arguments:
    bound = dict(roles)
    return {name: entry for name, entry in given.items() if name not in bound}


def _read_roles(
    ctx: Context, component: Component, given: Arguments, step: syn.Step
) -> tuple[tuple[str, str], ...]:
    """Each role with its party: the one written, else the policy's party of the same name."""
    roles: list[tuple[str, str]] = []
    params = {spec.name for spec in component.params}
    for role in component.roles:
        entry = None if role in params else given.get(role)
        if entry is not None and isinstance(entry.value, syn.Name):
            roles.append((role, party(ctx, entry.value.id, entry.value, step)))
        elif entry is not None:
            message = f"the role `{role}` is taken by a party"
            report(ctx, "params.wrong_kind", message, span_of(ctx, step, entry.value))
        elif ctx.policy is None or role in ctx.policy.parties:
            roles.append((role, role))
        else:
            _report_unbound(ctx, component, role, step)
    return tuple(roles)


def _report_unbound(ctx: Context, component: Component, role: str, step: syn.Step) -> None:
    assert ctx.policy is not None
    using = next(clause for clause in step.clauses if isinstance(clause, syn.Using))
    message = f"nobody takes the role `{role}` of `{component.name}`: the policy has no party of that name"
    help = f"write `{component.name}({role}: ...)` with one of {', '.join(ctx.policy.parties)}"
    report(ctx, "params.missing", message, span_of(ctx, step, using), help)
