"""The proof of one plan of a call, for what is shown of it."""

from __future__ import annotations

import msgspec

from pllm_lang.catalog.library import Library
from pllm_lang.catalog.records import Policy, Record
from pllm_lang.cli.naming import NoSuchPlanError, checked_file, chosen, split_target
from pllm_lang.ir.experiment import Experiment
from pllm_lang.ir.lower.experiment import lower_experiment
from pllm_lang.verify import proving
from pllm_lang.verify.check import PlanReport, plan_view
from pllm_lang.verify.narrations.plan import Proof


class Found(msgspec.Struct, frozen=True):
    """`accepted` as `pllm check` has it: a refused plan is shown as far as it could be read."""

    proof: Proof
    policy: Policy
    experiment: Experiment | None
    report: PlanReport
    library: Library

    @property
    def accepted(self) -> bool:
        return self.report.accepted


def proof_of(target: str) -> Found:
    """Raises NoSuchPlanError where there is no such plan, or nothing says who takes part in it."""
    path, name = split_target(target)
    checked = checked_file(path)
    report = chosen(checked, path, name)
    if report.flow is None:
        raise NoSuchPlanError(f"`{report.name}` could not be read; `pllm check {path}` says why")
    return proof_in(report, checked.opened.library)


def proof_in(report: PlanReport, library: Library) -> Found:
    """The proof of a plan that was checked. Raises NoSuchPlanError where nothing says who takes part in it."""
    experiment = _experiment(library, report)
    key = (experiment.policy if experiment is not None else "") or report.plan.policy
    view = plan_view(report.plan, report.source_map, library, key)
    if view.policy is None or report.flow is None:
        raise NoSuchPlanError(
            f"`{report.name}` is under no policy, so nothing says who takes part and who sends what. A policy is named behind"
            f" the name, `{report.name} under two_party`: one of `std.policies`, or one of your own (`policy two_party {{ ... }}`)"
        )
    proof = proving.proof_of(view, report.flow)
    return Found(proof, view.policy, experiment, report, library)


def _experiment(library: Library, report: PlanReport) -> Experiment | None:
    for key in library.keys("experiment"):
        record = library.get(key)
        if isinstance(record, Record) and record.name == report.name:
            return lower_experiment(library, record).experiment
    return None
