"""Declarations, items and statements as text: their heads, without the lines of their bodies.

In: an anchor. Out: a `Row`: its `Doc`, and for rows that are aligned with their neighbours the cells.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias, assert_never

from pllm_lang.syntax import nodes as n
from pllm_lang.syntax.layout import Doc, Group, Indent, Line, bracket, concat, flat, joined, open_bracket
from pllm_lang.syntax.print_expr import expr_doc, list_doc

AnyAnchor: TypeAlias = n.Decl | n.Item | n.ProtocolStmt | n.Stmt | n.Phase | n.Param


class Row(NamedTuple):
    """`cells` are empty for a row that is not aligned; rows of one `kind` are aligned with each other."""

    doc: Doc
    kind: str = ""
    cells: tuple[str, ...] = ()


def row(anchor: AnyAnchor) -> Row:
    match anchor:
        case n.Step():
            return _step(anchor)
        case n.Input():
            return _declared("input", f"{anchor.name.id}:", anchor.type, anchor.clauses)
        case n.Weight():
            return _declared("weight", _subject(anchor), anchor.type, anchor.clauses)
        case n.State():
            return _declared("state", _subject(anchor), anchor.type, anchor.clauses)
        case n.Param():
            return Row(_param(anchor))
        case n.Phase():
            return Row(anchor.name.id)
        case (
            n.Output()
            | n.Repeat()
            | n.Stage()
            | n.Facts()
            | n.Fresh()
            | n.Local()
            | n.Send()
            | n.Bundle()
            | n.Needs()
            | n.Protocol()
        ):
            return Row(_statement(anchor))
        case (
            n.Import()
            | n.Const()
            | n.Format()
            | n.Record()
            | n.Policy()
            | n.Operator()
            | n.Model()
            | n.Plan()
            | n.Block()
        ):
            return Row(_declaration(anchor))
        case _:
            return Row(_item(anchor))


def _declaration(decl: n.Decl) -> Doc:
    match decl:
        case n.Import():
            module = decl.file.text if decl.file else ".".join([word.id for word in decl.path])
            names = tuple([f"{i.name.id} as {i.alias.id}" if i.alias else i.name.id for i in decl.names])
            return concat("import ", module, " ", bracket("[", names, "]", fill=True))
        case n.Const():
            return concat(f"const {decl.name.id} = ", expr_doc(decl.value))
        case n.Format():
            return concat(f"format {decl.name.id} = ", expr_doc(decl.value))
        case n.Record():
            ident = f" = {decl.id.text}" if decl.id else ""
            return f"{decl.kind} {decl.name.id}{ident}{_under(decl.under)}"
        case n.Policy():
            return f"policy {decl.name.id}" + (f" tightens {decl.tightens.id}" if decl.tightens else "")
        case n.Operator():
            return concat("operator ", decl.name.id, _signature(decl.type_vars, decl.params, decl.results))
        case n.Block():
            return concat("block ", decl.name.id, _signature(decl.type_vars, decl.params, decl.results))
        case n.Model():
            passes = [Indent(concat(Line(), "|> ", expr_doc(step))) for step in decl.passes]
            return Group(concat(f"model {decl.name.id} = ", expr_doc(decl.value), *passes))
        case n.Plan():
            return f"plan {decl.name.id}{_under(decl.under)}"
        case _:
            assert_never(decl)


def _item(item: n.Item) -> Doc:
    match item:
        case n.Field():
            return concat(f"{item.name.id}: ", expr_doc(item.value))
        case n.Requires():
            reason = Indent(concat(Line(), "else ", item.reason.text)) if item.reason else ""
            return Group(concat("requires ", expr_doc(item.condition), reason))
        case n.Ensures():
            return concat("ensures ", expr_doc(item.claim))
        case n.Means():
            return concat(f"means {item.result.id} = ", expr_doc(item.value))
        case n.Intermediate():
            return concat(f"intermediate {item.name.id}: ", expr_doc(item.value))
        case n.Params():
            return "params"
        case n.Bundle() | n.Needs() | n.Protocol():
            return _statement(item)
        case _:
            return _policy_item(item)


def _policy_item(item: n.Claim | n.Learns | n.Adversary | n.Parties | n.Forbids) -> Doc:
    match item:
        case n.Claim():
            lists = [Indent(concat(Line(), name.id, " ", list_doc(values))) for name, values in item.lists]
            return Group(concat(f"requires claim {item.claim.text}", *lists))
        case n.Learns():
            return concat(f"learns {item.party.id}: ", list_doc(item.what))
        case n.Adversary():
            count = expr_doc(item.count)
            return concat(f"adversary {item.kind.id} corrupts ", count, " of ", list_doc(item.among))
        case n.Parties():
            return concat("parties ", list_doc(item.names))
        case n.Forbids():
            return concat("forbids ", list_doc(item.what))
        case _:
            assert_never(item)


_Statement: TypeAlias = (
    n.Output | n.Repeat | n.Stage | n.Facts | n.Fresh | n.Local | n.Send | n.Bundle | n.Needs | n.Protocol
)


def _statement(stmt: _Statement) -> Doc:
    match stmt:
        case n.Output():
            return concat("output ", stmt.name.id, *_clauses(stmt.clauses))
        case n.Repeat():
            carrying = concat(" carrying ", list_doc(stmt.carrying)) if stmt.carrying else ""
            return concat(f"repeat {stmt.variable.id} in ", expr_doc(stmt.range), carrying)
        case n.Stage():
            return f"stage {stmt.name.id}"
        case n.Facts():
            return f"facts {stmt.path.text}"
        case n.Fresh():
            return _fresh(stmt)
        case n.Local():
            return concat(f"{stmt.party.id}: ", expr_doc(stmt.target), " = ", expr_doc(stmt.value))
        case n.Send():
            receivers = ", ".join([word.id for word in stmt.receivers])
            values = joined(tuple([expr_doc(value) for value in stmt.values]), concat(",", Line()))
            return Group(concat(f"{stmt.sender.id} -> {receivers}: ", Indent(values)))
        case n.Bundle():
            members = tuple([word.id for word in stmt.members])
            return concat(f"bundle {stmt.name.id} per {stmt.unit.id} ", bracket("{", members, "}", " "))
        case n.Needs():
            return f"needs fresh {stmt.name.id}"
        case n.Protocol():
            return concat("protocol", _signature(None, stmt.params, stmt.results))
        case _:
            assert_never(stmt)


def _fresh(stmt: n.Fresh) -> Doc:
    parts: list[Doc] = []
    if stmt.lifetime:
        parts.append(f"per {stmt.lifetime.id}")
    if stmt.owner:
        parts.append(f"from {stmt.owner.id}")
    if stmt.shared_by:
        parts.append(concat("shared by ", list_doc(stmt.shared_by)))
    if stmt.via:
        parts.append(concat("via ", expr_doc(stmt.via)))
    return concat(f"fresh {stmt.name.id}: ", expr_doc(stmt.type), *_after(parts))


def _step(step: n.Step) -> Row:
    """`targets = value clauses`; the party of a step that ends with `@ party` is a cell of its own."""
    targets = ", ".join([flat(_target(target)) for target in step.targets])
    value = concat("= ", expr_doc(step.value))
    doc = concat(targets, " ", value, *_clauses(step.clauses))
    rest = step.clauses
    party = ""
    if rest and isinstance(rest[-1], n.At):
        party = flat(_clause(rest[-1]))
        rest = rest[:-1]
    middle = flat(concat(value, *_clauses(rest)))
    return Row(doc, "step", (targets, middle, party) if party else (targets, middle))


def _target(target: n.Target) -> Doc:
    return concat(target.name.id, "[", expr_doc(target.index), "]") if target.index else target.name.id


def _subject(declared: n.Weight | n.State) -> str:
    family = flat(concat("[", expr_doc(declared.family), "]")) if declared.family else ""
    return f"{declared.name.id}{family}:"


def _declared(keyword: str, name: str, kind: n.Expr, clauses: tuple[n.Clause, ...]) -> Row:
    rest = concat(expr_doc(kind), *_clauses(clauses))
    return Row(concat(f"{keyword} {name} ", rest), "declared", (keyword, name, flat(rest)))


def _signature(
    type_vars: n.TypeVars | None, params: tuple[n.Param, ...], results: tuple[n.Param, ...]
) -> Doc:
    variables = " {" + ", ".join([word.id for word in type_vars.names]) + "}" if type_vars else ""
    given = bracket("(", tuple([_param(param) for param in results]), ")")
    if not params:
        return concat(variables, " () -> ", given)
    taken = open_bracket("(", tuple([_param(param) for param in params]), ")")
    return Group(concat(variables, " ", taken, " -> ", given))


def _param(param: n.Param) -> Doc:
    if param.type is None:
        return param.name.id
    default = concat(" = ", expr_doc(param.default)) if param.default else ""
    clauses = [concat(" ", _clause(clause)) for clause in param.clauses]
    return concat(f"{param.name.id}: ", expr_doc(param.type), *clauses, default)


def _under(policy: n.Word | None) -> str:
    return f" under {policy.id}" if policy else ""


def _clauses(clauses: tuple[n.Clause | n.Using | n.Assume, ...]) -> list[Doc]:
    return _after([_clause(clause) for clause in clauses])


def _after(parts: list[Doc]) -> list[Doc]:
    """Parts that go on behind a head, each on a line of its own where they do not fit behind it."""
    return [Group(Indent(Indent(concat(*[concat(Line(), part) for part in parts]))))] if parts else []


def _clause(clause: n.Clause | n.Using | n.Assume) -> Doc:
    match clause:
        case n.From():
            return f"from {clause.party.id}"
        case n.To():
            return f"to {clause.party.id}"
        case n.Public():
            return "public"
        case n.Secret():
            return concat("secret from ", list_doc(clause.owners))
        case n.As():
            return concat("as ", expr_doc(clause.holding))
        case n.At():
            return f"@ {clause.party.id}"
        case n.Where():
            return concat("where ", expr_doc(clause.condition))
        case n.Using():
            return concat("using ", expr_doc(clause.component))
        case n.Assume():
            return concat("assume ", expr_doc(clause.condition))
        case _:
            assert_never(clause)
