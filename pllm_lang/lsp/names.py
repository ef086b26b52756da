"""Every name of a file with what it stands for: the one index behind definition, references, rename, hover and colours.

In: a module with its scope. Out: occurrences in the order of the text. A *target* is what two occurrences share: the key of a
declaration (`std.formats.q7`), a parameter of one (`std.components.masked_linear(bits)`), a party of a policy, or a value
of a body (`./plan.big/x`). A name without a target is a word of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import msgspec

from pllm_lang.catalog.library import Library
from pllm_lang.catalog.records import Component, Policy
from pllm_lang.resolve.modules import Module
from pllm_lang.syntax import nodes as syn


class Occurrence(NamedTuple):
    """`text` stands at `start` to `end`; `kind` is the kind of thing: `component`, `value`, `parameter`, `party`, ..."""

    start: int
    end: int
    text: str
    kind: str
    target: str
    defines: bool = False


class _Scope(msgspec.Struct):
    """Names of one body and those around it; `path` begins the targets of what it defines."""

    path: str
    names: dict[str, tuple[str, str]] = {}
    outer: _Scope | None = None

    def find(self, name: str) -> tuple[str, str] | None:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return None


class Index:
    """Walks a file and notes its names."""

    def __init__(self, module: Module, library: Library) -> None:
        self.module = module
        self.library = library
        self.found: list[Occurrence] = []
        self.at = 0
        self.scope = _Scope("")
        self.callee = ""

    def all(self) -> tuple[Occurrence, ...]:
        """All names, in the order of the text."""
        for decl in self.module.file.decls:
            self.declaration(decl)
        return tuple(sorted(self.found))

    # ---- noting ----

    def note(self, node: syn.Node, text: str, kind: str, target: str, defines: bool = False) -> None:
        start = self.at + node.start
        self.found.append(Occurrence(start, start + len(text), text, kind, target, defines))

    def define(self, word: syn.Word, kind: str, target: str = "") -> None:
        target = target or f"{self.scope.path}/{word.id}"
        self.scope.names[word.id] = (kind, target)
        self.note(word, word.id, kind, target, True)

    def find(self, name: str) -> tuple[str, str] | None:
        """Kind and target of a name of the body."""
        return self.scope.find(name)

    def look_up(self, name: str) -> tuple[str, str]:
        """Kind and target of a name: of the body, else of the module, else a word."""
        found = self.find(name)
        if found is not None:
            return found
        binding = self.module.scope.get(name)
        return (binding.kind, binding.key) if binding is not None else ("word", "")

    def refer(self, node: syn.Node, name: str) -> None:
        self.note(node, name, *self.look_up(name))

    # ---- declarations ----

    def declaration(self, decl: syn.Decl) -> None:
        self.at = decl.at
        if isinstance(decl, syn.Import):
            self.imports(decl)
            return
        key = f"{self.module.name}.{decl.name.id}"
        kind = decl.kind if isinstance(decl, syn.Record) else type(decl).__name__.lower()
        self.note(decl.name, decl.name.id, kind, key, True)
        self.scope = _Scope(key)
        match decl:
            case syn.Plan():
                self.plan(decl)
            case syn.Block():
                self.block(decl, key)
            case syn.Operator():
                self.own_params((*decl.params, *decl.results), key)
                self.items(decl.body, key)
            case syn.Policy():
                self.policy(decl, key)
            case syn.Record():
                self.record(decl, key)
            case syn.Format():
                self.parts(decl.value)
                self.items(decl.body, key)
            case syn.Const() | syn.Model():
                for part in (decl.value, *getattr(decl, "passes", ())):
                    self.parts(part)

    def block(self, decl: syn.Block, key: str) -> None:
        self.own_params(decl.params, key)
        self.body(decl.body)
        for result in decl.results:
            self.at = result.at
            self.refer(result.name, result.name.id)

    def record(self, decl: syn.Record, key: str) -> None:
        if decl.under is not None:
            self.refer(decl.under, decl.under.id)
        if decl.kind == "component":
            self.roles(key)
        self.items(decl.body, key)

    def imports(self, decl: syn.Import) -> None:
        for word in decl.path:
            self.note(word, word.id, "module", "")
        for item in decl.names:
            local = item.alias or item.name
            binding = self.module.scope.get(local.id)
            target = binding.key if binding is not None and binding.name == item.name.id else ""
            kind = binding.kind if binding is not None else "word"
            self.note(item.name, item.name.id, kind, target)
            if item.alias is not None:
                self.note(item.alias, item.alias.id, kind, target)

    def own_params(self, params: tuple[syn.Param, ...], key: str) -> None:
        for param in params:
            self.at = param.at
            self.define(param.name, "parameter", f"{key}({param.name.id})")
        for param in params:
            self.at = param.at
            for part in (param.type, *param.clauses, param.default):
                if part is not None:
                    self.parts(part)

    def items(self, body: tuple[syn.Item, ...], key: str) -> None:
        for item in body:
            if isinstance(item, syn.Params):
                self.own_params(item.params, key)
        for item in body:
            self.at = item.at
            match item:
                case syn.Params():
                    pass
                case syn.Field():
                    self.note(item.name, item.name.id, "field", "")
                    self.parts(item.value)
                case syn.Protocol():
                    self.protocol(item)
                case syn.Intermediate():
                    self.note(item.name, item.name.id, "value", "")
                    self.parts(item.value)
                case _:
                    self.parts(item)

    def roles(self, key: str) -> None:
        component = self.library.component(key)
        for role in component.roles if component is not None else ():
            self.scope.names[role] = ("party", f"{key}({role})")

    def protocol(self, item: syn.Protocol) -> None:
        outer = self.scope
        self.scope = _Scope(f"{outer.path}/protocol", {}, outer)
        for param in item.params:
            self.at = param.at
            self.define(param.name, "value")
            for part in (param.type, *param.clauses):
                if part is not None:
                    self.parts(part)
        for phase in item.phases:
            for stmt in phase.body:
                self.at = stmt.at
                self.protocol_line(stmt)
        for result in item.results:
            self.at = result.at
            self.refer(result.name, result.name.id)
            for part in (result.type, *result.clauses):
                if part is not None:
                    self.parts(part)
        self.scope = outer

    def protocol_line(self, stmt: syn.ProtocolStmt) -> None:
        match stmt:
            case syn.Fresh():
                self.define(stmt.name, "value")
                for part in (stmt.type, stmt.owner, stmt.shared_by, stmt.via):
                    if part is not None:
                        self.parts(part)
            case syn.Local():
                self.refer(stmt.party, stmt.party.id)
                self.parts(stmt.value)
                if isinstance(stmt.target, syn.Name) and self.find(stmt.target.id) is None:
                    self.define(syn.Word(stmt.target.start, stmt.target.end, stmt.target.id), "value")
                else:
                    self.parts(stmt.target)
            case _:
                self.parts(stmt)

    # ---- policies and plans ----

    def policy(self, decl: syn.Policy, key: str) -> None:
        self.parties(key)
        if decl.tightens is not None:
            self.refer(decl.tightens, decl.tightens.id)
        for item in decl.body:
            self.at = item.at
            if isinstance(item, syn.Parties):
                for name in item.names.items:
                    if isinstance(name, syn.Name):
                        self.note(name, name.id, *self.look_up(name.id), True)
            elif isinstance(item, syn.Field):
                self.note(item.name, item.name.id, "field", "")
                self.parts(item.value)
            elif isinstance(item, syn.Claim):
                pass
            else:
                self.parts(item)

    def parties(self, key: str) -> None:
        """Parties by the policy that lists them; one that tightens another has the same."""
        seen: set[str] = set()
        policy = self.library.policy(key)
        while policy is not None and key not in seen:
            seen.add(key)
            if policy.parties and (not policy.tightens or self.library.policy(policy.tightens) is None):
                for party in policy.parties:
                    self.scope.names[party] = ("party", f"{key}({party})")
            key = policy.tightens
            policy = self.library.policy(key)

    def plan(self, decl: syn.Plan) -> None:
        if decl.under is not None:
            self.refer(decl.under, decl.under.id)
            binding = self.module.scope.get(decl.under.id)
            if binding is not None and isinstance(self.library.get(binding.key), Policy):
                self.parties(binding.key)
        self.body(decl.body)

    def body(self, body: tuple[syn.Stmt, ...]) -> None:
        for stmt in sorted(body, key=_turn):
            self.at = stmt.at
            self.statement(stmt)

    def statement(self, stmt: syn.Stmt) -> None:
        match stmt:
            case syn.Input() | syn.Weight() | syn.State():
                kind = "value" if isinstance(stmt, syn.Input) else type(stmt).__name__.lower()
                self.define(stmt.name, kind)
                self.parts(stmt.type)
                for clause in stmt.clauses:
                    self.parts(clause)
                if not isinstance(stmt, syn.Input) and stmt.family is not None:
                    self.parts(stmt.family)
            case syn.Step():
                self.parts(stmt.value)
                self.targets(stmt)
                for clause in stmt.clauses:
                    self.parts(clause)
            case syn.Repeat():
                self.repeat(stmt)
            case syn.Stage():
                self.inner(f"{self.scope.path}/{stmt.name.id}", stmt)
            case syn.Output():
                self.refer(stmt.name, stmt.name.id)
                for clause in stmt.clauses:
                    self.parts(clause)
            case _:
                self.parts(stmt)

    def targets(self, step: syn.Step) -> None:
        for target in step.targets:
            known = self.find(target.name.id)
            if known is not None and known[0] in ("value", "state"):
                self.note(target.name, target.name.id, *known, True)
            else:
                self.define(target.name, "value")
            if target.index is not None:
                self.parts(target.index)

    def repeat(self, stmt: syn.Repeat) -> None:
        self.parts(stmt.range)
        if stmt.carrying is not None:
            self.parts(stmt.carrying)
        self.inner(f"{self.scope.path}/{stmt.variable.id}@{len(self.found)}", stmt)

    def inner(self, path: str, stmt: syn.Repeat | syn.Stage) -> None:
        outer = self.scope
        self.scope = _Scope(path, {}, outer)
        self.at = stmt.at
        if isinstance(stmt, syn.Repeat):
            self.define(stmt.variable, "variable")
        else:
            self.note(stmt.name, stmt.name.id, "stage", f"{path}", True)
        self.body(stmt.body)
        self.scope = outer

    # ---- parts of anything ----

    def parts(self, node: Any) -> None:
        match node:
            case syn.Name():
                self.refer(node, node.id)
            case syn.Word():
                self.refer(node, node.id)
            case syn.Spread():
                self.note(syn.Word(node.start + 3, node.end, node.id), node.id, "word", "")
            case syn.Call():
                self.call(node)
            case syn.Attribute():
                self.parts(node.base)
                name = syn.Word(node.end - len(node.name), node.end, node.name)
                self.note(name, node.name, "field", "")
            case syn.Entry():
                self.note(syn.Word(node.start, node.end, node.name), node.name, "field", "")
                self.parts(node.value)
            case _:
                for part in _children(node):
                    self.parts(part)

    def call(self, node: syn.Call) -> None:
        self.parts(node.callee)
        key = ""
        if isinstance(node.callee, syn.Name):
            binding = self.module.scope.get(node.callee.id)
            key = binding.key if binding is not None else ""
        for arg in node.args:
            if not isinstance(arg, syn.Entry):
                self.parts(arg)
                continue
            target = f"{key}({arg.name})" if key and self.takes(key, arg.name) else ""
            kind = "parameter" if target else "field"
            self.note(syn.Word(arg.start, arg.end, arg.name), arg.name, kind, target)
            self.parts(arg.value)

    def takes(self, key: str, name: str) -> bool:
        record = self.library.get(key)
        if record is None:
            return True  # a block, whose parameters are not in the library
        params = getattr(record, "params", ()) + getattr(record, "operands", ())
        return any(spec.name == name for spec in params) or (
            isinstance(record, Component) and name in record.roles
        )


_ORDER = (syn.Input, syn.Weight, syn.State, syn.Facts)


def _turn(stmt: syn.Stmt) -> int:
    return 0 if isinstance(stmt, _ORDER) else 2 if isinstance(stmt, syn.Output | syn.Requires) else 1


def _children(node: Any) -> Iterator[Any]:
    for field in getattr(node, "__struct_fields__", ()):
        yield from _structs(getattr(node, field))


def _structs(value: Any) -> Iterator[Any]:
    if isinstance(value, msgspec.Struct):
        yield value
    elif isinstance(value, tuple):
        for one in cast("tuple[Any, ...]", value):
            yield from _structs(one)


def occurrences(module: Module, library: Library) -> tuple[Occurrence, ...]:
    """All names of a file, in the order of the text."""
    return Index(module, library).all()
