"""From obligations to findings: those that are not proved, grouped by place and rule, with a number and a next step."""

from __future__ import annotations

from collections.abc import Iterable

from pllm_lang.catalog.expr import NOWHERE, Origin
from pllm_lang.ir.source_map import SourceMap
from pllm_lang.text.finding import Finding, Label, Severity, Span, Verdict
from pllm_lang.verify.obligation import Obligation

_WORSE = {Verdict.PROVED: 0, Verdict.UNPROVED: 1, Verdict.REFUTED: 2}


def findings_of(obligations: Iterable[Obligation], source_map: SourceMap) -> tuple[Finding, ...]:
    """One finding for each rule and place: the worst obligation speaks, `count` says how many it stands for."""
    groups: dict[tuple[str, Span, str], list[Obligation]] = {}
    for obligation in obligations:
        if obligation.verdict is Verdict.PROVED:
            continue
        span = span_of(obligation, source_map)
        groups.setdefault((obligation.code, span, obligation.part), []).append(obligation)
    return tuple(_finding(span, group, source_map) for (_, span, _), group in groups.items())


def span_of(obligation: Obligation, source_map: SourceMap) -> Span:
    """The narrowest known place of the part that an obligation is about."""
    value = obligation.subject
    origin = source_map.parts.get((value, obligation.part)) or source_map.parts.get((value, "step"))
    if origin is None and value in source_map.values:
        origin = source_map.values[value][1]
    return _span(origin or source_map.plan)


def _span(origin: Origin) -> Span:
    return Span(origin.file, origin.start, origin.end)


def _finding(span: Span, group: list[Obligation], source_map: SourceMap) -> Finding:
    worst = max(group, key=lambda o: (_WORSE[o.verdict], len(o.witness)))
    return Finding(
        code=worst.code,
        message=worst.message,
        span=span,
        severity=Severity.ERROR,
        verdict=worst.verdict,
        labels=tuple(_labels(worst, source_map)),
        notes=tuple(_notes(worst)),
        help=worst.help,
        data=_data(worst),
        subject=name_of(worst.subject, source_map),
        count=sum(o.count for o in group),
    )


def name_of(value: int, source_map: SourceMap) -> str:
    known = source_map.values.get(value)
    return known[0] if known else source_map.name


def _labels(obligation: Obligation, source_map: SourceMap) -> Iterable[Label]:
    if obligation.clause != NOWHERE:
        yield Label(_span(obligation.clause), obligation.reason or "asked here")
    call = source_map.expanded.get(obligation.subject)
    if call is not None:
        yield Label(_span(call), "in the block used here")


def _notes(obligation: Obligation) -> Iterable[str]:
    if obligation.reason:
        yield obligation.reason
    yield from obligation.notes


def _data(obligation: Obligation) -> dict[str, str]:
    names = ("value", "limit", "term", "needs")
    data = {name: getattr(obligation, name) for name in names if getattr(obligation, name)}
    if obligation.witness:
        data["witness"] = "; ".join(obligation.witness)
    return data


def count_verdicts(obligations: Iterable[Obligation]) -> dict[str, int]:
    """How many obligations ended in each verdict, and how many rest on an assumption."""
    counts = {verdict.value: 0 for verdict in Verdict} | {"assumed": 0}
    for obligation in obligations:
        counts[obligation.verdict.value] += obligation.count
        if obligation.assumed:
            counts["assumed"] += obligation.count
    return counts
