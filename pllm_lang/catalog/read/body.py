"""The body of a record, checked against the table of fields: what is unknown, missing or given twice."""

from __future__ import annotations

import msgspec

from pllm_lang.catalog.expr import Expr, MapOf, Origin, Text
from pllm_lang.catalog.read.context import Context
from pllm_lang.catalog.read.expressions import to_expr
from pllm_lang.catalog.read.fields import FIELDS, INSTEAD, ITEMS, OPEN_TO_OPERATORS, FieldSpec, spec_of
from pllm_lang.catalog.read.values import check_value, listed, word
from pllm_lang.catalog.records import Clause
from pllm_lang.catalog.walk import size
from pllm_lang.resolve.suggest import did_you_mean
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.article import with_article
from pllm_lang.text.finding import Label, Span

# Numbers, names and operations of one clause, lists included.
MAX_PARTS = 256


class Body(msgspec.Struct, frozen=True):
    """Fields as expressions, in the order written, and where each stands."""

    fields: dict[str, Expr]
    origins: dict[str, Origin]

    def expr(self, name: str) -> Expr | None:
        return self.fields.get(name)

    def text(self, name: str) -> str:
        """The text or word of a field, "" where it is absent or something else."""
        value = self.fields.get(name)
        return word(value) if value is not None else ""

    def words(self, name: str) -> tuple[str, ...]:
        """The entries of a list field; one entry may stand without brackets."""
        value = self.fields.get(name)
        return tuple(map(word, listed(value))) if value is not None else ()

    def mapping(self, name: str) -> dict[str, Expr]:
        value = self.fields.get(name)
        return dict(value.entries) if isinstance(value, MapOf) else {}


def read_body(kind: str, owner: syn.Decl, items: tuple[syn.Item, ...], ctx: Context) -> Body:
    body = Body({}, {})
    for item in items:
        if isinstance(item, syn.Field):
            _add_field(kind, item, ctx, body)
        elif item_name(item) not in ITEMS[kind]:
            _report_misplaced(kind, item, ctx)
    for spec in FIELDS[kind]:
        if spec.required and spec.name not in body.fields and not isinstance(owner, syn.Import):
            message = f"the {kind} has no `{spec.name}`: {spec.doc}"
            ctx.report(
                "records.missing_field", message, ctx.span(owner, owner.name), f"add `{spec.name}: ...`"
            )
    return body


def item_name(item: syn.Item) -> str:
    """The keyword that an item begins with."""
    return type(item).__name__.lower()


def clauses(items: tuple[syn.Item, ...], wanted: type[syn.Item], ctx: Context) -> tuple[Clause, ...]:
    """All `requires`, `ensures`, `means` or `intermediate` items of a body."""
    inner = ctx.in_clause()
    read = [_clause(item, inner) for item in items if isinstance(item, wanted)]
    return tuple(clause for clause in read if clause is not None)


def _clause(item: syn.Item, ctx: Context) -> Clause | None:
    match item:
        case syn.Requires():
            name, node, reason = "", item.condition, item.reason
        case syn.Ensures():
            name, node, reason = "", item.claim, None
        case syn.Means():
            name, node, reason = item.result.id, item.value, None
        case syn.Intermediate():
            name, node, reason = item.name.id, item.value, None
        case _:
            return None
    expr = to_expr(node, ctx, item)
    parts = size(expr)
    if parts > MAX_PARTS:
        message = f"a clause of {parts} parts; at most {MAX_PARTS} are read"
        ctx.report(
            "records.too_large", message, ctx.span(item), "give a part of it a name with `intermediate`"
        )
        return None
    text = to_expr(reason, ctx, item) if reason else None
    return Clause(expr, name, text.value if isinstance(text, Text) else "", ctx.origin(item))


def _add_field(kind: str, item: syn.Field, ctx: Context, body: Body) -> None:
    name = item.name.id
    place = ctx.span(item, item.name)
    if name in body.fields:
        first = body.origins[name]
        labels = (Label(Span(first.file, first.start, first.end), "first given here"),)
        ctx.report(
            "records.duplicate_field", f"`{name}` is given twice", place, "keep one of the two", labels
        )
        return
    spec = spec_of(kind, name) or _operator_slot(kind, name, ctx)
    if spec is None:
        known = [s.name for s in FIELDS[kind]]
        help_ = (
            INSTEAD.get((kind, name))
            or did_you_mean(name, known)
            or f"the fields of {with_article(kind)} are " + ", ".join(known)
        )
        ctx.report("records.unknown_field", f"{with_article(kind)} has no field `{name}`", place, help_)
        return
    before = len(ctx.findings)
    value = to_expr(item.value, ctx.without_names() if spec.accepts in ("word", "words") else ctx, item)
    body.fields[name] = value
    body.origins[name] = ctx.origin(item)
    if len(ctx.findings) == before:
        check_value(kind, spec, item, value, ctx)


def _operator_slot(kind: str, name: str, ctx: Context) -> FieldSpec | None:
    binding = ctx.binding(name)
    if kind in OPEN_TO_OPERATORS and binding is not None and binding.kind == "operator":
        return FieldSpec(name, "components", "the component of this operator")
    return None


def _report_misplaced(kind: str, item: syn.Item, ctx: Context) -> None:
    name = item_name(item)
    homes = ", ".join(sorted(k for k, items in ITEMS.items() if name in items)) or "a protocol"
    message = f"`{name}` has no meaning in {with_article(kind)}"
    help_ = INSTEAD.get((kind, name)) or f"it belongs to: {homes}"
    ctx.report("records.misplaced_item", message, ctx.span(item), help_)
