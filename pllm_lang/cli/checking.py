"""Checking files: open the project, lower and check every plan of the files asked for, gather the findings.

In: paths, root, unsaved buffers. Out: `Checked`: findings of the asked files, a report a plan, the sources to show
excerpts from, and every file that the answer depends on.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from pllm_lang.catalog.library import Library
from pllm_lang.catalog.load import Opened, open_project
from pllm_lang.catalog.records import Component, Record
from pllm_lang.resolve.consequences import without_misspelt_uses
from pllm_lang.resolve.modules import Module, Project
from pllm_lang.syntax import nodes as syn
from pllm_lang.syntax.nodes import Plan
from pllm_lang.syntax.parse import Parsed, parse
from pllm_lang.text.finding import Finding, Severity
from pllm_lang.text.source import Source
from pllm_lang.verify.check import PlanReport
from pllm_lang.verify.experiments import Seen, check_declared, check_record


class ProtocolReport(msgspec.Struct, frozen=True):
    """How the narration of a component came out, on its own; `assumptions` are what its proof rests on."""

    name: str
    findings: tuple[Finding, ...]
    assumptions: tuple[str, ...]


class ModuleReports(msgspec.Struct, frozen=True):
    """What came of the plans, experiments and protocols that one module declares."""

    plans: tuple[PlanReport, ...]
    protocols: tuple[ProtocolReport, ...]


Spread = Callable[[Callable[[Module], ModuleReports], Sequence[Module]], list[ModuleReports]]
"""A `map` over modules, in one process or several."""


class Checked(msgspec.Struct, frozen=True):
    """`protocols` are those that the asked files write out."""

    findings: tuple[Finding, ...]
    reports: tuple[PlanReport, ...]
    sources: dict[str, Source]
    comments: dict[str, tuple[tuple[int, str], ...]]
    read: tuple[str, ...]
    opened: Opened
    protocols: tuple[ProtocolReport, ...] = ()


def check_files(
    paths: Sequence[str],
    root: str,
    buffers: Mapping[str, str] | None = None,
    spread: Spread | None = None,
) -> Checked:
    """Check `paths`; `spread` says where. Garbage collection pauses meanwhile: everything made here is small, frozen and kept."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _check(paths, root, buffers, spread)
    finally:
        if collecting:
            gc.enable()


def _check(
    paths: Sequence[str], root: str, buffers: Mapping[str, str] | None, spread: Spread | None
) -> Checked:
    comments: dict[str, tuple[tuple[int, str], ...]] = {}

    def parse_keeping_comments(source: Source) -> Parsed:
        parsed = parse(source)
        comments[source.name] = tuple(parsed.comments)
        return parsed

    opened = open_project(paths, root, buffers, parse_keeping_comments)
    return check_opened(opened, comments, spread=spread)


def check_opened(
    opened: Opened,
    comments: dict[str, tuple[tuple[int, str], ...]],
    ways: Ways | None = None,
    spread: Spread | None = None,
) -> Checked:
    """Check an opened project; `ways` are those of an editor, which remembers."""
    ways = ways or Ways()
    project = opened.project
    broken = _broken_files(opened.findings)
    main = [module for name in project.main if (module := project.modules[name]).source.name not in broken]
    unsound = _unsound(project, opened.findings)
    seen = Seen()

    def check(module: Module) -> ModuleReports:
        plans = tuple(check_module(project, opened.library, module, ways, seen))
        return ModuleReports(plans, tuple(check_protocols(module, opened.library, ways)))

    done = [check(module) for module in main] if spread is None else spread(check, main)
    reports = tuple(
        msgspec.structs.replace(
            report, accepted=report.accepted and module.name not in unsound, file=module.source.name
        )
        for module, one in zip(main, done, strict=True)
        for report in one.plans
    )
    protocols = tuple(report for one in done for report in one.protocols)
    findings = (
        *(finding for finding in opened.findings if _is_own(finding, broken)),
        *(finding for module in main for finding in _model_findings(module)),
        *(finding for report in (*protocols, *reports) for finding in report.findings),
    )
    sources = {module.source.name: module.source for module in project.modules.values()}
    told = tuple(without_misspelt_uses(findings))
    return Checked(told, reports, sources, comments, tuple(_read(project)), opened, protocols)


def _unsound(project: Project, findings: Iterable[Finding]) -> set[str]:
    """Asked modules of which something they rest on has an error: all of them, unless every error is in files that were asked
    for; then those that are joined to such a file by imports, in whatever direction (they may share a stock)."""
    asked = {project.modules[name].source.name: name for name in project.main}
    files = {f.span.file for f in findings if f.severity is Severity.ERROR}
    if not files <= asked.keys():
        return set(project.main)
    own = {name for name in project.modules if name.startswith("./")} | {*project.main}
    joined: dict[str, set[str]] = {name: own & set(project.modules[name].imports) for name in own}
    for name, others in [(name, tuple(others)) for name, others in joined.items()]:
        for other in others:
            joined[other].add(name)
    reached, left = set[str](), [asked[file] for file in files]
    while left:
        name = left.pop()
        if name not in reached:
            reached.add(name)
            left += joined[name]
    return reached


def _model_findings(module: Module) -> Iterable[Finding]:
    """What is to be said of the models that a module declares. Reading configs loads only where there is one."""
    if not any(isinstance(decl, syn.Model) for decl in module.file.decls):
        return ()
    from pllm_lang.ir.lower.model import declared_models

    return declared_models(module)


def _broken_files(findings: Iterable[Finding]) -> set[str]:
    """Files with syntax errors. What else is missing in them is a consequence, and one slip costs one message."""
    return {f.span.file for f in findings if f.code.startswith("syntax.") and f.severity is Severity.ERROR}


def _is_own(finding: Finding, broken: set[str]) -> bool:
    return finding.span.file not in broken or finding.code.startswith("syntax.")


def check_protocols(module: Module, library: Library, ways: Ways | None = None) -> Iterator[ProtocolReport]:
    """A report for each component of the module that has a protocol, proved by itself."""
    keys = [f"{module.name}.{decl.name.id}" for decl in module.file.decls if isinstance(decl, syn.Record)]
    found = [(key, component) for key in keys if (component := library.component(key)) and component.protocol]
    ways = ways or Ways()
    for key, component in found:
        checked = ways.component(key, component, library)
        findings = tuple(_shown(finding, component, module) for finding in checked.findings)
        yield ProtocolReport(component.name, findings, checked.assumptions)


def _check_component(key: str, component: Component, library: Library) -> ProtocolReport:
    from pllm_lang.verify.narrations.check import (
        check_component,
    )  # the prover loads only where a protocol is proved

    checked = check_component(key, component, library)
    return ProtocolReport(component.name, tuple(checked.findings), checked.assumptions)


def _shown(finding: Finding, component: Component, module: Module) -> Finding:
    """A finding of a shipped record, at the path by which its file was asked for."""
    if finding.span.file != component.origin.file:
        return finding
    return msgspec.structs.replace(
        finding, span=msgspec.structs.replace(finding.span, file=module.source.name)
    )


def check_module(
    project: Project,
    library: Library,
    module: Module,
    ways: Ways | None = None,
    seen: Seen | None = None,
) -> Iterator[PlanReport]:
    """A report for each plan and each experiment that the module declares, plans first. `seen` is that of the project."""
    ways, seen = ways or Ways(), seen or Seen()
    reports: dict[str, PlanReport] = {}
    piped = set(_piped(module, library))
    for decl in module.file.decls:
        if isinstance(decl, Plan) and f"{module.name}.{decl.name.id}" not in piped:
            reports[f"{module.name}.{decl.name.id}"] = report = ways.plan(project, library, module, decl)
            yield report
    for decl in module.file.decls:
        if isinstance(decl, syn.Record) and decl.kind == "experiment":
            yield from _check_experiment(
                project, library, f"{module.name}.{decl.name.id}", reports, ways, seen
            )


def _piped(module: Module, library: Library) -> Iterator[str]:
    """Plans that the module's experiments run through a pipeline: it says how their steps are done, so they do not stand
    by themselves."""
    for decl in module.file.decls:
        record = library.get(f"{module.name}.{decl.name.id}") if isinstance(decl, syn.Record) else None
        if isinstance(record, Record) and record.kind == "experiment" and "pipeline" in record.fields:
            plan = record.fields.get("plan")
            yield getattr(plan, "name", "")


def _check_experiment(
    project: Project,
    library: Library,
    key: str,
    reports: Mapping[str, PlanReport],
    ways: Ways,
    seen: Seen,
) -> Iterator[PlanReport]:
    record = library.get(key)
    if not isinstance(record, Record):
        return  # it could not be read, which was reported then
    if "model" in record.fields and "plan" not in record.fields:
        yield ways.model(project, library, record, seen)
        return

    def plan_of(project: Project, library: Library, module: Module, decl: Plan) -> PlanReport:
        known = reports.get(f"{module.name}.{decl.name.id}")
        return known or ways.plan(project, library, module, decl)

    yield check_record(project, library, record, plan_of, seen).report


def _check_model(project: Project, library: Library, record: Record, seen: Seen) -> PlanReport:
    return check_record(project, library, record, seen=seen).report


class Ways(msgspec.Struct, frozen=True):
    """How a plan, a component with a protocol and an experiment on a model are checked, each by itself."""

    plan: Callable[[Project, Library, Module, Plan], PlanReport] = check_declared
    component: Callable[[str, Component, Library], ProtocolReport] = _check_component
    model: Callable[[Project, Library, Record, Seen], PlanReport] = _check_model


def _read(project: Project) -> Iterator[str]:
    for module in project.modules.values():
        if module.path:
            folder = os.path.dirname(os.path.abspath(module.path))
            yield module.path
            for named in (*module.facts.values(), *module.configs.values()):
                yield os.path.join(folder, named.path)
