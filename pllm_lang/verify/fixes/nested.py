"""Give a call that computes, inside another call, a line of its own; the party of the step computes it."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.syntax import nodes as syn
from pllm_lang.text.edits import line_before
from pllm_lang.text.finding import Fix
from pllm_lang.verify.fixes.around import Around, clause_of, fresh_name, replaced, step_at

CODES = ("types.nested_call",)


def propose(around: Around) -> Iterator[Fix]:
    found = step_at(around)
    clause = clause_of(found.step) if found else None
    if found is None or not isinstance(clause, syn.At) or "\n" in around.text:
        return
    name = fresh_name(around, f"{found.step.targets[0].name.id}_{around.text.partition('(')[0]}")
    line = f"{name} = {around.text} @ {clause.party.id}"
    before = line_before(around.module.source, found.step.at, line)
    span = around.finding.span
    yield Fix(f"Insert `{line}`", (before, replaced(around, span.start, span.end, name)), safe=False)
