"""Names of one body: looked up, defined once, suggested where they are misspelt."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from pllm_lang.ir.lower.context import Context, Exactly, Named, Scope, Value
from pllm_lang.ir.lower.report import report, span_of, suggest
from pllm_lang.ir.plan import UNKNOWN
from pllm_lang.resolve.constants import Fault, Lookup
from pllm_lang.resolve.modules import ConstValue
from pllm_lang.resolve.units import Problem
from pllm_lang.syntax.nodes import Name, Step
from pllm_lang.text.finding import Label, Span

# The problem of a name whose own problem has been told.
TOLD = Problem("", "")


def look(ctx: Context, name: str) -> Named | None:
    """What `name` stands for in the body, None where the body knows no such name."""
    scope: Scope | None = ctx.frame.scope
    while scope is not None:
        found = scope.names.get(name)
        if found is not None:
            return found
        scope = scope.outer
    return None


def define(ctx: Context, name: str, named: Named, span: Span) -> None:
    """Gives `name` its only meaning in this body, or its next turn where a repeat carries it."""
    scope = ctx.frame.scope
    if name in scope.carried:
        scope.carried.discard(name)
    elif look(ctx, name) is not None:
        _report_second(ctx, name, span)
        return
    scope.names[name] = named
    scope.places[name] = span


def _report_second(ctx: Context, name: str, span: Span) -> None:
    scope: Scope | None = ctx.frame.scope
    while scope is not None and name not in scope.places:
        scope = scope.outer
    labels = (Label(scope.places[name], "first defined here"),) if scope else ()
    help = "give the new value a name of its own"
    if scope is not ctx.frame.scope:
        help = f"to hand `{name}` from turn to turn write `carrying [{name}]`"
    report(ctx, "names.duplicate", f"`{name}` is already defined", span, help, labels)


def report_unknown(ctx: Context, name: str, span: Span, what: str = "value") -> None:
    later = _defined_later(ctx, name)
    if later is not None:
        message = f"`{name}` is used before it is defined"
        report(ctx, "names.unknown", message, span, "", (Label(later, "defined here"),), {"name": name})
        return
    known = chain(all_names(ctx), ctx.frame.module.scope)
    message = f"no {what} `{name}` is defined here"
    help = suggest(ctx, name, known) or (_give(name) if what == "value" else "")
    report(ctx, "names.unknown", message, span, help, data={"name": name})


def _give(name: str) -> str:
    return f"give it a value in a step above, `{name} = ...`, or declare it as `input`, `weight` or `state`"


def _defined_later(ctx: Context, name: str) -> Span | None:
    """Where a later statement of the same body gives the name a value."""
    frame = ctx.frame
    if frame.later is None:
        steps = (stmt for stmt in reversed(frame.body) if isinstance(stmt, Step))
        frame.later = {t.name.id: span_of(ctx, stmt, t) for stmt in steps for t in stmt.targets}
    return frame.later.get(name)


def all_names(ctx: Context) -> Iterator[str]:
    scope: Scope | None = ctx.frame.scope
    while scope is not None:
        yield from scope.names
        scope = scope.outer


def constants(ctx: Context) -> Lookup:
    """Look-up for constant expressions: variables of a block first, then the module's constants."""
    module = ctx.frame.module

    def lookup(name: Name) -> ConstValue | Fault:
        named = look(ctx, name.id)
        if isinstance(named, Exactly):
            return named.value
        if named is None and name.id in module.constants:
            return module.constants[name.id]
        if isinstance(named, Value) and named.type is UNKNOWN:
            return Fault(name, TOLD)
        if named is not None:
            problem = Problem("numbers.not_constant", f"`{name.id}` is known only when the plan runs")
            return Fault(name, problem)
        help = suggest(ctx, name.id, chain(module.constants, all_names(ctx)))
        return Fault(name, Problem("names.unknown", f"no constant `{name.id}` is defined here", help))

    return lookup
