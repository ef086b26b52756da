"""The coverage report of a plan: what is covered, by what, and every gap by name.

In: a checked plan. Out: rows, and their form as a document (`pllm.lang.coverage.v1`). A row stands for all steps
that are alike; its level is `covered`, `assumed` (it rests on something taken for granted) or `missing`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from pllm_lang.ir.source_map import SourceMap
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.check import PlanReport
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.report import name_of, span_of
from pllm_lang.verify.view import Met

SCHEMA = "pllm.lang.coverage.v1"

Aspect = Literal[
    "operator", "conversion", "role", "bound", "assurance", "version", "target", "placement", "other"
]
Level = Literal["covered", "assumed", "missing"]

_ASPECTS: dict[str, Aspect] = {
    "bounds": "bound",
    "assurance": "assurance",
    "versions": "version",
    "target": "target",
    "placement": "placement",
    "protocol": "placement",
    "material": "placement",
}
CONVERSIONS = frozenset({"quantize", "dequantize", "rescale", "cast", "encode", "share", "reveal"})


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """`by` is the component that covers, or the blocker that stands in the way; `places` are `file:offset` of steps."""

    aspect: Aspect
    subject: str
    level: Level
    by: str
    occurrences: int
    places: tuple[str, ...] = ()
    code: str = ""


class Coverage(msgspec.Struct, frozen=True):
    """`complete` holds iff no row is missing and nothing else stopped the plan."""

    schema: str
    plan: str
    complete: bool
    rows: tuple[Row, ...]
    not_asked: tuple[str, ...]


def coverage_of(report: PlanReport) -> Coverage:
    """All rows of a plan: its operators first, then the other gaps."""
    source_map = report.source_map
    met = () if report.flow is None else report.flow.met
    gaps = [o for o in report.obligations if o.verdict is not Verdict.PROVED]
    rows = (*_operator_rows(met, gaps, source_map), *_gap_rows(gaps, source_map))
    complete = report.accepted and all(row.level != "missing" for row in rows)
    return Coverage(
        SCHEMA, report.name, complete, rows, tuple(f"{n.family}: {n.why}" for n in report.not_asked)
    )


def _operator_rows(met: Iterable[Met], gaps: Iterable[Obligation], source_map: SourceMap) -> Iterator[Row]:
    blocked = {o.subject: o for o in gaps if o.code.startswith("coverage.")}
    groups: dict[tuple[Aspect, str, Level, str, str], list[Met]] = {}
    for one in met:
        if one.step.structural:
            continue
        groups.setdefault(_key(one, blocked), []).append(one)
    for (aspect, subject, level, by, code), group in groups.items():
        places = tuple(dict.fromkeys(_place(one.step.results[0], source_map) for one in group))
        yield Row(aspect, subject, level, by, sum(one.times for one in group), places, code)


def _key(one: Met, blocked: dict[int, Obligation]) -> tuple[Aspect, str, Level, str, str]:
    view = one.judged.view
    name = one.step.operator.rsplit(".", 1)[-1]
    aspect: Aspect = "conversion" if name in CONVERSIONS else "operator"
    gap = blocked.get(one.step.results[0])
    if view is None:
        return aspect, name, "missing", "its types do not fit", ""
    if gap is not None:
        return aspect, name, "missing", gap.message, gap.code
    component = "" if view.component is None else view.component.id
    assumed = any(o.assumed for o in one.judged.obligations)
    return aspect, name, "assumed" if assumed else "covered", component, ""


def _place(value: int, source_map: SourceMap) -> str:
    origin = source_map.parts.get((value, "step"), source_map.plan)
    return f"{origin.file}:{origin.start}"


def _gap_rows(gaps: Iterable[Obligation], source_map: SourceMap) -> Iterator[Row]:
    for gap in gaps:
        family = gap.code.partition(".")[0]
        if family == "coverage":
            continue
        span = span_of(gap, source_map)
        place = (f"{span.file}:{span.start}",)
        subject = name_of(gap.subject, source_map)
        yield Row(_ASPECTS.get(family, "other"), subject, "missing", gap.message, gap.count, place, gap.code)


def document(coverage: Coverage) -> bytes:
    """The report as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(coverage), indent=2)
