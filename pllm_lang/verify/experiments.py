"""An experiment checked: its subject lowered and placed by its pipeline, then everything asked of plan and deployment.

In: a project, the library with its records, the experiment's record. Out: a `CheckedExperiment`. Models of all families and
pipelines load only for an experiment that has one.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from pllm_lang.catalog.library import Library
from pllm_lang.catalog.records import Record
from pllm_lang.ir.experiment import Experiment
from pllm_lang.ir.lower.experiment import LoweredExperiment, lower_experiment
from pllm_lang.ir.lower.plan import Lowered, lower_plan
from pllm_lang.resolve.modules import FactsFile, Module, Project
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.finding import Finding, Span
from pllm_lang.verify.check import PlanReport, check_experiment, check_plan

if TYPE_CHECKING:
    from pllm_lang.ir.lower.model import LoweredModel

CheckPlan = Callable[[Project, Library, Module, syn.Plan], PlanReport]


class CheckedExperiment(msgspec.Struct, frozen=True):
    """`report` is about the plan that runs: placed by the pipeline where there is one. Its `plan`, `source_map`, `flow` and
    `obligations` are those of an ordinary plan, `experiment` is what was asked of it."""

    experiment: Experiment
    report: PlanReport


def check_record(
    project: Project, library: Library, record: Record, plan_of: CheckPlan | None = None
) -> CheckedExperiment:
    """Check an experiment. `plan_of` checks a plan that runs as it is written; an editor remembers such reports."""
    if "model" in record.fields and "plan" not in record.fields:
        return _on_a_model(project, library, record)
    lowered = lower_experiment(library, record)
    found = _declared(project, lowered.experiment.plan)
    if found is not None and not record.under:
        lowered = lower_experiment(library, record, under=_policy_of(*found))
    if found is None:
        return _checked(lowered, record, None, library)
    if lowered.experiment.pipeline is None:
        return _checked(lowered, record, (plan_of or check_declared)(project, library, *found), library)
    plan = lower_plan(project, library, found[0].name, found[1])
    placed = _placed(project, library, record, lowered, plan, stated=True)
    return _checked(lowered, record, _check(placed, library), library, whole=True)


def check_declared(project: Project, library: Library, module: Module, decl: syn.Plan) -> PlanReport:
    """A plan by itself."""
    return _check(lower_plan(project, library, module.name, decl), library)


def _check(lowered: Lowered, library: Library) -> PlanReport:
    return check_plan(lowered.plan, lowered.source_map, library, lowered.findings)


def _declared(project: Project, key: str) -> tuple[Module, syn.Plan] | None:
    """The module and the declaration of a plan by its key."""
    name, _, plan = key.rpartition(".")
    module = project.modules.get(name)
    for decl in () if module is None else module.file.decls:
        if module is not None and isinstance(decl, syn.Plan) and decl.name.id == plan:
            return module, decl
    return None


def _policy_of(module: Module, decl: syn.Plan) -> str:
    """The key of the policy that the plan is under, "" for none."""
    binding = module.scope.get(decl.under.id) if decl.under is not None else None
    return "" if binding is None else binding.key


# ---- pipelines ----
def _placed(
    project: Project,
    library: Library,
    record: Record,
    lowered: LoweredExperiment,
    plan: Lowered,
    *,
    stated: bool,
) -> Lowered:
    """The plan as the pipeline of the experiment places it, under the experiment's policy."""
    policy = lowered.experiment.policy or plan.plan.policy
    under = msgspec.structs.replace(plan, plan=msgspec.structs.replace(plan.plan, policy=policy))
    if lowered.slots is None:
        return under
    apply = importlib.import_module("pllm_lang.ir.lower.pipeline.apply").apply_pipeline
    return apply(under, lowered.slots, library, _facts(project, record), stated)


def _facts(project: Project, record: Record) -> tuple[FactsFile, ...]:
    """The facts file that the experiment names."""
    module = project.modules.get(record.module)
    named = record.fields.get("facts")
    found = None if module is None else module.facts.get(getattr(named, "value", ""))
    return () if found is None else (found,)


# ---- models ----
def _on_a_model(project: Project, library: Library, record: Record) -> CheckedExperiment:
    """The plan of a model is a text that nobody wrote: what is found in it points at the place that names the model."""
    models = importlib.import_module("pllm_lang.ir.lower.model")
    model: LoweredModel = models.lower_experiment_model(project, library, record)
    lowered = lower_experiment(library, record, model.findings)
    if model.lowered is None:
        return _checked(lowered, record, None, library)
    placed = _placed(project, library, record, lowered, model.lowered, stated=False)
    checked = _checked(lowered, record, _check(placed, library), library, whole=True)
    place = record.field_origins.get("model", record.origin)
    span, printed = Span(place.file, place.start, place.end), placed.source_map.plan.file
    findings: list[Finding] = [
        models.placed_at(span, one) if one.span.file == printed else one for one in checked.report.findings
    ]
    report = msgspec.structs.replace(checked.report, findings=tuple(findings))
    return CheckedExperiment(checked.experiment, report)


def _checked(
    lowered: LoweredExperiment,
    record: Record,
    plan: PlanReport | None,
    library: Library,
    *,
    whole: bool = False,
) -> CheckedExperiment:
    """`whole` where nobody reports the plan's own findings but the experiment."""
    report = check_experiment(lowered.experiment, record, plan, library, lowered.findings)
    if whole and plan is not None:
        report = msgspec.structs.replace(report, findings=(*plan.findings, *report.findings))
    return CheckedExperiment(lowered.experiment, report)
