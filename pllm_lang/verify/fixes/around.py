"""What a fix is made from: a finding, the module that it lies in, the library; and the edits that fixes share."""

from __future__ import annotations

from collections.abc import Iterator
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
    at = around.finding.span.start
    for decl in around.module.file.decls:
        if isinstance(decl, syn.Plan | syn.Block) and decl.at <= at < decl.at + decl.end:
            return next((Found(decl, step) for step in steps(decl.body) if _holds(step, at)), None)
    return None


def steps(body: tuple[syn.Stmt, ...]) -> Iterator[syn.Step]:
    """All steps of a body, those of its stages and repeats too, in order."""
    for stmt in body:
        if isinstance(stmt, syn.Step):
            yield stmt
        elif isinstance(stmt, syn.Repeat | syn.Stage):
            yield from steps(stmt.body)


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
