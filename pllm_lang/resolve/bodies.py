"""Inside the bodies of plans and blocks: values that hide a declaration, values that nothing uses.

Warnings only. Unknown and doubled names, kinds and types are found when a body is lowered, where signatures
are known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

import msgspec

from pllm_lang.resolve.modules import Binding
from pllm_lang.resolve.places import node_span
from pllm_lang.resolve.uses import collect_names
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.finding import Finding, Severity


class _Said(msgspec.Struct, frozen=True, gc=False):
    """What a statement reads, and which names it gives values to (together: one statement may give several)."""

    stmt: syn.Stmt
    used: frozenset[str]
    defined: tuple[syn.Word, ...]


Uses: TypeAlias = dict[str, dict[int, _Said]]
"""For an editor that reads a project again and again: what statements say, by file and by the statement's identity."""


def check_bodies(
    module: str, file_name: str, file: syn.File, scope: Mapping[str, Binding], uses: Uses | None = None
) -> list[Finding]:
    """`names.shadows` and `names.unused` of every plan and block of a file."""
    findings: list[Finding] = []
    known = {} if uses is None else uses.get(file_name, {})
    again: dict[int, _Said] = {}
    for decl in file.decls:
        if isinstance(decl, syn.Plan | syn.Block):
            said = [known.get(id(stmt)) or _said(stmt) for stmt in statements(decl.body)]
            again.update((id(one.stmt), one) for one in said if uses is not None)
            used = set[str]().union(*[one.used for one in said])
            if isinstance(decl, syn.Block):
                used.update(result.name.id for result in decl.results)
            for one in said:
                findings += _check(module, file_name, one, scope, used)
    if uses is not None:
        uses[file_name] = again
    return findings


def _said(stmt: syn.Stmt) -> _Said:
    used: set[str] = set()
    _collect(stmt, used)
    return _Said(stmt, frozenset(used), _defined(stmt))


def statements(body: tuple[syn.Stmt, ...]) -> Iterator[syn.Stmt]:
    """Every statement of a body and of what is inside it, in the order written."""
    for stmt in body:
        yield stmt
        if isinstance(stmt, syn.Repeat | syn.Stage):
            yield from statements(stmt.body)


def _defined(stmt: syn.Stmt) -> tuple[syn.Word, ...]:
    match stmt:
        case syn.Input() | syn.Weight() | syn.State():
            return (stmt.name,)
        case syn.Step():
            return tuple(t.name for t in stmt.targets if t.index is None)
        case _:
            return ()


def _check(
    module: str, file_name: str, said: _Said, scope: Mapping[str, Binding], used: set[str]
) -> list[Finding]:
    words, anchor = said.defined, said.stmt
    findings: list[Finding] = []
    for word in words:
        hidden = scope.get(word.id)
        if hidden is not None and not (hidden.kind == "operator" and hidden.module.startswith("std.")):
            where = "this file" if hidden.module == module else f"`{hidden.module}`"
            message = f"the value `{word.id}` hides the {hidden.kind} `{hidden.name}` of {where}"
            findings.append(
                _warning("names.shadows", message, file_name, anchor, word, "give the value another name")
            )
    if words and not any(word.id in used or word.id.startswith("_") for word in words):
        word = words[0]
        help_ = "remove it, use it, or begin its name with `_`"
        findings.append(_warning("names.unused", f"nothing uses `{word.id}`", file_name, anchor, word, help_))
    return findings


def _warning(
    code: str, message: str, file_name: str, anchor: syn.Anchor, word: syn.Word, help_: str
) -> Finding:
    span = node_span(file_name, anchor, word)
    return Finding(code, message, span, severity=Severity.WARNING, help=help_)


def _collect(stmt: syn.Stmt, used: set[str]) -> None:
    match stmt:
        case syn.Step():
            collect_names(stmt.value, used)
            for target in stmt.targets:
                if target.index is not None:
                    used.add(target.name.id)
                    collect_names(target.index, used)
            for clause in stmt.clauses:
                if isinstance(clause, syn.Using):
                    collect_names(clause.component, used)
        case syn.Output():
            used.add(stmt.name.id)
        case syn.Requires():
            collect_names(stmt.condition, used)
        case syn.Repeat():
            collect_names(stmt.range, used)
            if stmt.carrying is not None:
                collect_names(stmt.carrying, used)
        case syn.Input() | syn.Weight() | syn.State():
            collect_names(stmt.type, used)
        case syn.Stage() | syn.Facts():
            pass
