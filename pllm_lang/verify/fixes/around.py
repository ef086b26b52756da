"""What a fix is made from: a finding, the module that it lies in, the library; and the edits that fixes share."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from pllm_lang.catalog.library import Library
from pllm_lang.resolve.modules import Module
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.finding import Edit, Finding, Span

IMPLIED = ("std.operators", "std.nn", "std.experts", "std.recurrent")
"""Modules whose names are in scope without an import."""


class Around(NamedTuple):
    finding: Finding
    module: Module
    library: Library

    @property
    def text(self) -> str:
        """What stands in the file where the finding lies."""
        span = self.finding.span
        return self.module.source.text[span.start : span.end]


class Found(NamedTuple):
    """A step, and the declaration and body that hold it."""

    decl: syn.Plan | syn.Block
    step: syn.Step


def step_at(around: Around) -> Found | None:
    """The step that the finding lies in."""
    decl, stmt = statement_at(around)
    return Found(decl, stmt) if decl is not None and isinstance(stmt, syn.Step) else None


def statement_at(around: Around) -> tuple[syn.Plan | syn.Block | None, syn.Stmt | None]:
    """The innermost statement that the finding lies in, and the declaration around it."""
    at = around.finding.span.start
    for decl in around.module.file.decls:
        if isinstance(decl, syn.Plan | syn.Block) and _holds(decl, at):
            return decl, _innermost(decl.body, at)
    return None, None


def _innermost(body: tuple[syn.Stmt, ...], at: int) -> syn.Stmt | None:
    """Statements of a body stand in order, so that the one around a place is found by halving."""
    index = bisect_right(body, at, key=lambda stmt: stmt.at) - 1
    stmt = body[index] if index >= 0 else None
    if stmt is None or not _holds(stmt, at):
        return None
    return (_innermost(stmt.body, at) or stmt) if isinstance(stmt, syn.Repeat | syn.Stage) else stmt


def _holds(anchor: syn.Anchor, at: int) -> bool:
    return anchor.at <= at < anchor.at + anchor.end


def clause_of(step: syn.Step) -> syn.Using | syn.At | None:
    """How the step is done: its component or its party."""
    return next((c for c in step.clauses if not isinstance(c, syn.Assume)), None)


def replaced(around: Around, start: int, end: int, text: str) -> Edit:
    return Edit(Span(around.module.source.name, start, end), text)


def part_replaced(around: Around, anchor: syn.Anchor, node: syn.Node, text: str) -> Edit:
    return replaced(around, anchor.at + node.start, anchor.at + node.end, text)


def part_text(around: Around, anchor: syn.Anchor, node: syn.Node) -> str:
    return around.module.source.text[anchor.at + node.start : anchor.at + node.end]


def imported(around: Around, module: str, name: str) -> tuple[Edit, ...] | None:
    """The edits that bring `name` of `module` into scope: none where it is there, None where something else has that name."""
    bound = around.module.scope.get(name)
    if bound is not None:
        return () if bound.key == f"{module}.{name}" else None
    if module.startswith("./") or module in IMPLIED:
        return None
    imports = [decl for decl in around.module.file.decls if isinstance(decl, syn.Import)]
    for decl in imports:
        if decl.names and ".".join(word.id for word in decl.path) == module:
            last = decl.at + decl.names[-1].end
            return (replaced(around, last, last, f", {name}"),)
    line = f"import {module} [{name}]"
    if imports:
        end = imports[-1].at + imports[-1].end
        return (replaced(around, end, end, f"\n{line}"),)
    edition = around.module.file.edition
    if edition is None:
        return None
    return (replaced(around, edition.end, edition.end, f"\n\n{line}"),)


def fresh_name(around: Around, wish: str) -> str:
    """`wish`, or `wish2`, ...: a name that stands nowhere in the file."""
    text = around.module.source.text
    return next(name for k in range(1, 10_000) if (name := wish if k == 1 else f"{wish}{k}") not in text)
