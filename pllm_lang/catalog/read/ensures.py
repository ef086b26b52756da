"""Rules 2 and 4 of clauses: which names they may use, and the one form that `ensures` has."""

from __future__ import annotations

from collections.abc import Iterable

from pllm_lang.catalog.expr import Apply, Expr, Ref
from pllm_lang.catalog.read.context import Context
from pllm_lang.catalog.records import Clause
from pllm_lang.catalog.walk import children
from pllm_lang.text.finding import Span

SLOTS = (
    "max_abs",
    "min",
    "max",
    "row_max",
    "norm2",
    "row_norm1",
    "row_norm2",
    "col_norm1",
    "col_norm2",
    "error",
)
FORMAT_READERS = ("ulp", "lowest", "highest", "ring_bits", "ring_size", "fraction_bits")
_OPERATORS = ("<=", ">=")
_LOWER = ("min", "max", "row_max")
"""Slots that a lower bound says something of; that a norm or an error is at least so large bounds nothing."""


def check_ensures(clauses: Iterable[Clause], results: set[str], ctx: Context) -> None:
    """Each clause is `S(r) <= E` or `S(r) >= E`: one slot of one result on the left, none on the right."""
    for clause in clauses:
        problem = ensures_problem(clause, results)
        if problem:
            span = Span(clause.origin.file, clause.origin.start, clause.origin.end)
            ctx.report(
                "records.bad_ensures", problem, span, "such as `ensures norm2(y) <= sqrt(n) * max_abs(g)`"
            )


def ensures_problem(clause: Clause, results: set[str]) -> str:
    """Why a clause has not the form that `ensures` needs, "" where it has."""
    expr = clause.expr
    if not isinstance(expr, Apply) or expr.fn not in _OPERATORS or len(expr.args) != 2:
        return "`ensures` states one bound: `slot(result) <= expression`"
    left, right = expr.args
    if not isinstance(left, Apply) or left.fn not in SLOTS or len(left.args) != 1:
        return "the left side is one slot of one result: " + ", ".join(SLOTS)
    if expr.fn == ">=" and left.fn not in _LOWER:
        return f"a lower bound of `{left.fn}` bounds nothing; it is stated from above, with `<=`"
    of = left.args[0]
    if not isinstance(of, Ref) or of.name not in results:
        known = ", ".join(f"`{r}`" for r in sorted(results))
        return f"the left side speaks of a result, here {known}"
    used = _results_in(right, results)
    if used:
        return (
            f"the right side speaks of the result `{used[0]}`: only operands, shapes and parameters bound it"
        )
    return ""


def _results_in(expr: Expr, results: set[str]) -> list[str]:
    """Results whose facts an expression reads; what is read of a result's format does not count."""
    if isinstance(expr, Apply) and expr.fn in FORMAT_READERS:
        return []
    if isinstance(expr, Ref):
        return [expr.name] if expr.name in results else []
    return [name for part in children(expr) for name in _results_in(part, results)]
