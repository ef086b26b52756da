"""`component`: any way to do something, from a method with its protocol to a metric."""

from __future__ import annotations

from collections.abc import Callable

from pllm_lang.catalog.read.body import Body, clauses, read_body
from pllm_lang.catalog.read.clause_names import check_clause_names, operator_names, param_names
from pllm_lang.catalog.read.context import Context
from pllm_lang.catalog.read.ensures import check_ensures
from pllm_lang.catalog.read.fields import COMPONENT_KINDS
from pllm_lang.catalog.read.params import read_params
from pllm_lang.catalog.read.protocol import protocol_names, read_protocol
from pllm_lang.catalog.records import Component, Operator, ParamSpec, ProtocolText
from pllm_lang.resolve.texts import read_text
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.article import with_article
from pllm_lang.text.finding import Severity, Span

FindOperator = Callable[[str], Operator | None]
_TAKEN = frozenset(
    {
        "kind", "version", "implements", "gives", "carrier", "failure", "roles", "phases",
        "n_parties", "adversaries", "reveals", "host_features", "memory", "security", "primitive",
    }
)  # fmt: skip


def read_component(decl: syn.Record, ctx: Context, find_operator: FindOperator) -> Component:
    items = decl.body
    operators = _implemented(decl, ctx, find_operator)
    ctx.local = _local_names(items, operators)
    body = read_body("component", decl, items, ctx)
    params = tuple(
        spec for item in items if isinstance(item, syn.Params) for spec in read_params(item.params, ctx)
    )
    component = Component(
        name=decl.name.id,
        module=ctx.module,
        id=read_text(decl.id) if decl.id else "",
        version=body.text("version"),
        kind=body.text("kind"),
        implements=tuple(_operator_key(name, ctx) for name in body.words("implements")),
        params=params,
        gives=body.mapping("gives"),
        carrier=body.expr("carrier"),
        requires=clauses(items, syn.Requires, ctx),
        ensures=clauses(items, syn.Ensures, ctx),
        intermediates=clauses(items, syn.Intermediate, ctx),
        failure=body.expr("failure"),
        roles=body.words("roles"),
        phases=body.words("phases"),
        n_parties=body.expr("n_parties"),
        adversaries=body.words("adversaries"),
        reveals=body.words("reveals"),
        host_features=body.words("host_features"),
        memory=body.expr("memory"),
        security=body.expr("security"),
        protocol=_protocol(items, ctx),
        primitive=body.text("primitive"),
        fields={name: value for name, value in body.fields.items() if name not in _TAKEN},
        doc=decl.doc,
        origin=ctx.origin(decl, decl.name),
    )
    _check_kind(decl, component, body, ctx)
    _check_params(component.params, ctx)
    if operators:
        check_ensures(component.ensures, {r.name for op in operators for r in op.results}, ctx)
        own = {name for operator in operators for name in operator_names(operator)}
        own |= param_names(params) | {clause.name for clause in component.intermediates}
        check_clause_names(decl.body, own, ctx)
    return component


def _implemented(decl: syn.Record, ctx: Context, find_operator: FindOperator) -> tuple[Operator, ...]:
    for item in decl.body:
        if isinstance(item, syn.Field) and item.name.id == "implements":
            nodes = item.value.items if isinstance(item.value, syn.ListExpr) else (item.value,)
            bindings = [ctx.scope.get(n.id) for n in nodes if isinstance(n, syn.Name)]
            found = [find_operator(b.key) for b in bindings if b is not None and b.kind == "operator"]
            return tuple(op for op in found if op is not None)
    return ()


def _operator_key(name: str, ctx: Context) -> str:
    """What `implements` names is an operator, also where an operand of another one is called the same."""
    found = ctx.scope.get(name)
    return found.key if found is not None and found.kind == "operator" else name


def _local_names(items: tuple[syn.Item, ...], operators: tuple[Operator, ...]) -> frozenset[str]:
    names: set[str] = set()
    for item in items:
        if isinstance(item, syn.Params):
            names.update(param.name.id for param in item.params)
        elif isinstance(item, syn.Intermediate):
            names.add(item.name.id)
        elif isinstance(item, syn.Protocol):
            names |= protocol_names(item)
    for operator in operators:
        names |= operator_names(operator)
    return frozenset(names)


def _protocol(items: tuple[syn.Item, ...], ctx: Context) -> ProtocolText | None:
    found = [item for item in items if isinstance(item, syn.Protocol)]
    for item in found[1:]:
        ctx.report(
            "records.duplicate_field",
            "a component has one protocol",
            ctx.span(item),
            "declare a second component",
        )
    before = len(ctx.findings)
    text = read_protocol(found[0], ctx) if found else None
    broken = any(one.severity is Severity.ERROR for one in ctx.findings[before:])
    return None if broken else text  # a broken text is not looked at further


def _check_kind(decl: syn.Record, component: Component, body: Body, ctx: Context) -> None:
    place = ctx.span(decl, decl.name)
    if component.kind == "method" and not component.implements:
        ctx.report(
            "records.missing_field",
            "a method names the operators that it implements",
            place,
            "add `implements: ...`",
        )
    if component.kind in COMPONENT_KINDS and component.kind != "method" and component.implements:
        message = f"{with_article(component.kind)} implements no operator; only a method does"
        ctx.report("records.wrong_value", message, _field_span(body, "implements"), "use `kind: method`")
    if not component.version:
        ctx.report("records.missing_field", "the component has no `version`", place, 'add `version: "1"`')


def _field_span(body: Body, field: str) -> Span:
    origin = body.origins[field]
    return Span(origin.file, origin.start, origin.end)


def _check_params(params: tuple[ParamSpec, ...], ctx: Context) -> None:
    seen: set[str] = set()
    for param in params:
        if param.name in seen:
            span = Span(param.origin.file, param.origin.start, param.origin.end)
            ctx.report(
                "records.duplicate_field",
                f"the parameter `{param.name}` is declared twice",
                span,
                "keep one of the two",
            )
        seen.add(param.name)
