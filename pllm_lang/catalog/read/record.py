"""Declarations that are a kind, a name and fields: holding, kernel, and every other record."""

from __future__ import annotations

from pllm_lang.catalog.read.body import clauses, read_body
from pllm_lang.catalog.read.context import Context
from pllm_lang.catalog.read.expressions import to_expr
from pllm_lang.catalog.read.params import read_params
from pllm_lang.catalog.records import Holding, Kernel, ParamSpec, Record
from pllm_lang.resolve.suggest import did_you_mean
from pllm_lang.resolve.texts import read_text
from pllm_lang.syntax import nodes as syn


def read_holding(decl: syn.Record, ctx: Context) -> Holding:
    body = read_body("holding", decl, decl.body, ctx)
    return Holding(
        decl.name.id, ctx.module, body.expr("n_parties"), body.fields, decl.doc, ctx.origin(decl, decl.name)
    )


def read_kernel(decl: syn.Record, ctx: Context) -> Kernel:
    ctx.local = _param_names(decl)
    body = read_body("kernel", decl, decl.body, ctx)
    taken = ("version", "operations", "variants")
    return Kernel(
        name=decl.name.id,
        module=ctx.module,
        id=read_text(decl.id) if decl.id else "",
        version=body.text("version"),
        operations=body.words("operations"),
        variants=body.words("variants"),
        params=_params(decl, ctx),
        requires=clauses(decl.body, syn.Requires, ctx),
        fields={name: value for name, value in body.fields.items() if name not in taken},
        doc=decl.doc,
        origin=ctx.origin(decl, decl.name),
    )


def read_record(decl: syn.Record, ctx: Context) -> Record:
    """Any record without a Struct of its own."""
    ctx.local = _param_names(decl)
    body = read_body(decl.kind, decl, decl.body, ctx)
    return Record(
        kind=decl.kind,
        name=decl.name.id,
        module=ctx.module,
        id=read_text(decl.id) if decl.id else "",
        under=_under(decl, ctx),
        fields=body.fields,
        clauses=clauses(decl.body, syn.Requires, ctx),
        params=_params(decl, ctx),
        field_origins=body.origins,
        doc=decl.doc,
        origin=ctx.origin(decl, decl.name),
    )


def read_model(decl: syn.Model, ctx: Context) -> Record:
    """`model x = huggingface("config.json") |> pass(...)`: fields `value` and `passes`."""
    fields = {"value": to_expr(decl.value, ctx, decl)}
    origins = {"value": ctx.origin(decl, decl.value)}
    for number, node in enumerate(decl.passes):
        fields[f"pass{number}"] = to_expr(node, ctx, decl)
        origins[f"pass{number}"] = ctx.origin(decl, node)
    return Record(
        "model",
        decl.name.id,
        ctx.module,
        fields=fields,
        field_origins=origins,
        doc=decl.doc,
        origin=ctx.origin(decl, decl.name),
    )


def _params(decl: syn.Record, ctx: Context) -> tuple[ParamSpec, ...]:
    return tuple(
        s for item in decl.body if isinstance(item, syn.Params) for s in read_params(item.params, ctx)
    )


def _param_names(decl: syn.Record) -> frozenset[str]:
    return frozenset(p.name.id for i in decl.body if isinstance(i, syn.Params) for p in i.params)


def _under(decl: syn.Record, ctx: Context) -> str:
    if decl.under is None:
        return ""
    binding = ctx.binding(decl.under.id)
    if binding is not None and binding.kind == "policy":
        return binding.key
    known = [n for n, b in ctx.scope.items() if b.kind == "policy"]
    help_ = did_you_mean(decl.under.id, known) or "declare it, or import it"
    ctx.report(
        "names.unknown", f"no policy `{decl.under.id}` is known here", ctx.span(decl, decl.under), help_
    )
    return ""
