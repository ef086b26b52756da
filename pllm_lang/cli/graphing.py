"""The plan that a call of `pllm graph` means, with the policy that it is drawn under."""

from __future__ import annotations

import msgspec

from pllm_lang.catalog.library import Library
from pllm_lang.catalog.records import Record
from pllm_lang.cli.naming import checked_file, chosen, split_target
from pllm_lang.ir.lower.experiment import lower_experiment
from pllm_lang.verify.check import PlanReport


class Drawn(msgspec.Struct, frozen=True):
    """`policy` is a key, "" for the plan's own."""

    report: PlanReport
    library: Library
    policy: str


def drawn_plan(target: str) -> Drawn:
    """Raises NoSuchPlanError where the file has no such plan, or several and none is named."""
    path, name = split_target(target)
    checked = checked_file(path)
    report, library = chosen(checked, path, name), checked.opened.library
    return Drawn(report, library, _policy(library, report.name))


def _policy(library: Library, name: str) -> str:
    """The policy of the experiment of this name."""
    for key in library.keys("experiment"):
        record = library.get(key)
        if isinstance(record, Record) and record.name == name:
            return lower_experiment(library, record).experiment.policy
    return ""
