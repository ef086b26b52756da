"""Remove a statement whose values nothing uses."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.resolve.bodies import statements
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.edits import whole_lines
from pllm_lang.text.finding import Edit, Fix, Span
from pllm_lang.verify.fixes.around import Around

CODES = ("names.unused",)


def propose(around: Around) -> Iterator[Fix]:
    """Not safe: what is owed by the statement goes with it."""
    source, at = around.module.source, around.finding.span.start
    for decl in around.module.file.decls:
        for stmt in statements(decl.body) if isinstance(decl, syn.Plan | syn.Block) else ():
            named = isinstance(stmt, syn.Input | syn.Weight | syn.State | syn.Step)
            if named and stmt.at <= at < stmt.at + stmt.end:
                span = whole_lines(source, Span(source.name, stmt.at, stmt.at + stmt.end))
                yield Fix(f"Remove `{around.text}`", (Edit(span, ""),), safe=False)
