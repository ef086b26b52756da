"""The syntax tree: what was written, nothing looked up.

Data only. Two kinds of node:

* *anchors* (declarations, items of a body, statements, parameters) carry `at`, their absolute character
  offset in the file, and `end`, a length relative to it;
* *expressions* and the smaller parts inside an anchor carry `start` and `end` relative to the nearest
  anchor around them.

So a statement that moves keeps equal content, and an edit re-parses only its own statement.
Offsets count Unicode characters of the decoded text.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec


class Node(msgspec.Struct, frozen=True, gc=False, tag_field="node"):
    """A part inside an anchor; `start` and `end` are relative to that anchor's `at`."""

    start: int
    end: int


class Anchor(msgspec.Struct, frozen=True, gc=False, tag_field="node"):
    """A unit that moves as a whole; `at` is absolute, `end` is its length."""

    at: int
    end: int


# ---- expressions ------------------------------------------------------------------------------------


class Number(Node, frozen=True, gc=False, tag=True):
    text: str


class Quantity(Node, frozen=True, gc=False, tag=True):
    text: str


class String(Node, frozen=True, gc=False, tag=True):
    """`text` is the literal as written, with its quotes and escapes."""

    text: str


class Name(Node, frozen=True, gc=False, tag=True):
    id: str


class ListExpr(Node, frozen=True, gc=False, tag=True):
    items: tuple[Expr, ...]


class Entry(Node, frozen=True, gc=False, tag=True):
    """`name: value` in a map or as a named argument."""

    name: str
    value: Expr


class MapExpr(Node, frozen=True, gc=False, tag=True):
    entries: tuple[Entry, ...]


class Call(Node, frozen=True, gc=False, tag=True):
    callee: Expr
    args: tuple[Expr | Entry, ...]


class Spread(Node, frozen=True, gc=False, tag=True):
    """`...s`: any number of dimensions."""

    id: str


class Index(Node, frozen=True, gc=False, tag=True):
    base: Expr
    items: tuple[Expr | Spread, ...]


class Attribute(Node, frozen=True, gc=False, tag=True):
    base: Expr
    name: str


class Unary(Node, frozen=True, gc=False, tag=True):
    op: Literal["+", "-", "not"]
    operand: Expr


class Binary(Node, frozen=True, gc=False, tag=True):
    """`op` is one of `+ - * / ^ <= >= == != < > in and or`; parentheses show only in the spans."""

    op: str
    left: Expr
    right: Expr


class Range(Node, frozen=True, gc=False, tag=True):
    """`low..high` (closed) or `low..<high` (half open)."""

    low: Expr
    high: Expr
    closed: bool


class Paren(Node, frozen=True, gc=False, tag=True):
    inner: Expr


Expr: TypeAlias = (
    Number
    | Quantity
    | String
    | Name
    | ListExpr
    | MapExpr
    | Call
    | Index
    | Attribute
    | Unary
    | Binary
    | Range
    | Paren
)


class Word(Node, frozen=True, gc=False):
    """A bare name at a place where the grammar wants a name."""

    id: str


# ---- parameters, results, clauses --------------------------------------------------------------------


class From(Node, frozen=True, gc=False, tag=True):
    party: Word


class To(Node, frozen=True, gc=False, tag=True):
    party: Word


class Public(Node, frozen=True, gc=False, tag=True):
    pass


class Secret(Node, frozen=True, gc=False, tag=True):
    owners: ListExpr


class As(Node, frozen=True, gc=False, tag=True):
    holding: Expr


class At(Node, frozen=True, gc=False, tag=True):
    party: Word


class Where(Node, frozen=True, gc=False, tag=True):
    condition: Expr


Clause: TypeAlias = From | To | Public | Secret | As | At | Where


class Param(Anchor, frozen=True, gc=False):
    """`name: type clauses = default` of an operator, a block, a protocol or a `params` item."""

    name: Word
    type: Expr | None  # None only for a block result that names a value
    clauses: tuple[Clause, ...] = ()
    default: Expr | None = None


class TypeVars(Node, frozen=True, gc=False):
    names: tuple[Word, ...]


# ---- items of a record body --------------------------------------------------------------------------


class Field(Anchor, frozen=True, gc=False, tag=True):
    name: Word
    value: Expr
    doc: str = ""


class Requires(Anchor, frozen=True, gc=False, tag=True):
    condition: Expr
    reason: String | None = None


class Ensures(Anchor, frozen=True, gc=False, tag=True):
    claim: Expr


class Means(Anchor, frozen=True, gc=False, tag=True):
    result: Word
    value: Expr


class Intermediate(Anchor, frozen=True, gc=False, tag=True):
    name: Word
    value: Expr


class Params(Anchor, frozen=True, gc=False, tag=True):
    params: tuple[Param, ...]


class Claim(Anchor, frozen=True, gc=False, tag=True):
    """`requires claim "id" outcomes [...] refinements [...]` of a policy."""

    claim: String
    lists: tuple[tuple[Word, ListExpr], ...]


class Learns(Anchor, frozen=True, gc=False, tag=True):
    party: Word
    what: ListExpr


class Adversary(Anchor, frozen=True, gc=False, tag=True):
    """`adversary semi_honest corrupts 1 of [a, b]`."""

    kind: Word
    count: Expr
    among: ListExpr


class Parties(Anchor, frozen=True, gc=False, tag=True):
    names: ListExpr


class Forbids(Anchor, frozen=True, gc=False, tag=True):
    what: ListExpr


class Bundle(Anchor, frozen=True, gc=False, tag=True):
    """`bundle triple per entry { a, b, c }`."""

    name: Word
    unit: Word
    members: tuple[Word, ...]


class Needs(Anchor, frozen=True, gc=False, tag=True):
    """`needs fresh x`."""

    name: Word


# ---- protocols ---------------------------------------------------------------------------------------


class Fresh(Anchor, frozen=True, gc=False, tag=True):
    """`fresh r: T per session shared by [a, b] via prf(seed, "r")`; `owner` for `from a`."""

    name: Word
    type: Expr
    lifetime: Word | None = None
    owner: Word | None = None
    shared_by: ListExpr | None = None
    via: Expr | None = None


class Local(Anchor, frozen=True, gc=False, tag=True):
    """`party: target = value`."""

    party: Word
    target: Expr
    value: Expr


class Send(Anchor, frozen=True, gc=False, tag=True):
    """`sender -> receiver, receiver: value, value`."""

    sender: Word
    receivers: tuple[Word, ...]
    values: tuple[Expr, ...]


ProtocolStmt: TypeAlias = Fresh | Local | Send | Bundle | Needs


class Phase(Anchor, frozen=True, gc=False):
    name: Word
    body: tuple[ProtocolStmt, ...]


class Protocol(Anchor, frozen=True, gc=False, tag=True):
    params: tuple[Param, ...]
    results: tuple[Param, ...]
    phases: tuple[Phase, ...]


Item: TypeAlias = (
    Field
    | Requires
    | Ensures
    | Means
    | Intermediate
    | Params
    | Claim
    | Learns
    | Adversary
    | Parties
    | Forbids
    | Bundle
    | Needs
    | Protocol
)

# ---- plan statements ---------------------------------------------------------------------------------


class Target(Node, frozen=True, gc=False):
    """What a step assigns to: a name, or one member of an indexed family."""

    name: Word
    index: Expr | None = None


class Input(Anchor, frozen=True, gc=False, tag=True):
    name: Word
    type: Expr
    clauses: tuple[Clause, ...]
    doc: str = ""


class Weight(Anchor, frozen=True, gc=False, tag=True):
    """`weight w: T ...`, or the family `weight w[0..<24]: T ...`."""

    name: Word
    family: Expr | None
    type: Expr
    clauses: tuple[Clause, ...]
    doc: str = ""


class State(Anchor, frozen=True, gc=False, tag=True):
    """`state kv[0..<24]: T where ...`: handed from stage to stage."""

    name: Word
    family: Expr | None
    type: Expr
    clauses: tuple[Clause, ...]
    doc: str = ""


class Using(Node, frozen=True, gc=False, tag=True):
    component: Expr


class Assume(Node, frozen=True, gc=False, tag=True):
    condition: Expr


class Step(Anchor, frozen=True, gc=False, tag=True):
    targets: tuple[Target, ...]
    value: Expr
    clauses: tuple[Using | At | Assume, ...]


class Output(Anchor, frozen=True, gc=False, tag=True):
    name: Word
    clauses: tuple[Clause, ...]


class Repeat(Anchor, frozen=True, gc=False, tag=True):
    """`repeat layer in 0..<24 carrying [h] { ... }`."""

    variable: Word
    range: Expr
    carrying: ListExpr | None
    body: tuple[Stmt, ...]


class Stage(Anchor, frozen=True, gc=False, tag=True):
    name: Word
    body: tuple[Stmt, ...]


class Facts(Anchor, frozen=True, gc=False, tag=True):
    path: String


Stmt: TypeAlias = Input | Weight | State | Step | Output | Repeat | Stage | Facts | Requires

# ---- declarations ------------------------------------------------------------------------------------


class ImportName(Node, frozen=True, gc=False):
    name: Word
    alias: Word | None = None


class Import(Anchor, frozen=True, gc=False, tag=True):
    """`path` holds the dotted parts, or `file` the string as written; never both."""

    path: tuple[Word, ...]
    file: String | None
    names: tuple[ImportName, ...]
    doc: str = ""


class Const(Anchor, frozen=True, gc=False, tag=True):
    name: Word
    value: Expr
    doc: str = ""


class Format(Anchor, frozen=True, gc=False, tag=True):
    name: Word
    value: Expr
    body: tuple[Item, ...]
    doc: str = ""


class Record(Anchor, frozen=True, gc=False, tag=True):
    """A declaration that is a kind, a name and a body: `kind` is the keyword (component, stock, ...)."""

    kind: str
    name: Word
    id: String | None
    under: Word | None
    body: tuple[Item, ...]
    doc: str = ""


class Policy(Anchor, frozen=True, gc=False, tag=True):
    name: Word
    tightens: Word | None
    body: tuple[Item, ...]
    doc: str = ""


class Operator(Anchor, frozen=True, gc=False, tag=True):
    name: Word
    type_vars: TypeVars | None
    params: tuple[Param, ...]
    results: tuple[Param, ...]
    body: tuple[Item, ...]
    doc: str = ""


class Model(Anchor, frozen=True, gc=False, tag=True):
    name: Word
    value: Expr
    passes: tuple[Expr, ...]
    doc: str = ""


class Plan(Anchor, frozen=True, gc=False, tag=True):
    name: Word
    under: Word | None
    body: tuple[Stmt, ...]
    doc: str = ""


class Block(Anchor, frozen=True, gc=False, tag=True):
    name: Word
    type_vars: TypeVars | None
    params: tuple[Param, ...]
    results: tuple[Param, ...]
    body: tuple[Stmt, ...]
    doc: str = ""


Decl: TypeAlias = Import | Const | Format | Record | Policy | Operator | Model | Plan | Block


class File(msgspec.Struct, frozen=True, gc=False):
    """One file. `edition` is the number after `pllm`, None where it is missing."""

    edition: Number | None
    decls: tuple[Decl, ...]
