"""`operator`: signature, `means`, `ensures`, `requires`."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.catalog.expr import Apply, Expr
from pllm_lang.catalog.primitives.outer import OUTER
from pllm_lang.catalog.primitives.table import STRUCTURE
from pllm_lang.catalog.read.body import clauses, read_body
from pllm_lang.catalog.read.clause_names import check_clause_names, operator_names
from pllm_lang.catalog.read.context import Context
from pllm_lang.catalog.read.ensures import check_ensures
from pllm_lang.catalog.read.params import is_param, read_operand, read_params, signature_names
from pllm_lang.catalog.records import Operator
from pllm_lang.resolve.suggest import did_you_mean
from pllm_lang.syntax import nodes as syn


def read_operator(decl: syn.Operator, ctx: Context) -> Operator:
    format_vars = tuple(w.id for w in decl.type_vars.names) if decl.type_vars else ()
    ctx.local = signature_names(decl.params + decl.results) | frozenset(format_vars)
    _check_distinct(decl, ctx)
    body = read_body("operator", decl, decl.body, ctx)
    operator = Operator(
        name=decl.name.id,
        module=ctx.module,
        format_vars=format_vars,
        operands=tuple(read_operand(p, ctx) for p in decl.params if not is_param(p)),
        params=read_params(tuple(p for p in decl.params if is_param(p)), ctx),
        results=tuple(read_operand(p, ctx) for p in decl.results),
        means=clauses(decl.body, syn.Means, ctx),
        ensures=clauses(decl.body, syn.Ensures, ctx),
        requires=clauses(decl.body, syn.Requires, ctx),
        fields=body.fields,
        doc=decl.doc,
        origin=ctx.origin(decl, decl.name),
    )
    _check_formats(decl, operator, ctx)
    _check_means(decl, operator, ctx)
    if "structural" in operator.fields:
        _check_structural(decl, operator, ctx)
    check_clause_names(decl.body, operator_names(operator), ctx)
    check_ensures(operator.ensures, {r.name for r in operator.results}, ctx)
    return operator


def _check_distinct(decl: syn.Operator, ctx: Context) -> None:
    seen: set[str] = set()
    for param in decl.params + decl.results:
        if param.name.id in seen:
            ctx.report(
                "names.duplicate",
                f"`{param.name.id}` occurs twice in the signature",
                ctx.span(param, param.name),
            )
        seen.add(param.name.id)


def _check_formats(decl: syn.Operator, operator: Operator, ctx: Context) -> None:
    known = set(operator.format_vars) | {"exact", "boolean", "index", "label"}
    known |= {p.name for p in operator.params if p.kind == "format"}
    known |= {param.name for param in operator.params if param.kind == "format"}
    for param in decl.params + decl.results:
        if is_param(param) or param.type is None:
            continue
        node = param.type.base if isinstance(param.type, syn.Index) else param.type
        if isinstance(node, syn.Name) and node.id not in known:
            binding = ctx.scope.get(node.id)
            if binding is None or binding.kind != "format":
                formats = [n for n, b in ctx.scope.items() if b.kind == "format"]
                help_ = (
                    did_you_mean(node.id, [*known, *formats])
                    or "declare a format variable: `operator name {F} (...)`"
                )
                ctx.report(
                    "names.unknown",
                    f"`{node.id}` is no format and no format variable",
                    ctx.span(param, node),
                    help_,
                )


_MOVING = frozenset(primitive.name for primitive in (*STRUCTURE, OUTER))
"""What a structural step may do: move entries, and make the outer product of scales."""


def _check_structural(decl: syn.Operator, operator: Operator, ctx: Context) -> None:
    """A step that needs no component computes nothing."""
    for clause in operator.means:
        computing = next((fn for fn in _applied(clause.expr) if fn not in _MOVING), None)
        if computing is not None:
            message = (
                f"`{operator.name}` computes `{computing}`, and a structural operator only moves entries"
            )
            help_ = "leave out `structural: true`: a component covers what computes"
            ctx.report("records.wrong_value", message, ctx.span(decl, decl.name), help_)


def _applied(expr: Expr) -> Iterator[str]:
    """The functions that make the entries of an expression; what parameters are computed with does not count."""
    if isinstance(expr, Apply):
        yield expr.fn.rpartition(".")[2] or expr.fn
        for arg in expr.args:
            yield from _applied(arg)


def _check_means(decl: syn.Operator, operator: Operator, ctx: Context) -> None:
    results = {r.name for r in operator.results}
    seen: set[str] = set()
    for item in decl.body:
        if not isinstance(item, syn.Means):
            continue
        name = item.result.id
        if name not in results:
            help_ = did_you_mean(name, results) or "results are " + ", ".join(sorted(results))
            ctx.report(
                "names.unknown",
                f"`{name}` is no result of `{operator.name}`",
                ctx.span(item, item.result),
                help_,
            )
        elif name in seen:
            ctx.report(
                "records.duplicate_field",
                f"`{name}` has two meanings",
                ctx.span(item, item.result),
                "keep one of the two",
            )
        seen.add(name)
