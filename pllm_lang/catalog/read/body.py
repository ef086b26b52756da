"""The body of a record, checked against the table of fields: what is unknown, missing, given twice or of the wrong kind."""

from __future__ import annotations

import msgspec

from pllm_lang.catalog.expr import Apply, Expr, ListOf, MapOf, Num, Origin, Ref, Text
from pllm_lang.catalog.read.context import Context
from pllm_lang.catalog.read.expressions import MAX_NODES, to_expr
from pllm_lang.catalog.read.fields import FIELDS, ITEMS, OPEN_TO_OPERATORS, FieldSpec, spec_of
from pllm_lang.catalog.records import Clause
from pllm_lang.catalog.walk import size
from pllm_lang.resolve.suggest import did_you_mean
from pllm_lang.resolve.units import Problem, read_quantity
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.finding import Label, Span

MAX_ITEMS = 2_000
_ITEM_NAMES: dict[type[syn.Item], str] = {
    syn.Requires: "requires", syn.Ensures: "ensures", syn.Means: "means", syn.Intermediate: "intermediate",
    syn.Params: "params", syn.Claim: "claim", syn.Learns: "learns", syn.Adversary: "adversary", syn.Parties: "parties",
    syn.Forbids: "forbids", syn.Bundle: "bundle", syn.Needs: "needs", syn.Protocol: "protocol",
}  # fmt: skip
_DECLARED = {
    "operators": ("operator",), "components": ("component", "pipeline", "suite"), "policy": ("policy",), "plan": ("plan",),
    "record": ("pipeline", "suite", "experiment"), "holding": ("holding",),
}  # fmt: skip


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
        """The entries of a list field (one entry may stand without brackets)."""
        value = self.fields.get(name)
        return tuple(word(v) for v in listed(value)) if value is not None else ()

    def mapping(self, name: str) -> dict[str, Expr]:
        value = self.fields.get(name)
        return dict(value.entries) if isinstance(value, MapOf) else {}


def read_body(kind: str, owner: syn.Anchor, items: tuple[syn.Item, ...], ctx: Context) -> Body:
    if len(items) > MAX_ITEMS:
        ctx.report(
            "records.too_large",
            f"a record holds at most {MAX_ITEMS} items, this one has {len(items)}",
            ctx.span(owner),
        )
        return Body({}, {})
    fields: dict[str, Expr] = {}
    origins: dict[str, Origin] = {}
    for item in items:
        if isinstance(item, syn.Field):
            _field(kind, item, ctx, fields, origins)
        elif _ITEM_NAMES[type(item)] not in ITEMS[kind]:
            _misplaced(kind, item, ctx)
    for spec in FIELDS[kind]:
        if spec.required and spec.name not in fields:
            _missing(kind, spec, owner, ctx)
    return Body(fields, origins)


def clauses(items: tuple[syn.Item, ...], wanted: type[syn.Item], ctx: Context) -> tuple[Clause, ...]:
    """All `requires`, `ensures`, `means` or `intermediate` items of a body."""
    inner = ctx.in_clause()
    read = [_clause(item, inner) for item in items if isinstance(item, wanted)]
    return tuple(clause for clause in read if clause is not None)


def listed(value: Expr) -> tuple[Expr, ...]:
    return value.items if isinstance(value, ListOf) else (value,)


def word(value: Expr) -> str:
    match value:
        case Text() | Num():
            return value.value
        case Ref():
            return value.name
        case Apply():
            return value.fn
        case _:
            return ""


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
    if size(expr) > MAX_NODES:
        ctx.report("records.too_large", f"a clause has at most {MAX_NODES} parts", ctx.span(item))
        return None
    text = to_expr(reason, ctx, item) if reason else None
    return Clause(expr, name, text.value if isinstance(text, Text) else "", ctx.origin(item))


def _field(
    kind: str, item: syn.Field, ctx: Context, fields: dict[str, Expr], origins: dict[str, Origin]
) -> None:
    name = item.name.id
    if name in fields:
        first = origins[name]
        label = Label(Span(first.file, first.start, first.end), "first given here")
        ctx.report(
            "records.duplicate_field",
            f"`{name}` is given twice",
            ctx.span(item, item.name),
            "keep one of the two",
            (label,),
        )
        return
    spec = spec_of(kind, name) or _operator_slot(kind, name, ctx)
    if spec is None:
        known = [s.name for s in FIELDS[kind]]
        help_ = did_you_mean(name, known) or f"a {kind} has the fields " + ", ".join(known)
        ctx.report(
            "records.unknown_field", f"a {kind} has no field `{name}`", ctx.span(item, item.name), help_
        )
        return
    before = len(ctx.findings)
    fields[name] = to_expr(
        item.value, ctx.without_names() if spec.accepts in ("word", "words") else ctx, item
    )
    origins[name] = ctx.origin(item)
    if len(ctx.findings) == before:
        _check_value(kind, spec, item, fields[name], ctx)


def _operator_slot(kind: str, name: str, ctx: Context) -> FieldSpec | None:
    binding = ctx.binding(name)
    if kind in OPEN_TO_OPERATORS and binding is not None and binding.kind == "operator":
        return FieldSpec(name, "components", "the component of this operator")
    return None


def _missing(kind: str, spec: FieldSpec, owner: syn.Anchor, ctx: Context) -> None:
    place = ctx.span(owner, owner.name) if isinstance(owner, syn.Record | syn.Policy) else ctx.span(owner)
    message = f"the {kind} has no `{spec.name}`: {spec.doc}"
    ctx.report("records.missing_field", message, place, f"add `{spec.name}: ...`")


def _misplaced(kind: str, item: syn.Item, ctx: Context) -> None:
    name = _ITEM_NAMES[type(item)]
    homes = ", ".join(sorted(k for k, items in ITEMS.items() if name in items))
    ctx.report(
        "records.misplaced_item",
        f"`{name}` has no meaning in a {kind}",
        ctx.span(item),
        f"it belongs to: {homes}",
    )


def _check_value(kind: str, spec: FieldSpec, item: syn.Field, value: Expr, ctx: Context) -> None:
    place = ctx.span(item, item.value)
    if spec.accepts in _DECLARED:
        for part in listed(value):
            _check_reference(spec, part, place, ctx)
        return
    wanted = _ACCEPTED.get(spec.accepts)
    if wanted is not None and not wanted(value):
        ctx.report("records.wrong_value", f"`{spec.name}` takes {_SAID[spec.accepts]}", place, spec.doc)
    elif spec.allowed:
        for part in listed(value):
            if word(part) not in spec.allowed:
                help_ = did_you_mean(word(part), spec.allowed) or "it may be " + ", ".join(spec.allowed)
                ctx.report(
                    "records.wrong_value", f"`{word(part)}` is no `{spec.name}` of a {kind}", place, help_
                )
    elif spec.accepts in _DIMENSIONS and isinstance(item.value, syn.Quantity):
        read = read_quantity(item.value.text)
        if not isinstance(read, Problem) and read[1] != spec.accepts:
            ctx.report("records.wrong_value", f"`{spec.name}` is in {spec.accepts}, not in {read[1]}", place)


def _check_reference(spec: FieldSpec, part: Expr, place: Span, ctx: Context) -> None:
    kinds = _DECLARED[spec.accepts]
    name = word(part)
    found = next((b for b in ctx.scope.values() if b.key == name), None) if "." in name else None
    if found is None:
        known = [n for n, b in ctx.scope.items() if b.kind in kinds]
        help_ = did_you_mean(name, known) or f"declare it, or import it; it is a {' or a '.join(kinds)}"
        ctx.report("names.unknown", f"no {kinds[0]} `{name}` is known here", place, help_)
    elif found.kind not in kinds:
        ctx.report(
            "names.wrong_kind",
            f"`{found.name}` is a {found.kind}, and `{spec.name}` takes a {kinds[0]}",
            place,
        )


_DIMENSIONS = frozenset({"bytes", "seconds", "bits"})
_ACCEPTED = {
    "word": lambda v: isinstance(v, Ref),
    "words": lambda v: all(isinstance(p, Ref) for p in listed(v)),
    "text": lambda v: isinstance(v, Text),
    "texts": lambda v: all(isinstance(p, Text) for p in listed(v)),
    "integer": lambda v: isinstance(v, Num) and "/" not in v.value,
    "number": lambda v: isinstance(v, Num),
    "boolean": lambda v: isinstance(v, Ref) and v.name in ("true", "false"),
    "map": lambda v: isinstance(v, MapOf),
    "list": lambda v: isinstance(v, ListOf),
}
_SAID = {
    "word": "a bare name", "words": "a list of bare names", "text": 'a text in quotes, such as `"1"`',
    "texts": "a list of texts in quotes", "integer": "a whole number", "number": "a number", "boolean": "`true` or `false`",
    "map": "a map, `{ name: value }`", "list": "a list in brackets",
}  # fmt: skip
