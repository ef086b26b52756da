"""Remove a draw that nothing needs, and its name from the bundle that it is issued in."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.syntax import nodes as syn
from pllm_lang.text.edits import whole_lines
from pllm_lang.text.finding import Edit, Fix
from pllm_lang.verify.fixes.around import Around, replaced

CODES = ("protocol.unused_draw",)


def propose(around: Around) -> Iterator[Fix]:
    """Not safe: a mask may have been meant where it is missing."""
    source, at = around.module.source, around.finding.span.start
    for phases in _protocols(around):
        lines = [line for phase in phases for line in phase.body]
        draw = next((line for line in lines if isinstance(line, syn.Fresh) and line.at == at), None)
        if draw is None:
            continue
        edits = [Edit(whole_lines(source, around.finding.span), "")]
        for line in lines:
            if isinstance(line, syn.Bundle):
                edits += _without(around, line, draw.name.id)
        yield Fix(f"Remove the draw `{draw.name.id}`", tuple(edits), safe=False)


def _protocols(around: Around) -> Iterator[tuple[syn.Phase, ...]]:
    for decl in around.module.file.decls:
        if isinstance(decl, syn.Record):
            yield from (item.phases for item in decl.body if isinstance(item, syn.Protocol))


def _without(around: Around, bundle: syn.Bundle, name: str) -> Iterator[Edit]:
    """The bundle without this member, with one comma less; it goes as a whole with its last member."""
    kept = [member.id for member in bundle.members if member.id != name]
    if len(kept) == len(bundle.members):
        return
    if not kept:
        span = replaced(around, bundle.at, bundle.at + bundle.end, "").span
        yield Edit(whole_lines(around.module.source, span), "")
        return
    start, end = bundle.at + bundle.members[0].start, bundle.at + bundle.members[-1].end
    yield replaced(around, start, end, ", ".join(kept))
