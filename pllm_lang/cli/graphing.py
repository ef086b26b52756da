"""The plan that a call of `pllm graph` means, with the policy that it is drawn under."""

from __future__ import annotations

import msgspec

from pllm_lang.catalog.library import Library
from pllm_lang.catalog.records import Record
from pllm_lang.cli.naming import NoSuchPlanError, checked_file, split_target
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
    found = [one for one in checked.reports if one.name == name or (not name and len(checked.reports) == 1)]
    if not found:
        known = ", ".join(one.name for one in checked.reports) or "none"
        hint = "" if name or not checked.reports else f"; name one, as in `{path}:{checked.reports[0].name}`"
        raise NoSuchPlanError(f"{path} holds: {known}{hint}")
    library = checked.opened.library
    return Drawn(found[0], library, _policy(library, found[0].name))


def _policy(library: Library, name: str) -> str:
    """The policy of the experiment of this name."""
    for key in library.keys("experiment"):
        record = library.get(key)
        if isinstance(record, Record) and record.name == name:
            return lower_experiment(library, record).experiment.policy
    return ""
