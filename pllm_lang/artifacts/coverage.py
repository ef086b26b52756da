"""The coverage report of a plan or an experiment: what is covered, by what, and every gap by name.

In: a checked plan and the sources of the call. Out: rows. A row stands for all things that are alike; its level is
`covered`, `assumed` (it rests on something taken for granted) or `missing`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from pllm_lang.artifacts.coverage_report import SCHEMA, Aspect, Coverage, Level, Place, Row, document
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.policies import effective
from pllm_lang.ir.experiment import Experiment
from pllm_lang.ir.lower.pipeline.slots import read_slots
from pllm_lang.ir.source_map import SourceMap
from pllm_lang.text.finding import Finding, Severity, Span, Verdict
from pllm_lang.text.source import Source
from pllm_lang.verify.check import PlanReport
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.report import findings_of, name_of, span_of
from pllm_lang.verify.view import Met

__all__ = ["CONVERSIONS", "SCHEMA", "Coverage", "Row", "coverage_of", "document"]

CONVERSIONS = frozenset({"quantize", "dequantize", "rescale", "cast", "encode", "share", "reveal"})
Sources = Mapping[str, Source]

_ASPECTS: dict[str, Aspect] = {
    "bounds": "bound",
    "assurance": "assurance",
    "versions": "version",
    "target": "target",
    "placement": "placement",
    "protocol": "placement",
    "material": "material",
    "coverage": "operator",
    "experiments": "other",
    "coverage.missing_conversion": "conversion",
    "placement.role": "role",
    "placement.assumption": "assurance",
    "placement.adversary": "assurance",
}
_FAMILIES = ("bounds", "placement", "protocol", "material", "target", "assurance", "versions")
"""Families whose proofs are rows of their own; those of `coverage` are the rows of operators."""


def coverage_of(
    report: PlanReport,
    sources: Sources | None = None,
    experiment: Experiment | None = None,
    library: Library | None = None,
    home: Span | None = None,
) -> Coverage:
    """All rows: operators and conversions, roles, proofs by rule, versions, assumptions, and the gaps. Of an experiment
    also its hosts, the roles that its pipeline lacks, and the components of the pipeline that no step names.

    `home` is where the steps of a text that nobody wrote, a model's, are said to be.
    """
    places = _Places(report.source_map, sources or {}, home)
    met = () if report.flow is None else report.flow.met
    gaps = [o for o in report.obligations if o.verdict is not Verdict.PROVED]
    blocked = {o.subject: o for o in gaps if o.code.startswith("coverage.")}
    rows = [*_operator_rows(met, blocked, places), *_role_rows(met, gaps, report.source_map)]
    rows += _proof_rows(report.obligations, gaps)
    lacking = (
        []
        if experiment is None or library is None
        else list(_lacking_roles(experiment, library, home, places))
    )
    rows += lacking
    if experiment is not None:
        rows += _host_rows(experiment, gaps)
    rows += [*_version_rows(met, gaps), *_assumption_rows(report.obligations)]
    if experiment is not None and library is not None:
        rows += _slot_rows(experiment, library, {row.subject for row in rows if row.aspect == "version"})
    rows += (row for row in _gap_rows(report, gaps, met, places) if not (lacking and _tells_a_role(row)))
    if not report.accepted and all(row.level != "missing" for row in rows):
        why = "its plan or another declaration of its files is refused; see `pllm check`"
        rows.append(Row("other", report.name, "missing", why, 1))
    complete = report.accepted and all(row.level != "missing" for row in rows)
    told = tuple(f"{n.family}: {n.why}" for n in report.not_asked)
    return Coverage(SCHEMA, report.name, complete, tuple(rows), told)


class _Places:
    """Offsets as lines and columns; a text that nobody wrote (a model's) stands at `home`."""

    def __init__(self, source_map: SourceMap, sources: Sources, home: Span | None) -> None:
        self.source_map = source_map
        self._sources = sources
        self._home = home

    def of(self, spans: Iterable[Span]) -> tuple[Place, ...]:
        found: dict[Place, None] = {}
        for written in spans:
            span = self._home if self._home is not None and self.unwritten(written) else written
            source = self._sources.get(span.file)
            if source is not None:
                found[Place(span.file, *source.line_column(span.start))] = None
        return tuple(found)

    def unwritten(self, span: Span) -> bool:
        """Whether the span lies in the text of a model, which is no file."""
        return span.file not in self._sources and span.file == self.source_map.plan.file

    def step(self, value: int) -> Span:
        origin = self.source_map.parts.get((value, "step"), self.source_map.plan)
        return Span(origin.file, origin.start, origin.end)


# ---- operators and conversions ----
def _operator_rows(met: Iterable[Met], blocked: Mapping[int, Obligation], places: _Places) -> Iterator[Row]:
    groups: dict[tuple[Aspect, str, Level, str, str], list[Met]] = {}
    for one in met:
        if not one.step.structural:
            groups.setdefault(_key(one, blocked), []).append(one)
    for (aspect, subject, level, by, code), group in groups.items():
        found = places.of(places.step(one.step.results[0]) for one in group)
        yield Row(aspect, subject, level, by, sum(one.times for one in group), found, code)


def _key(one: Met, blocked: Mapping[int, Obligation]) -> tuple[Aspect, str, Level, str, str]:
    view = one.judged.view
    name = one.step.operator.rsplit(".", 1)[-1]
    aspect: Aspect = "conversion" if name in CONVERSIONS else "operator"
    gap = blocked.get(one.step.results[0])
    if view is None:
        return aspect, name, "missing", "its types do not fit", ""
    if gap is not None:
        return _ASPECTS.get(gap.code, aspect), name, "missing", gap.message, gap.code
    component = "" if view.component is None else view.component.id
    assumed = any(o.assumed for o in one.judged.obligations)
    return aspect, name, "assumed" if assumed else "covered", component, ""


# ---- roles and versions, by component ----
def _role_rows(met: Iterable[Met], gaps: Iterable[Obligation], source_map: SourceMap) -> Iterator[Row]:
    """Roles that the components need and a party plays; a role that nobody plays is a gap."""
    missing = {name_of(gap.subject, source_map) for gap in gaps if gap.code == "placement.role"}
    roles: Counter[tuple[str, str]] = Counter()
    for one in met:
        view = one.judged.view
        if view is not None and view.component is not None:
            if any(name_of(value, source_map) in missing for value in one.step.results):
                continue
            roles.update({(role, view.component.id): one.times for role in view.component.roles})
    for (role, component), times in sorted(roles.items()):
        yield Row("role", role, "covered", component, times)


def _version_rows(met: Iterable[Met], gaps: Iterable[Obligation]) -> Iterator[Row]:
    outdated = {gap.subject for gap in gaps if gap.code.startswith("versions.")}
    times: Counter[tuple[str, str]] = Counter()
    refused: set[str] = set()
    for one in met:
        view = one.judged.view
        if view is None or view.component is None:
            continue
        if not outdated.isdisjoint(one.step.results):
            refused.add(view.component.id)
        times[view.component.id, view.component.version] += one.times
    for (component, version), count in sorted(times.items()):
        if component not in refused:
            yield Row("version", component, "covered", f"version {version}", count)


def _host_rows(experiment: Experiment, gaps: Iterable[Obligation]) -> Iterator[Row]:
    """Where each party runs, unless its machine is a gap."""
    if experiment.deployment is None or any(gap.code.startswith("target.") for gap in gaps):
        return
    for party, target in experiment.deployment.hosts:
        yield Row("target", party, "covered", f"runs on {target.rsplit('.', 1)[-1]}", 1)


def _slot_rows(experiment: Experiment, library: Library, shown: set[str]) -> Iterator[Row]:
    """Kernels, preparation and the like: components that the pipeline has and no step names."""
    for slot, use in experiment.slots:
        component = library.component(use.key)
        if component is not None and component.id not in shown:
            shown.add(component.id)
            yield Row("version", component.id, "covered", f"version {component.version}, as {slot}", 1)


def _lacking_roles(
    experiment: Experiment, library: Library, home: Span | None, places: _Places
) -> Iterator[Row]:
    """Roles of the pipeline's components for which the policy has no party."""
    if experiment.pipeline is None or not experiment.policy:
        return
    policy = effective(experiment.policy, library)
    slots = read_slots(experiment.pipeline, library, policy, lambda _code, _message, _help: None)
    lacking: dict[str, str] = {}
    for slot, use in () if slots is None else slots.named:
        component = library.component(use.key)
        for role in () if component is None or slot == "kernels" else component.roles:
            if role not in dict(use.roles):
                lacking.setdefault(role, "" if component is None else component.id)
    for role, component in lacking.items():
        why = f"{component} needs it, and the policy has no such party"
        where = () if home is None else places.of((home,))
        yield Row("role", role, "missing", why, 1, where, PIPELINE)


PIPELINE = "experiments.pipeline"


def _tells_a_role(row: Row) -> bool:
    """Whether a finding says what a row of `_lacking_roles` says."""
    return row.code == PIPELINE and " needs a party " in row.by


# ---- proofs, assumptions and gaps ----
def _proof_rows(obligations: Iterable[Obligation], gaps: Iterable[Obligation]) -> Iterator[Row]:
    """What was proved, a row a rule, where nothing of that rule is missing."""
    broken = {gap.code for gap in gaps}
    counts: Counter[str] = Counter()
    assumed: Counter[str] = Counter()
    for one in obligations:
        if (
            one.verdict is Verdict.PROVED
            and one.code.partition(".")[0] in _FAMILIES
            and one.code not in broken
        ):
            counts[one.code] += one.count
            assumed[one.code] += one.count if one.assumed else 0
    for code, times in counts.items():
        resting = f", {assumed[code]} of {times} under an assumption" if assumed[code] else ""
        level = "assumed" if resting else "covered"
        yield Row(_aspect(code), code, level, f"ruled out by proof{resting}", times)


def _assumption_rows(obligations: Iterable[Obligation]) -> Iterator[Row]:
    counts: Counter[str] = Counter()
    for one in obligations:
        if one.verdict is Verdict.PROVED:
            counts.update(dict.fromkeys(one.assumed, one.count))
    for assumption, count in sorted(counts.items()):
        yield Row("assurance", assumption, "assumed", "taken for granted", count)


def _gap_rows(
    report: PlanReport, gaps: Iterable[Obligation], met: Iterable[Met], places: _Places
) -> Iterator[Row]:
    """Every error that no row of an operator tells: of obligations, and of what was found before any was asked."""
    shown = {one.step.results[0] for one in met if not one.step.structural and one.step.results}
    told = [gap for gap in gaps if gap.code.startswith("coverage.") and gap.subject in shown]
    spans = {(gap.code, span_of(gap, report.source_map)) for gap in told}
    texts = {(gap.code, gap.message) for gap in told}
    rest = [gap for gap in gaps if gap not in told]
    seen: set[tuple[str, Span, str]] = set()
    for finding in (*report.findings, *findings_of(rest, report.source_map)):
        key = (finding.code, finding.span, finding.message)
        if finding.severity is not Severity.ERROR or key in seen or key[:2] in spans:
            continue
        if (finding.code, finding.message) in texts:
            continue
        if places.unwritten(finding.span) and _same_elsewhere(finding, seen):
            continue
        seen.add(key)
        subject = finding.subject or finding.code
        by, where = finding.message, places.of((finding.span,))
        yield Row(_aspect(finding.code), subject, "missing", by, finding.count, where, finding.code)


def _same_elsewhere(finding: Finding, seen: Iterable[tuple[str, Span, str]]) -> bool:
    """A model's finding points at the place that names the model, and is there once more with its own."""
    return any(finding.code == code and finding.message == message for code, _, message in seen)


def _aspect(code: str) -> Aspect:
    return _ASPECTS.get(code) or _ASPECTS.get(code.partition(".")[0], "other")
