"""What the language server asks of the command line: the same check, of open documents, again and again.

In: a document's text with those of the others. Out: a `Snapshot`. Of each document is kept what makes the next check cost
no more than what has changed: parsed files, records read, the lowering up to the first changed statement, judged steps.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from pllm_lang.catalog.library import Library
from pllm_lang.catalog.load import Opened as Loaded
from pllm_lang.catalog.load import open_project
from pllm_lang.catalog.read.memo import Memo
from pllm_lang.catalog.records import Component, Record
from pllm_lang.cli import checking
from pllm_lang.cli.answer import chosen_of
from pllm_lang.cli.call import Call, Wanted
from pllm_lang.cli.checking import Checked, ProtocolReport, Ways, check_opened
from pllm_lang.cli.config import BadConfigError, Config, Settings, find_settings
from pllm_lang.cli.discover import files_near
from pllm_lang.ir.lower.again import Session, lower_again
from pllm_lang.lsp.snapshot import Asked, Opened, Snapshot
from pllm_lang.resolve.bodies import Uses
from pllm_lang.resolve.modules import Module, Project
from pllm_lang.syntax import nodes as syn
from pllm_lang.syntax.nodes import File
from pllm_lang.syntax.parse import Parsed, Reading, read
from pllm_lang.syntax.reparse import reparse
from pllm_lang.text.finding import Finding
from pllm_lang.text.order import arrange
from pllm_lang.text.read import decode_source
from pllm_lang.text.source import Source, make_source
from pllm_lang.text.suppress import suppress
from pllm_lang.verify.check import PlanReport, check_plan
from pllm_lang.verify.experiments import Seen
from pllm_lang.verify.memory import Memory


class Kept(msgspec.Struct):
    """What is remembered of one document."""

    read: dict[str, Reading] = {}
    memo: Memo = {}
    uses: Uses = {}
    library: Library | None = None
    sessions: dict[str, Session] = {}
    memories: dict[str, Memory] = {}
    components: dict[str, tuple[Component, Library, ProtocolReport]] = {}
    models: dict[str, tuple[Any, Library, PlanReport]] = {}
    trials: Kept | None = None


class Editing:
    """A `pllm_lang.lsp.snapshot.Checker`."""

    def __init__(self) -> None:
        self._kept: dict[str, Kept] = {}

    def forget(self, path: str) -> None:
        self._kept.pop(path, None)

    def root_of(self, path: str) -> str:
        return _settings(path)[0].root

    def files(self, root: str) -> tuple[str, ...]:
        settings, _ = _settings(os.path.join(root, "any.pllm"))
        return tuple(os.path.abspath(path) for path in files_near(root, root, settings.config.exclude))

    def opened(self, asked: Asked) -> Opened:
        kept = self._kept.setdefault(asked.path, Kept())
        return _seen(asked, _settings(asked.path)[0], kept, _load(asked, _settings(asked.path)[0].root, kept))

    def checked(self, asked: Asked) -> Snapshot:
        settings, problem = _settings(asked.path)
        kept = self._kept.setdefault(asked.path, Kept())
        collecting = gc.isenabled()
        gc.disable()
        try:
            return _checked(asked, settings, problem, kept)
        finally:
            if collecting:
                gc.enable()

    def fixes(self, asked: Asked, snapshot: Snapshot, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
        from pllm_lang.verify.fixes.registry import propose
        from pllm_lang.verify.fixes.trial import tried

        opened = snapshot.opened
        proposed = propose(findings, opened.project, opened.library)
        if not any(finding.fixes for finding in proposed):
            return findings
        name = opened.source.name
        settings, _ = _settings(asked.path)
        trials = self._trials(asked.path)

        def check(changed: dict[str, str]) -> Iterable[Finding]:
            asked.tick()
            text = changed.get(name, asked.text)
            return _checked(
                msgspec.structs.replace(asked, text=text, real=text, tell=_nobody), settings, "", trials
            ).findings

        return tried(proposed, {name: asked.text}, check, snapshot.findings)

    def trial(self, asked: Asked, texts: Mapping[str, str]) -> Snapshot:
        settings, _ = _settings(asked.path)
        text = texts.get(asked.path, asked.text)
        other = msgspec.structs.replace(asked, text=text, real=text, buffers={**asked.buffers, **texts})
        return _checked(other, settings, "", self._trials(asked.path) if asked.path in self._kept else Kept())

    def _trials(self, path: str) -> Kept:
        """What is remembered of a document as it might be."""
        kept = self._kept.setdefault(path, Kept())
        if kept.trials is None:
            kept.trials = Kept()
        return kept.trials

    def cost(self, snapshot: Snapshot, name: str) -> str:
        from pllm_lang.artifacts.cost import cost_report
        from pllm_lang.artifacts.cost_text import as_text
        from pllm_lang.cli.proofs import NoSuchPlanError, proof_in

        report = next((one for one in snapshot.reports if one.name == name), None)
        if report is None or report.flow is None:
            return ""
        try:
            found = proof_in(report, snapshot.opened.library)
        except NoSuchPlanError:
            return ""
        return as_text(cost_report(report, found.proof, found.library, found.experiment))


def _nobody(opened: Opened) -> None:  # noqa: ARG001 - a trial is no text that anybody sees
    return


def _settings(path: str) -> tuple[Settings, str]:
    """The settings of a file's project; what is wrong with them is told, and the document checked without."""
    folder = os.path.dirname(path)
    try:
        return find_settings(folder), ""
    except BadConfigError as problem:
        return Settings(folder, Config(), ()), str(problem)


def _load(asked: Asked, root: str, kept: Kept) -> Loaded | Finding:
    unreadable = decode_source(asked.path, asked.real.encode("utf-8", "surrogatepass"))
    if isinstance(unreadable, Finding):
        return unreadable

    def parse_again(source: Source) -> Parsed:
        asked.tick()
        before = kept.read.get(source.name)
        if before is None or before.parsed.source.text != source.text:
            kept.read[source.name] = read(source) if before is None else reparse(before, source)
        return kept.read[source.name].parsed

    buffers = {**asked.buffers, asked.path: asked.text}
    loaded = open_project([asked.path], root, buffers, parse_again, kept.memo, kept.uses)
    if kept.library is not None and kept.library.same_as(loaded.library):
        loaded = msgspec.structs.replace(loaded, library=kept.library)
    kept.library = loaded.library
    names = {module.source.name for module in loaded.project.modules.values()}
    for name in set(kept.read) - names:
        del kept.read[name]
        kept.uses.pop(name, None)
    return loaded


def _seen(asked: Asked, settings: Settings, kept: Kept, loaded: Loaded | Finding) -> Opened:
    if isinstance(loaded, Finding):
        nothing = Parsed(make_source(asked.path, asked.text), File(None, ()), (), ())
        project = Project(settings.root, (), {}, (loaded,))
        library = kept.library or open_project([]).library
        return Opened(asked.path, settings.root, nothing, project, library, (loaded,), None)
    project = loaded.project
    module = project.modules[project.main[0]] if project.main else None
    known = kept.read.get(module.source.name) if module is not None else None
    if known is None:
        parsed = Parsed(make_source(asked.path, asked.text), File(None, ()), (), ())
    else:
        parsed = known.parsed
    return Opened(asked.path, settings.root, parsed, project, loaded.library, loaded.findings, module)


def _checked(asked: Asked, settings: Settings, problem: str, kept: Kept) -> Snapshot:
    loaded = _load(asked, settings.root, kept)
    opened = _seen(asked, settings, kept, loaded)
    asked.tell(opened)
    if isinstance(loaded, Finding):
        return Snapshot(opened, (loaded,), (), (), problem)
    comments = {name: known.parsed.comments for name, known in kept.read.items()}
    done: Checked = check_opened(loaded, comments, _ways(asked, kept))
    call = Call(settings, (asked.path,), named=(asked.path,))
    findings = arrange(chosen_of(call, _unsuppressed(done), Wanted()))
    asked.tick()
    return Snapshot(opened, findings, done.reports, tuple(map(os.path.abspath, done.read)), problem)


def _unsuppressed(done: Checked) -> Iterable[Finding]:
    findings: Iterable[Finding] = done.findings
    for name, comments in done.comments.items():
        findings = suppress(findings, done.sources[name], comments).kept
    return findings


def _ways(asked: Asked, kept: Kept) -> Ways:
    def plan(project: Project, library: Library, module: Module, decl: syn.Plan) -> PlanReport:
        asked.tick()
        key = f"{module.name}.{decl.name.id}"
        lowered, session = lower_again(project, library, module.name, decl, kept.sessions.pop(key, None))
        kept.sessions[key] = session
        memory = kept.memories.setdefault(key, Memory())
        memory.judgements.tick = asked.tick
        return check_plan(lowered.plan, lowered.source_map, library, lowered.findings, memory)

    def component(key: str, record: Component, library: Library) -> ProtocolReport:
        asked.tick()
        known = kept.components.get(key)
        if known is not None and known[0] == record and known[1] is library:
            return known[2]
        report = checking.Ways().component(key, record, library)
        kept.components[key] = (record, library, report)
        return report

    def model(project: Project, library: Library, record: Record, seen: Seen) -> PlanReport:
        asked.tick()
        key = f"{record.module}.{record.name}"
        read = (record, _files_read(project.modules))
        known = kept.models.get(key)
        if known is not None and known[0] == read and known[1] is library:
            return known[2]
        report = checking.Ways().model(project, library, record, seen)
        kept.models[key] = (read, library, report)
        return report

    return Ways(plan, component, model)


def _files_read(modules: Mapping[str, Module]) -> tuple[Any, ...]:
    """All that an experiment on a model may be made from beside the library: no plan is."""
    return tuple(
        (
            name,
            tuple(decl for decl in module.file.decls if not isinstance(decl, syn.Plan)),
            tuple((one.path, one.digest) for one in module.facts.values()),
            tuple((one.path, one.digest) for one in module.configs.values()),
        )
        for name, module in sorted(modules.items())
    )
