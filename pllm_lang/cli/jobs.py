"""Files checked side by side: the project is opened once, and copies of the process check a share of its files each.

The answers come back in the order of the files, so what is told is the same for every number of jobs. A copy that dies takes
the whole check with it: nothing is told then.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor

import msgspec

from pllm_lang.cli.checking import ModuleReports
from pllm_lang.resolve.modules import Module

CheckModule = Callable[[Module], ModuleReports]

# What the copies find in their memory; a function with all that it refers to is not sent.
_share: list[tuple[CheckModule, Sequence[Module]]] = []


def side_by_side(jobs: int) -> Callable[[CheckModule, Sequence[Module]], list[ModuleReports]]:
    """A `map` over modules with `jobs` processes."""

    def spread(check: CheckModule, modules: Sequence[Module]) -> list[ModuleReports]:
        _share[:] = [(check, modules)]
        try:
            context = multiprocessing.get_context("fork")
            with ProcessPoolExecutor(min(jobs, len(modules)) or 1, mp_context=context) as pool:
                return list(pool.map(_one, range(len(modules))))
        finally:
            _share.clear()

    return spread


def _one(index: int) -> ModuleReports:
    """What a walk of a plan leaves in memory stays with the copy: it is large, and nothing that is told needs it."""
    check, modules = _share[0]
    found = check(modules[index])
    plans = tuple(msgspec.structs.replace(report, flow=None) for report in found.plans)
    return msgspec.structs.replace(found, plans=plans)
