"""The lock of the plan that a call names, or the text that says why there is none.

A plan is checked first. Where anything is missing, the answer is every finding with its place and the coverage report.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import msgspec

from pllm_lang.artifacts.coverage import coverage_of
from pllm_lang.artifacts.coverage_text import as_text
from pllm_lang.artifacts.lock import Compiled, compile_report
from pllm_lang.artifacts.lock_data import Lock
from pllm_lang.artifacts.replay.reading import MAX_LOCK_BYTES, read_lock
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.records import Record
from pllm_lang.cli.checking import Checked
from pllm_lang.cli.naming import checked_file, not_chosen, split_target
from pllm_lang.ir.experiment import Experiment
from pllm_lang.resolve.modules import Project
from pllm_lang.text.finding import Finding, Severity
from pllm_lang.text.regular_file import Unreadable, read_bytes
from pllm_lang.text.render_full import render_full
from pllm_lang.text.style import style_for
from pllm_lang.verify.check import PlanReport
from pllm_lang.verify.experiments import check_record


class Refused(msgspec.Struct, frozen=True):
    """Why nothing was compiled."""

    text: str


def compile_target(target: str) -> Compiled | Refused:
    """Raises NoSuchPlanError where the file or the plan is not there."""
    path, name = split_target(target)
    checked = checked_file(path)
    report = _report(checked, path, name)
    if report is None or not report.accepted:
        return Refused(_why_not(checked, report))
    experiment = _experiment(checked.opened.project, checked.opened.library, report)
    return compile_report(report, checked.opened.project, checked.opened.library, experiment)


class NoLockError(Exception):
    """The text says why a file or a plan gives no lock to compare."""


def lock_of(target: str) -> Lock:
    """The lock in a file, or that of a plan, which has to be accepted. Raises NoLockError or NoSuchPlanError."""
    if target.endswith(".json"):
        data = read_bytes(target, MAX_LOCK_BYTES)
        if isinstance(data, Unreadable):
            raise NoLockError(f"{target}: {data.message}")
        try:
            return read_lock(data)
        except ReplayError as problem:
            raise NoLockError(f"{target}: [{problem.code}] {problem}") from None
    done = compile_target(target)
    if isinstance(done, Refused):
        raise NoLockError(f"{target} is refused, so there is nothing to compare; see `pllm compile {target}`")
    return done.lock


def _report(checked: Checked, path: str, name: str) -> PlanReport | None:
    """The report of the plan; None where the file has errors that leave none."""
    found = [r for r in checked.reports if r.name == name or not name]
    if len(found) == 1:
        return found[0]
    if not checked.reports and any(f.severity is Severity.ERROR for f in checked.findings):
        return None
    raise not_chosen(path, name, [r.name for r in checked.reports])


def _why_not(checked: Checked, report: PlanReport | None) -> str:
    errors = [f for f in _findings(checked, report) if f.severity is Severity.ERROR]
    told = render_full(errors, checked.sources, style_for(sys.stdout))
    coverage = "" if report is None else "\n" + as_text(coverage_of(report)) + "\n"
    return f"{told}{coverage}nothing was compiled: every gap has to be closed first\n"


def _findings(checked: Checked, report: PlanReport | None) -> Iterator[Finding]:
    """Those of the plan, and what stands outside every plan."""
    if report is None:
        yield from checked.findings
        return
    inside = [f for r in checked.reports for f in r.findings]
    own = [f for r in checked.reports if r is report or r.plan is report.plan for f in r.findings]
    for finding in checked.findings:
        if finding in own or finding not in inside:
            yield finding


def _experiment(project: Project, library: Library, report: PlanReport) -> Experiment | None:
    for key in library.keys("experiment"):
        record = library.get(key)
        if isinstance(record, Record) and record.name == report.name:
            return check_record(project, library, record).experiment
    return None
