"""The answer to `pllm check`: what is found in the files of all calls, without what comments, options and the baseline hide, as
text in the format asked for."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import ModuleType

import msgspec

from pllm_lang.cli.baseline import read_baseline, split, write_baseline
from pllm_lang.cli.call import Call, Wanted
from pllm_lang.cli.checking import Checked, Spread, check_files
from pllm_lang.cli.codes import codes_in
from pllm_lang.cli.config import BadConfigError
from pllm_lang.cli.discover import SUFFIX, mentioned_files
from pllm_lang.cli.formats import formats
from pllm_lang.cli.told import Hidden, Told
from pllm_lang.resources import stdlib_dir
from pllm_lang.text.finding import Finding, Severity
from pllm_lang.text.read import read_source
from pllm_lang.text.source import Source
from pllm_lang.text.suppress import suppress

NAMED = (SUFFIX, ".json")
"""How the names of files end that a plan may name."""

PROVING = 2_000
"""What proving one narration may cost, in obligations."""

MAX_WORK = 100_000
"""Obligations that trials of fixes check again, of one call."""


class Answer(msgspec.Struct, frozen=True):
    """`findings` are those shown; `read` every file or folder that the answer depends on."""

    text: str
    findings: tuple[Finding, ...]
    read: tuple[str, ...]


class Found(msgspec.Struct, frozen=True):
    """What one call finds, without what comments beside it hide."""

    checked: Checked
    kept: tuple[Finding, ...]
    hidden: tuple[Hidden, ...]


@cache
def _format(name: str) -> ModuleType:
    return importlib.import_module(f"pllm_lang.cli.formats.{name}")


def answer(calls: Sequence[Call], wanted: Wanted) -> Answer:
    """Check the files of all calls; options of the command line come before those of a configuration."""
    asked = [call for call in calls if call.files]
    configured = [call.settings.config.format for call in calls if call.settings.config.format]
    chosen = wanted.format or next(iter(configured), "full")
    if chosen not in formats():
        raise BadConfigError(f"there is no format `{chosen}`; the formats are {', '.join(formats())}")
    with_fixes = wanted.statistics or _format(chosen).FIXES
    done = [(call, found_in(call, jobs=wanted.jobs)) for call in asked]
    told = _told(done, wanted, with_fixes)
    text = _statistics(told, chosen) if wanted.statistics else _format(chosen).render(told)
    return Answer(text, told.findings, tuple(_read(done, wanted)))


def _statistics(told: Told, format_: str) -> str:
    from pllm_lang.cli.statistics import statistics

    return statistics(told, format_)


def found_in(call: Call, changed: Mapping[str, str] | None = None, jobs: int = 1) -> Found:
    """The findings of a call, with `changed` texts in place of its files."""
    spread = _spread(jobs) if jobs > 1 and len(call.files) > 1 else None
    checked = check_files(call.files, call.settings.root, {**call.buffers, **(changed or {})}, spread)
    findings: Iterable[Finding] = checked.findings
    hidden: list[Hidden] = []
    for name, comments in checked.comments.items():
        result = suppress(findings, checked.sources[name], comments)
        findings = result.kept
        pairs = zip(result.hidden, result.reasons, strict=True)
        hidden += [Hidden(finding, "comment", reason) for finding, reason in pairs]
    return Found(checked, tuple(findings), tuple(hidden))


def _spread(jobs: int) -> Spread:
    from pllm_lang.cli.jobs import side_by_side

    return side_by_side(jobs)


def work_in(found: Found) -> int:
    """What checking the same again costs, in obligations."""
    from pllm_lang.verify.fixes.trial import work_of

    obligations = sum(len(report.obligations) for report in found.checked.reports)
    obligations += PROVING * len(found.checked.protocols)
    return work_of((source.text for source in found.checked.sources.values()), obligations)


def with_tried_fixes(call: Call, found: Found, wanted: Sequence[Finding]) -> tuple[Finding, ...]:
    """`wanted` findings with the fixes that hold, as many as the work of a trial allows."""
    if not wanted:
        return ()
    # What proposes and tries loads only where something was found.
    from pllm_lang.verify.fixes.registry import propose
    from pllm_lang.verify.fixes.trial import MAX_TRIALS, tried

    opened = found.checked.opened
    proposed = propose(wanted, opened.project, opened.library)
    work = work_in(found)
    most = max(1, min(MAX_TRIALS, MAX_WORK // work))
    texts = {name: found.checked.sources[name].text for name in call.named if name in found.checked.sources}
    return tried(proposed, texts, lambda changed: found_in(call, changed).kept, found.kept, most)


def _told(done: Sequence[tuple[Call, Found]], wanted: Wanted, with_fixes: bool) -> Told:
    findings: list[Finding] = []
    hidden: list[Hidden] = []
    sources: dict[str, Source] = {}
    for call, found in done:
        chosen = tuple(chosen_of(call, found.kept, wanted))
        findings += with_tried_fixes(call, found, chosen) if with_fixes else chosen
        hidden += found.hidden
        sources |= found.checked.sources
    if wanted.update_baseline:
        write_baseline(wanted.baseline, findings)
    if wanted.baseline:
        kept, covered = split(findings, read_baseline(wanted.baseline), wanted.baseline)
        findings, hidden = [*kept], [*hidden, *covered]
    sources |= dict(_library_sources(findings, sources))
    return Told(
        tuple(findings),
        tuple(hidden),
        sources,
        tuple(report for _, found in done for report in found.checked.reports),
        tuple(report for _, found in done for report in found.checked.protocols),
        tuple(file for call, _ in done for file in call.files),
    )


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


def chosen_of(call: Call, findings: Iterable[Finding], wanted: Wanted) -> Iterator[Finding]:
    """Errors are always shown: only warnings and notes can be selected or ignored."""
    config = call.settings.config
    select, ignore = wanted.select or config.select, wanted.ignore or config.ignore
    for finding in findings:
        if finding.severity is Severity.ERROR or (
            (not select or _matches(finding.code, select)) and not _matches(finding.code, ignore)
        ):
            yield finding


def _matches(code: str, wanted: Sequence[str]) -> bool:
    names = (name for given in wanted for name in codes_in(given))
    return any(code == name or code.startswith(name + ".") for name in names)


def _read(done: Iterable[tuple[Call, Found]], wanted: Wanted) -> Iterator[str]:
    if wanted.baseline:
        yield wanted.baseline
    for call, found in done:
        yield from call.settings.read
        yield from call.watched
        for path in found.checked.read:
            yield path
            yield os.path.dirname(os.path.abspath(path))
            yield from _named_in(path)


def _named_in(path: str) -> Iterator[str]:
    """Files that a plan file names, also those that are not there or cannot be read: mending one changes the answer."""
    if path.endswith(SUFFIX):
        yield from (name for name in mentioned_files(path) if name.endswith(NAMED))
