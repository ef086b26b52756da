"""Inside the bodies of plans and blocks: values that hide a declaration, values that nothing uses.

Warnings only. Unknown and doubled names, kinds and types are found when a body is lowered, where signatures
are known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pllm_lang.resolve.modules import Binding
from pllm_lang.resolve.places import node_span
from pllm_lang.resolve.uses import collect_names
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.finding import Finding, Severity


def check_bodies(module: str, file_name: str, file: syn.File, scope: Mapping[str, Binding]) -> list[Finding]:
    """`names.shadows` and `names.unused` of every plan and block of a file."""
    findings: list[Finding] = []
    for decl in file.decls:
        if isinstance(decl, syn.Plan | syn.Block):
            used: set[str] = set()
            for stmt in statements(decl.body):
                _collect(stmt, used)
            if isinstance(decl, syn.Block):
                used.update(result.name.id for result in decl.results)
            for anchor, words in _defined(decl):
                findings += _check(module, file_name, anchor, words, scope, used)
    return findings


def statements(body: tuple[syn.Stmt, ...]) -> Iterator[syn.Stmt]:
    """Every statement of a body and of what is inside it, in the order written."""
    for stmt in body:
        yield stmt
        if isinstance(stmt, syn.Repeat | syn.Stage):
            yield from statements(stmt.body)


def _defined(decl: syn.Plan | syn.Block) -> Iterator[tuple[syn.Anchor, tuple[syn.Word, ...]]]:
    """Names that statements give values to, together where one statement gives several."""
    for stmt in statements(decl.body):
        match stmt:
            case syn.Input() | syn.Weight() | syn.State():
                yield stmt, (stmt.name,)
            case syn.Step():
                yield stmt, tuple(t.name for t in stmt.targets if t.index is None)
            case _:
                pass


def _check(
    module: str,
    file_name: str,
    anchor: syn.Anchor,
    words: tuple[syn.Word, ...],
    scope: Mapping[str, Binding],
    used: set[str],
) -> list[Finding]:
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
