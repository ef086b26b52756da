"""Outputs and requirements: what a plan gives, and what it asks of it.

In: `output y to client`, `requires error(y) <= 1/256 else "..."`. Out: an `Output`, a `Requirement` over
`%v` values.
"""

from __future__ import annotations

from collections.abc import Callable

from pllm_lang.catalog import expr as ex
from pllm_lang.catalog.read.context import Context as Reading
from pllm_lang.catalog.read.expressions import constant_expr, to_expr
from pllm_lang.exact.number import MAX_BITS, Exact, bits, exact, normal, power, ratio
from pllm_lang.ir.lower.clauses import read_clauses
from pllm_lang.ir.lower.context import Context, Exactly, Value
from pllm_lang.ir.lower.naming import all_names, look, report_unknown
from pllm_lang.ir.lower.report import origin_of, report, span_of
from pllm_lang.ir.plan import Output, Requirement
from pllm_lang.ir.walk import references, substitute
from pllm_lang.resolve.texts import read_text
from pllm_lang.syntax import nodes as syn

FAILURE = "failure"
"""The word for the probability that any probabilistic step of the plan is wrong."""

_OUTPUT = (syn.To, syn.As, syn.Public)


def lower_output(ctx: Context, stmt: syn.Output) -> None:
    name = stmt.name.id
    named = look(ctx, name)
    said = read_clauses(ctx, stmt.clauses, stmt, name, _OUTPUT)
    if isinstance(named, Value) and isinstance(named.id, int):
        everybody = ctx.policy.parties if said.public and ctx.policy is not None else ()
        to, placement = tuple(sorted({*said.to, *everybody})), said.placement
        ctx.outputs.append(Output(named.id, to, placement.holding, placement.parties))
        ctx.parts.setdefault((named.id, "output"), origin_of(ctx, stmt))
    elif named is None:
        report_unknown(ctx, name, span_of(ctx, stmt, stmt.name))
    else:
        report(ctx, "types.not_an_operand", f"`{name}` is not a value", span_of(ctx, stmt, stmt.name))


def lower_requirement(ctx: Context, stmt: syn.Requires) -> None:
    condition = read_requirement(ctx, stmt.condition, stmt)
    if condition is None:
        return
    ctx.requirements += 1
    ctx.parts[-ctx.requirements, "requires"] = origin_of(ctx, stmt)
    ctx.body.append(Requirement(condition, read_text(stmt.reason) if stmt.reason else ""))


def read_requirement(ctx: Context, expr: syn.Expr, anchor: syn.Anchor) -> ex.Expr | None:
    """The condition with `%v` for values and numbers for constants, None after a finding."""
    module = ctx.frame.module
    reading = Reading(module.name, module.source.name, module.scope, module.constants)
    reading.local = frozenset(all_names(ctx))
    found = to_expr(expr, reading, anchor)
    ctx.findings += reading.findings
    if reading.findings:
        return None
    meanings = {name: _meaning(ctx, name) for name in references(found)}
    unknown = [name for name, meaning in meanings.items() if meaning is None]
    for name in unknown:
        report_unknown(ctx, name, span_of(ctx, anchor, expr))
    return None if unknown else folded(substitute(found, lambda name: meanings[name] or ex.Ref(name)))


def folded(expr: ex.Expr) -> ex.Expr:
    """The expression with arithmetic of numbers done: `1/256` and a constant of that value are one."""
    if not isinstance(expr, ex.Apply):
        return expr
    args = tuple(map(folded, expr.args))
    numbers = [exact(arg.value) for arg in args if isinstance(arg, ex.Num)]
    if len(numbers) == len(args) == 2 and expr.fn in _ARITHMETIC:
        value = _ARITHMETIC[expr.fn](numbers[0], numbers[1])
        if value is not None and bits(value) <= MAX_BITS:
            return ex.Num(str(value))
    return ex.Apply(expr.fn, args, expr.named)


_ARITHMETIC: dict[str, Callable[[Exact, Exact], Exact | None]] = {
    "+": lambda a, b: normal(a + b),
    "-": lambda a, b: normal(a - b),
    "*": lambda a, b: normal(a * b),
    "/": lambda a, b: ratio(a, b) if b else None,
    "^": power,
}


def _meaning(ctx: Context, name: str) -> ex.Expr | None:
    if name in ("true", "false"):
        return ex.Ref(name)
    named = look(ctx, name)
    if named is None and name == FAILURE:
        return ex.Ref(name)
    if isinstance(named, Value) and isinstance(named.id, int):
        return ex.Ref(f"%v{named.id}")
    return constant_expr(named.value) if isinstance(named, Exactly) else None
