"""What the parser builds: one function for each grammar rule, with the rule's alias or name.

In: `start` and `end` of the stretch and the rule's children. Out: a node. For an anchor, `start` is its
absolute place and `end` its length; for everything else both are relative to the anchor around it. A token
is a tuple (start, end, text); a list is a Python list that only the parser has seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from pllm_lang.syntax import nodes as n

Token: TypeAlias = tuple[int, int, str]


def word(token: Token) -> n.Word:
    return n.Word(*token)


def field_word(token: Token) -> n.Word:
    """The name of `name:` without the colon."""
    start, end, text = token
    return n.Word(start, end - 1, text[:-1])


def words(tokens: list[Token]) -> tuple[n.Word, ...]:
    return tuple([n.Word(*token) for token in tokens])


# ---- file and declarations ----------------------------------------------------------------------------


def file(_start: int, _end: int, edition: n.Number | None, decls: list[n.Decl] | tuple[()] = ()) -> n.File:
    return n.File(edition, tuple(decls))


def edition(_start: int, _end: int, number: Token) -> n.Number:
    return n.Number(*number)


def import_decl(
    at: int,
    end: int,
    module: tuple[n.Word, ...] | n.String,
    names: list[n.ImportName] | tuple[()] = (),
    doc: str = "",
) -> n.Import:
    if isinstance(module, n.String):
        return n.Import(at, end, (), module, tuple(names), doc)
    return n.Import(at, end, module, None, tuple(names), doc)


def module_path(_start: int, _end: int, parts: list[Token]) -> tuple[n.Word, ...]:
    return words(parts)


def module_file(_start: int, _end: int, text: Token) -> n.String:
    return n.String(*text)


def import_name(start: int, end: int, name: Token, alias: Token | None) -> n.ImportName:
    return n.ImportName(start, end, word(name), word(alias) if alias else None)


def const_decl(at: int, end: int, name: Token, value: n.Expr, doc: str = "") -> n.Const:
    return n.Const(at, end, word(name), value, doc)


def format_decl(
    at: int, end: int, name: Token, value: n.Expr, body: tuple[n.Item, ...] = (), doc: str = ""
) -> n.Format:
    return n.Format(at, end, word(name), value, body, doc)


def record_decl(
    at: int,
    end: int,
    kind: str,
    name: Token,
    ident: n.String | None,
    under: n.Word | None,
    body: tuple[n.Item, ...],
    doc: str = "",
) -> n.Record:
    return n.Record(at, end, kind, word(name), ident, under, body, doc)


def record_kind(_start: int, _end: int, keyword: Token) -> str:
    return keyword[2]


def record_id(_start: int, _end: int, text: Token) -> n.String:
    return n.String(*text)


def component_decl(
    at: int, end: int, name: Token, ident: n.String, body: tuple[n.Item, ...], doc: str = ""
) -> n.Record:
    return n.Record(at, end, "component", word(name), ident, None, body, doc)


def policy_decl(
    at: int, end: int, name: Token, tightens: Token | None, body: tuple[n.Item, ...], doc: str = ""
) -> n.Policy:
    return n.Policy(at, end, word(name), word(tightens) if tightens else None, body, doc)


def operator_decl(
    at: int,
    end: int,
    name: Token,
    type_vars: n.TypeVars | None,
    params: tuple[n.Param, ...],
    results: tuple[n.Param, ...],
    body: tuple[n.Item, ...] | None,
    doc: str = "",
) -> n.Operator:
    return n.Operator(at, end, word(name), type_vars, params, results, body or (), doc)


def model_decl(
    at: int, end: int, name: Token, value: n.Expr, passes: list[n.Expr] | tuple[()] = (), doc: str = ""
) -> n.Model:
    return n.Model(at, end, word(name), value, tuple(passes), doc)


def plan_decl(
    at: int, end: int, name: Token, under: n.Word | None, body: tuple[n.Stmt, ...], doc: str = ""
) -> n.Plan:
    return n.Plan(at, end, word(name), under, body, doc)


def block_decl(
    at: int,
    end: int,
    name: Token,
    type_vars: n.TypeVars | None,
    params: tuple[n.Param, ...],
    results: tuple[n.Param, ...],
    body: tuple[n.Stmt, ...],
    doc: str = "",
) -> n.Block:
    return n.Block(at, end, word(name), type_vars, params, results, body, doc)


def under(_start: int, _end: int, policy: Token) -> n.Word:
    return word(policy)


# ---- parameters and results ---------------------------------------------------------------------------


def tvars(start: int, end: int, names: list[Token] | tuple[()] = ()) -> n.TypeVars:
    return n.TypeVars(start, end, words(list(names)))


def params(
    _start: int, _end: int, first: n.Param | None = None, rest: list[n.Param] | tuple[()] = ()
) -> tuple[n.Param, ...]:
    return () if first is None else (first, *rest)


def param(
    at: int, end: int, name: Token, kind: n.Expr, clauses: list[n.Clause], default: n.Expr | None
) -> n.Param:
    return n.Param(at, end, field_word(name), kind, tuple(clauses), default)


def results(
    _start: int, _end: int, first: n.Param, rest: list[n.Param] | tuple[()] = ()
) -> tuple[n.Param, ...]:
    return (first, *rest)


def result_name(at: int, end: int, name: Token) -> n.Param:
    return n.Param(at, end, word(name), None)


def result_typed(at: int, end: int, name: Token, kind: n.Expr, clauses: list[n.Clause]) -> n.Param:
    return n.Param(at, end, field_word(name), kind, tuple(clauses))


def from_clause(start: int, end: int, party: Token) -> n.From:
    return n.From(start, end, word(party))


def to_clause(start: int, end: int, party: Token) -> n.To:
    return n.To(start, end, word(party))


def public_clause(start: int, end: int) -> n.Public:
    return n.Public(start, end)


def secret_clause(start: int, end: int, owners: n.ListExpr) -> n.Secret:
    return n.Secret(start, end, owners)


def as_clause(start: int, end: int, holding: n.Expr) -> n.As:
    return n.As(start, end, holding)


def at_clause(start: int, end: int, party: Token) -> n.At:
    return n.At(start, end, word(party))


def where_clause(start: int, end: int, condition: n.Expr) -> n.Where:
    return n.Where(start, end, condition)


# ---- items of a record body ---------------------------------------------------------------------------


def body(_start: int, _end: int, items: list[n.Item] | tuple[()] = ()) -> tuple[n.Item, ...]:
    return tuple(items)


def field(at: int, end: int, name: Token, value: n.Expr, doc: str = "") -> n.Field:
    return n.Field(at, end, field_word(name), value, doc)


def requires_item(at: int, end: int, condition: n.Expr, reason: Token | None) -> n.Requires:
    return n.Requires(at, end, condition, n.String(*reason) if reason else None)


def ensures_item(at: int, end: int, claim: n.Expr) -> n.Ensures:
    return n.Ensures(at, end, claim)


def means_item(at: int, end: int, result: Token, value: n.Expr) -> n.Means:
    return n.Means(at, end, word(result), value)


def intermediate_item(at: int, end: int, name: Token, value: n.Expr) -> n.Intermediate:
    return n.Intermediate(at, end, field_word(name), value)


def params_item(at: int, end: int, entries: list[n.Param] | tuple[()] = ()) -> n.Params:
    return n.Params(at, end, tuple(entries))


def params_entry(at: int, end: int, name: Token, kind: n.Expr, default: n.Expr | None) -> n.Param:
    return n.Param(at, end, field_word(name), kind, (), default)


def claim_item(
    at: int, end: int, claim: Token, lists: list[tuple[n.Word, n.ListExpr]] | tuple[()] = ()
) -> n.Claim:
    return n.Claim(at, end, n.String(*claim), tuple(lists))


def body_list(_start: int, _end: int, name: Token, values: n.ListExpr) -> tuple[n.Word, n.ListExpr]:
    return word(name), values


def learns_item(at: int, end: int, party: Token, what: n.ListExpr) -> n.Learns:
    return n.Learns(at, end, field_word(party), what)


def adversary_item(at: int, end: int, kind: Token, count: n.Expr, among: n.ListExpr) -> n.Adversary:
    return n.Adversary(at, end, word(kind), count, among)


def parties_item(at: int, end: int, names: n.ListExpr) -> n.Parties:
    return n.Parties(at, end, names)


def forbids_item(at: int, end: int, what: n.ListExpr) -> n.Forbids:
    return n.Forbids(at, end, what)


def bundle_item(at: int, end: int, name: Token, unit: Token, members: list[Token]) -> n.Bundle:
    return n.Bundle(at, end, word(name), word(unit), words(members))


def needs_item(at: int, end: int, name: Token) -> n.Needs:
    return n.Needs(at, end, word(name))


# ---- protocols ----------------------------------------------------------------------------------------


def protocol_item(
    at: int,
    end: int,
    params: tuple[n.Param, ...],
    results: tuple[n.Param, ...],
    phases: list[n.Phase] | tuple[()] = (),
) -> n.Protocol:
    return n.Protocol(at, end, params, results, tuple(phases))


def phase(at: int, end: int, name: Token, body: list[n.ProtocolStmt] | tuple[()] = ()) -> n.Phase:
    return n.Phase(at, end, word(name), tuple(body))


def phase_name(_start: int, _end: int, keyword: Token) -> Token:
    return keyword


def fresh_stmt(
    at: int,
    end: int,
    name: Token,
    kind: n.Expr,
    lifetime: Token | None,
    holders: n.Word | n.ListExpr | None,
    via: n.Expr | None,
) -> n.Fresh:
    owner = holders if isinstance(holders, n.Word) else None
    shared_by = holders if isinstance(holders, n.ListExpr) else None
    return n.Fresh(
        at, end, field_word(name), kind, word(lifetime) if lifetime else None, owner, shared_by, via
    )


def from_one(_start: int, _end: int, party: Token) -> n.Word:
    return word(party)


def local_stmt(at: int, end: int, party: Token, target: n.Expr, value: n.Expr) -> n.Local:
    return n.Local(at, end, field_word(party), target, value)


def send_stmt(
    at: int,
    end: int,
    sender: Token,
    receivers: list[Token],
    first: n.Expr,
    rest: list[n.Expr] | tuple[()] = (),
) -> n.Send:
    *others, last = receivers
    return n.Send(at, end, word(sender), (*words(others), field_word(last)), (first, *rest))


# ---- statements of a plan -----------------------------------------------------------------------------


def plan_body(_start: int, _end: int, stmts: list[n.Stmt] | tuple[()] = ()) -> tuple[n.Stmt, ...]:
    return tuple(stmts)


def input_stmt(
    at: int, end: int, name: Token, kind: n.Expr, clauses: list[n.Clause], doc: str = ""
) -> n.Input:
    return n.Input(at, end, field_word(name), kind, tuple(clauses), doc)


def subject_one(_start: int, _end: int, name: Token) -> tuple[n.Word, None]:
    return field_word(name), None


def subject_family(_start: int, _end: int, name: Token, family: n.Expr) -> tuple[n.Word, n.Expr]:
    return word(name), family


def weight_stmt(
    at: int,
    end: int,
    subject: tuple[n.Word, n.Expr | None],
    kind: n.Expr,
    clauses: list[n.Clause],
    doc: str = "",
) -> n.Weight:
    return n.Weight(at, end, *subject, kind, tuple(clauses), doc)


def state_stmt(
    at: int,
    end: int,
    subject: tuple[n.Word, n.Expr | None],
    kind: n.Expr,
    clauses: list[n.Clause],
    doc: str = "",
) -> n.State:
    return n.State(at, end, *subject, kind, tuple(clauses), doc)


def step_stmt(
    at: int,
    end: int,
    targets: list[n.Target],
    value: n.Expr,
    clauses: list[n.Using | n.At | n.Assume] | tuple[()] = (),
) -> n.Step:
    return n.Step(at, end, tuple(targets), value, tuple(clauses))


def target(start: int, end: int, name: Token, index: n.Expr | None) -> n.Target:
    return n.Target(start, end, word(name), index)


def using_clause(start: int, end: int, component: n.Expr) -> n.Using:
    return n.Using(start, end, component)


def assume_clause(start: int, end: int, condition: n.Expr) -> n.Assume:
    return n.Assume(start, end, condition)


def output_stmt(at: int, end: int, name: Token, clauses: list[n.Clause]) -> n.Output:
    return n.Output(at, end, word(name), tuple(clauses))


def repeat_stmt(
    at: int,
    end: int,
    variable: Token,
    range_: n.Expr,
    carrying: n.ListExpr | None,
    body: tuple[n.Stmt, ...],
) -> n.Repeat:
    return n.Repeat(at, end, word(variable), range_, carrying, body)


def stage_stmt(at: int, end: int, name: Token, body: tuple[n.Stmt, ...]) -> n.Stage:
    return n.Stage(at, end, word(name), body)


def facts_stmt(at: int, end: int, path: Token) -> n.Facts:
    return n.Facts(at, end, n.String(*path))


# ---- expressions --------------------------------------------------------------------------------------


def number(_start: int, _end: int, token: Token) -> n.Number:
    return n.Number(*token)


def quantity(_start: int, _end: int, token: Token) -> n.Quantity:
    return n.Quantity(*token)


def string(_start: int, _end: int, token: Token) -> n.String:
    return n.String(*token)


def name(_start: int, _end: int, token: Token) -> n.Name:
    return n.Name(*token)


def list_(start: int, end: int, items: list[n.Expr] | tuple[()] = ()) -> n.ListExpr:
    return n.ListExpr(start, end, tuple(items))


def map_(start: int, end: int, entries: list[n.Entry] | tuple[()] = ()) -> n.MapExpr:
    return n.MapExpr(start, end, tuple(entries))


def entry(start: int, end: int, name: Token, value: n.Expr) -> n.Entry:
    return n.Entry(start, end, name[2][:-1], value)


def paren(start: int, end: int, inner: n.Expr) -> n.Paren:
    return n.Paren(start, end, inner)


def call(start: int, end: int, callee: n.Expr, args: list[n.Expr | n.Entry] | tuple[()] = ()) -> n.Call:
    return n.Call(start, end, callee, tuple(args))


def index(start: int, end: int, base: n.Expr, items: list[n.Expr | n.Spread] | tuple[()] = ()) -> n.Index:
    return n.Index(start, end, base, tuple(items))


def spread(start: int, end: int, name: Token) -> n.Spread:
    return n.Spread(start, end, name[2])


def attribute(start: int, end: int, base: n.Expr, name: Token) -> n.Attribute:
    return n.Attribute(start, end, base, name[2])


def op_power(start: int, end: int, left: n.Expr, right: n.Expr) -> n.Binary:
    return n.Binary(start, end, "^", left, right)


def op_unary(start: int, end: int, sign: Token, operand: n.Expr) -> n.Unary:
    return n.Unary(start, end, "-" if sign[2] == "-" else "+", operand)


def op_not(start: int, end: int, operand: n.Expr) -> n.Unary:
    return n.Unary(start, end, "not", operand)


def op_binary(start: int, end: int, left: n.Expr, sign: Token, right: n.Expr) -> n.Binary:
    return n.Binary(start, end, sign[2], left, right)


def op_in(start: int, end: int, left: n.Expr, right: n.Expr) -> n.Binary:
    return n.Binary(start, end, "in", left, right)


def op_and(start: int, end: int, left: n.Expr, right: n.Expr) -> n.Binary:
    return n.Binary(start, end, "and", left, right)


def op_or(start: int, end: int, left: n.Expr, right: n.Expr) -> n.Binary:
    return n.Binary(start, end, "or", left, right)


def range_closed(start: int, end: int, low: n.Expr, high: n.Expr) -> n.Range:
    return n.Range(start, end, low, high, closed=True)


def range_open(start: int, end: int, low: n.Expr, high: n.Expr) -> n.Range:
    return n.Range(start, end, low, high, closed=False)


def find_action(rule: str) -> Callable[..., Any]:
    """The function for a rule's alias or name; a grammar rule without one is a KeyError."""
    return globals()[_RENAMED.get(rule, rule)]


_RENAMED = {
    "list": "list_",
    "map": "map_",
    "named_arg": "entry",
    "op_compare": "op_binary",
    "op_sum": "op_binary",
    "op_product": "op_binary",
}

# Rules whose node takes the documentation comment (`##`) that stands before it.
DOCUMENTED = frozenset(
    {
        "import_decl",
        "const_decl",
        "format_decl",
        "record_decl",
        "component_decl",
        "policy_decl",
        "operator_decl",
        "model_decl",
        "plan_decl",
        "block_decl",
        "field",
        "input_stmt",
        "weight_stmt",
        "state_stmt",
    }
)
