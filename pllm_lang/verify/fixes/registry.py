"""The kinds of fix, found by folder, and the findings with their proposals."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Iterator
from functools import cache
from types import ModuleType

import msgspec

from pllm_lang.catalog.library import Library
from pllm_lang.resolve.modules import Project
from pllm_lang.text.finding import Finding, Fix
from pllm_lang.verify.fixes.around import Around

MAX_FIXES = 4
"""Proposals for one finding."""

MAX_PROPOSED = 200
"""Findings of one call, in the order given, that fixes are sought for; the others keep those that they came with."""

NO_KINDS = frozenset({"__init__", "around", "registry", "trial", "moved"})


@cache
def kinds() -> tuple[ModuleType, ...]:
    names = sorted(name[:-3] for name in os.listdir(os.path.dirname(__file__)) if name.endswith(".py"))
    return tuple(
        importlib.import_module(f"pllm_lang.verify.fixes.{name}") for name in names if name not in NO_KINDS
    )


def propose(findings: Iterable[Finding], project: Project, library: Library) -> tuple[Finding, ...]:
    """The findings with the fixes that might end them, behind those that they have already."""
    modules = {module.source.name: module for module in project.modules.values()}
    done: list[Finding] = []
    for number, finding in enumerate(findings):
        module = modules.get(finding.span.file)
        if module is None or not module.path or number >= MAX_PROPOSED:
            done.append(finding)
            continue
        fixes = dict.fromkeys((*finding.fixes, *_proposals(Around(finding, module, library))))
        done.append(msgspec.structs.replace(finding, fixes=tuple(fixes)[:MAX_FIXES]))
    return tuple(done)


def _proposals(around: Around) -> Iterator[Fix]:
    code = around.finding.code
    for kind in kinds():
        if not kind.CODES or code in kind.CODES or code.partition(".")[0] in kind.CODES:
            yield from kind.propose(around)
