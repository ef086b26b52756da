"""Remove a statement whose values nothing uses."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.syntax import nodes as syn
from pllm_lang.text.edits import whole_lines
from pllm_lang.text.finding import Edit, Fix, Span
from pllm_lang.verify.fixes.around import Around, statement_at

CODES = ("names.unused",)


def propose(around: Around) -> Iterator[Fix]:
    """Not safe: what is owed by the statement goes with it."""
    source = around.module.source
    _, stmt = statement_at(around)
    if isinstance(stmt, syn.Input | syn.Weight | syn.State | syn.Step):
        span = whole_lines(source, Span(source.name, stmt.at, stmt.at + stmt.end))
        yield Fix(f"Remove `{around.text}`", (Edit(span, ""),), safe=False)
