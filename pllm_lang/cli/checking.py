"""Checking files: open the project, lower and check every plan of the files asked for, gather the findings.

In: paths, root, unsaved buffers. Out: `Checked`: findings of the asked files, a report a plan, the sources to show
excerpts from, and every file that the answer depends on.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from pllm_lang.catalog.library import Library
from pllm_lang.catalog.load import Opened, open_project
from pllm_lang.ir.lower import lower_plan
from pllm_lang.resolve.modules import Module, Project
from pllm_lang.syntax.nodes import Plan
from pllm_lang.syntax.parse import Parsed, parse
from pllm_lang.text.finding import Finding
from pllm_lang.text.source import Source
from pllm_lang.verify.check import PlanReport, check_plan


class Checked(msgspec.Struct, frozen=True):
    findings: tuple[Finding, ...]
    reports: tuple[PlanReport, ...]
    sources: dict[str, Source]
    comments: dict[str, tuple[tuple[int, str], ...]]
    read: tuple[str, ...]
    opened: Opened


def check_files(paths: Sequence[str], root: str, buffers: Mapping[str, str] | None = None) -> Checked:
    """Check `paths`. Garbage collection pauses meanwhile: everything made here is small, frozen and kept."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _check(paths, root, buffers)
    finally:
        if collecting:
            gc.enable()


def _check(paths: Sequence[str], root: str, buffers: Mapping[str, str] | None) -> Checked:
    comments: dict[str, tuple[tuple[int, str], ...]] = {}

    def parse_keeping_comments(source: Source) -> Parsed:
        parsed = parse(source)
        comments[source.name] = tuple(parsed.comments)
        return parsed

    opened = open_project(paths, root, buffers, parse_keeping_comments)
    project = opened.project
    reports = tuple(
        report for name in project.main for report in check_module(project, opened.library, project.modules[name])
    )
    findings = [*opened.findings, *(finding for report in reports for finding in report.findings)]
    sources = {module.source.name: module.source for module in project.modules.values()}
    return Checked(tuple(findings), reports, sources, comments, tuple(_read(project)), opened)


def check_module(project: Project, library: Library, module: Module) -> Iterator[PlanReport]:
    """A report for each plan that the module declares."""
    for decl in module.file.decls:
        if isinstance(decl, Plan):
            lowered = lower_plan(project, library, module.name, decl)
            yield check_plan(lowered.plan, lowered.source_map, library, lowered.findings)


def _read(project: Project) -> Iterator[str]:
    for module in project.modules.values():
        if module.path:
            folder = os.path.dirname(os.path.abspath(module.path))
            yield module.path
            for named in (*module.facts.values(), *module.configs.values()):
                yield os.path.join(folder, named.path)
