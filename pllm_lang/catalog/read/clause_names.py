"""Rule 2 of clauses: which names they may speak of, and which functions they may call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pllm_lang.catalog.evaluate import SPECIAL
from pllm_lang.catalog.expr import AnyRank
from pllm_lang.catalog.primitives.table import PRIMITIVES
from pllm_lang.catalog.read.context import Context
from pllm_lang.catalog.records import Operator, ParamSpec
from pllm_lang.catalog.slots import FORMAT_READS, SLOTS
from pllm_lang.catalog.walk import names_in
from pllm_lang.resolve.suggest import did_you_mean
from pllm_lang.resolve.uses import names_of, parts
from pllm_lang.syntax import nodes as syn

# What every clause may speak of besides the names of its record.
CONTEXT_NAMES = frozenset({"n_parties", "host", "true", "false", "carrier", "pi", "failure"})
FUNCTIONS = frozenset(
    name
    for name in (*PRIMITIVES, *SLOTS, *FORMAT_READS, *(name for name, _ in SPECIAL))
    if name.isidentifier()
)


def operator_names(operator: Operator) -> set[str]:
    """Operands, results, shape variables, parameters and format variables of an operator."""
    names = {part.name for part in operator.operands + operator.results} | set(operator.format_vars)
    names |= param_names(operator.params)
    for operand in operator.operands + operator.results:
        for part in operand.shape:
            names |= {part.name} if isinstance(part, AnyRank) else names_in(part)
    return names


def param_names(params: Iterable[ParamSpec]) -> set[str]:
    """Parameters, and the words that they may be."""
    found: set[str] = set()
    for param in params:
        found |= {param.name} | (names_in(param.allowed) if param.allowed is not None else set())
    return found


def check_clause_names(items: Iterable[syn.Item], own: set[str], ctx: Context) -> None:
    """A clause speaks of its record's `own` names, of constants and of formats, and calls known functions."""
    for item in items:
        exprs = _exprs(item)
        for name in (found for expr in exprs for found in names_of(expr)):
            if name.id in own or name.id in CONTEXT_NAMES or name.id in ctx.constants:
                continue
            binding = ctx.scope.get(name.id)
            if binding is None or binding.kind == "operator":
                help_ = did_you_mean(name.id, own) or "a clause may speak of " + ", ".join(sorted(own))
                message = f"`{name.id}` means nothing in this clause"
                ctx.report("names.unknown", message, ctx.span(item, name), help_)
        for name in (found for expr in exprs for found in _called(expr)):
            if name.id not in FUNCTIONS:
                help_ = did_you_mean(name.id, FUNCTIONS) or "functions are " + ", ".join(sorted(FUNCTIONS))
                message = f"there is no function `{name.id}` that a clause may call"
                ctx.report("names.unknown", message, ctx.span(item, name), help_)


def _exprs(item: syn.Item) -> tuple[syn.Expr, ...]:
    match item:
        case syn.Requires():
            return (item.condition,)
        case syn.Ensures():
            return (item.claim,)
        case syn.Intermediate() | syn.Means():
            return (item.value,)
        case syn.Field() if item.name.id == "computes":
            return (item.value,)
        case _:
            return ()


def _called(expr: syn.Expr | syn.Spread | syn.Entry) -> Iterator[syn.Name]:
    if isinstance(expr, syn.Call) and isinstance(expr.callee, syn.Name):
        yield expr.callee
    for part in parts(expr):
        yield from _called(part)
