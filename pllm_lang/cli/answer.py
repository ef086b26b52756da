"""The answer to `pllm check`: the findings of all calls and what became of each plan, as text in the format asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from pllm_lang.cli.call import Call
from pllm_lang.cli.checking import Checked, ProtocolReport, check_files
from pllm_lang.resources import stdlib_dir
from pllm_lang.text.finding import Finding, Severity
from pllm_lang.text.read import read_source
from pllm_lang.text.render_concise import render_concise
from pllm_lang.text.render_full import render_full
from pllm_lang.text.render_json import findings_document
from pllm_lang.text.source import Source
from pllm_lang.text.style import style_for
from pllm_lang.text.suppress import suppress
from pllm_lang.verify.check import PlanReport
from pllm_lang.verify.report import count_verdicts


class Answer(msgspec.Struct, frozen=True):
    """`findings` are those shown; `read` every file or folder that the answer depends on."""

    text: str
    findings: tuple[Finding, ...]
    read: tuple[str, ...]


def answer(
    calls: Sequence[Call], format_: str | None, select: Sequence[str], ignore: Sequence[str]
) -> Answer:
    """Check the files of all calls; options of the command line come before those of a configuration."""
    checked = [
        (call, check_files(call.files, call.settings.root, call.buffers)) for call in calls if call.files
    ]
    findings: list[Finding] = []
    sources: dict[str, Source] = {}
    for call, done in checked:
        config = call.settings.config
        findings += shown(done, select or config.select, ignore or config.ignore)
        sources |= done.sources
    sources |= dict(_library_sources(findings, sources))
    chosen = format_ or next(
        (call.settings.config.format for call in calls if call.settings.config.format), "full"
    )
    reports = [report for _, done in checked for report in done.reports]
    protocols = [report for _, done in checked for report in done.protocols]
    text = _text(chosen, tuple(findings), sources, reports, protocols, sum(len(call.files) for call in calls))
    return Answer(text, tuple(findings), tuple(_read(checked)))


def shown(done: Checked, select: Sequence[str] = (), ignore: Sequence[str] = ()) -> tuple[Finding, ...]:
    """The findings that nothing suppresses, selects away or ignores."""
    return tuple(_chosen(_unsuppressed(done), select, ignore))


def _library_sources(
    findings: Iterable[Finding], known: Mapping[str, Source]
) -> Iterator[tuple[str, Source]]:
    """Texts of the library that findings point into: it is loaded compiled, so its texts are read only to be shown."""
    spans = [span for one in findings for span in (one.span, *(label.span for label in one.labels))]
    for name in {span.file for span in spans} - set(known):
        if name.startswith("std/"):
            source = read_source(stdlib_dir() / name.removeprefix("std/"), name)
            if isinstance(source, Source):
                yield name, source


def _unsuppressed(done: Checked) -> Iterable[Finding]:
    findings: Iterable[Finding] = done.findings
    for name, comments in done.comments.items():
        findings = suppress(findings, done.sources[name], comments).kept
    return findings


def _chosen(findings: Iterable[Finding], select: Sequence[str], ignore: Sequence[str]) -> Iterator[Finding]:
    """Errors are always shown: only warnings and notes can be selected or ignored."""
    for finding in findings:
        if finding.severity is Severity.ERROR or (
            (not select or _matches(finding.code, select)) and not _matches(finding.code, ignore)
        ):
            yield finding


def _matches(code: str, wanted: Sequence[str]) -> bool:
    names = [name.strip() for given in wanted for name in given.split(",")]
    return any(code == name or code.startswith(name + ".") for name in names if name)


def _read(checked: Iterable[tuple[Call, Checked]]) -> Iterator[str]:
    for call, done in checked:
        yield from call.settings.read
        yield from call.watched
        for path in done.read:
            yield path
            yield os.path.dirname(os.path.abspath(path))


def _text(
    format_: str,
    findings: tuple[Finding, ...],
    sources: dict[str, Source],
    reports: list[PlanReport],
    protocols: list[ProtocolReport],
    n_files: int,
) -> str:
    if format_ == "json":
        return _json(findings, sources, reports, protocols)
    well = _all_well(reports, protocols, n_files)
    if format_ == "concise":
        return render_concise(findings, sources, style_for(sys.stdout)) or well
    told = "".join(f"{line}\n" for line in (*_protocol_lines(protocols), *_plan_lines(reports)))
    return (render_full(findings, sources, style_for(sys.stdout)) or well) + told


def _all_well(reports: Sequence[PlanReport], protocols: Sequence[ProtocolReport], n_files: int) -> str:
    files = f"{n_files} file{'' if n_files == 1 else 's'}"
    plans = f"{len(reports)} plan{'' if len(reports) == 1 else 's'}"
    proved = f", {len(protocols)} protocol{'' if len(protocols) == 1 else 's'} proved" if protocols else ""
    return f"{files} checked, {plans} accepted{proved}\n"


def _protocol_lines(protocols: Sequence[ProtocolReport]) -> Iterator[str]:
    for report in protocols:
        ended = f"refused, {len(report.findings)} not proved" if report.findings else "proved"
        yield f"{report.name}: {ended}"
        for assumed in report.assumptions:
            yield f"  assumed: {assumed}"


def _plan_lines(reports: Sequence[PlanReport]) -> Iterator[str]:
    for report in reports:
        counts = count_verdicts(report.obligations)
        open_ones = counts["refuted"] + counts["unproved"]
        proved = counts["proved"]
        told = f"{proved} obligation{'' if proved == 1 else 's'} proved" + (
            f", {open_ones} not" if open_ones else ""
        )
        yield f"{report.name}: {'accepted' if report.accepted else 'refused'}, {told}"
        for assumed in assumptions(report):
            yield f"  assumed: {assumed}"
        for missing in report.not_asked:
            yield f"  not asked: {missing.family} ({missing.why})"


def assumptions(report: PlanReport) -> tuple[str, ...]:
    """What the proofs of a plan rest on, each once."""
    return tuple(dict.fromkeys(told for obligation in report.obligations for told in obligation.assumed))


def _json(
    findings: tuple[Finding, ...],
    sources: dict[str, Source],
    reports: list[PlanReport],
    protocols: list[ProtocolReport],
) -> str:
    document: dict[str, Any] = findings_document(findings, sources)
    if protocols:
        document["protocols"] = [
            {
                "name": report.name,
                "verdict": "refused" if report.findings else "proved",
                "assumed": list(report.assumptions),
            }
            for report in protocols
        ]
    document["plans"] = [
        {
            "name": report.name,
            "file": report.source_map.plan.file,
            "verdict": "accepted" if report.accepted else "refused",
            "obligations": count_verdicts(report.obligations),
            "assumed": list(assumptions(report)),
            "not_asked": [{"family": one.family, "why": one.why} for one in report.not_asked],
        }
        for report in reports
    ]
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"
