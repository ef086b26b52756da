"""A whole plan checked: walk, rules over the plan, witnesses, findings.

In: a lowered plan with its source map and the library. Out: a `PlanReport` with every obligation, what was not
asked, and the findings. Nothing here raises for a plan's mistakes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.facts import Facts
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.policies import effective
from pllm_lang.catalog.records import Record
from pllm_lang.ir.experiment import Experiment
from pllm_lang.ir.plan import Plan, Requirement
from pllm_lang.ir.source_map import SourceMap
from pllm_lang.ir.walk import nodes, steps
from pllm_lang.text.finding import Finding, Severity, Span, Verdict
from pllm_lang.verify.environment import add_parameters
from pllm_lang.verify.flow import MAX_WALKED, MAX_WALKED_AGAIN, Flow, TooLongError, flow
from pllm_lang.verify.hosting import ExperimentView, hosts_of
from pllm_lang.verify.judge import judge_step
from pllm_lang.verify.memory import Memory
from pllm_lang.verify.obligation import NotAsked, Obligation
from pllm_lang.verify.registry import rules
from pllm_lang.verify.report import findings_of
from pllm_lang.verify.unguarded import unguarded
from pllm_lang.verify.view import PlanView
from pllm_lang.verify.witness.search import with_witnesses

NO_POLICY = NotAsked("placement", "the plan is under no policy, so nothing says who may learn what")
NOT_FOLLOWED = NotAsked(
    "protocol",
    "the plan is under no policy, so the texts of its components are not followed with its formats and sizes",
)
NO_EXPERIMENT = tuple(
    NotAsked(family, f"no experiment gives the plan {what}")
    for family, what in (("target", "a deployment"), ("material", "a stock and a budget"))
)


NO_PLAN = Plan("", (), (), (), (), ())


class PlanReport(msgspec.Struct, frozen=True):
    """How a plan came out. It is accepted if every obligation is proved and no error was found before.

    `file` is the one that declares it or its experiment, "" where nobody asked for a file.
    """

    name: str
    plan: Plan
    obligations: tuple[Obligation, ...]
    not_asked: tuple[NotAsked, ...]
    findings: tuple[Finding, ...]
    flow: Flow | None
    source_map: SourceMap
    accepted: bool
    file: str = ""


def check_plan(
    plan: Plan,
    source_map: SourceMap,
    library: Library,
    lowering: tuple[Finding, ...] = (),
    memory: Memory | None = None,
) -> PlanReport:
    """Every obligation of a plan. `lowering` are the findings that it was lowered with; they are reported first.

    `memory` is what an editor keeps of the last check of this plan; it changes nothing but the time.
    """
    if any(finding.code.startswith("limits.") for finding in lowering):
        return PlanReport(source_map.name, plan, (), (), lowering, None, source_map, accepted=False)
    view = plan_view(plan, source_map, library, plan.policy)
    try:
        walked, judged = _judged(view, source_map, memory or Memory())
    except TooLongError:
        if memory is not None:
            memory.forget(view)
        return _too_long(plan, source_map, lowering)
    findings = (*lowering, *findings_of(_untold(judged, source_map, lowering), source_map))
    accepted = no_errors(findings) and all(o.verdict is Verdict.PROVED for o in judged)
    return PlanReport(source_map.name, plan, judged, _not_asked(view), findings, walked, source_map, accepted)


def _untold(
    judged: Iterable[Obligation], source_map: SourceMap, lowering: tuple[Finding, ...]
) -> Iterator[Obligation]:
    """Without what a finding of lowering has told: a step whose component has an unknown name is covered by nothing."""
    told = sorted((one.span.file, one.span.start) for one in lowering if one.severity is Severity.ERROR)
    for obligation in judged:
        using = None
        if obligation.code == "coverage.no_component":
            using = source_map.parts.get((obligation.subject, "using"))
        if using is not None:
            first = bisect_left(told, (using.file, using.start))
            if first < len(told) and told[first] < (using.file, using.end):
                continue
        yield obligation


def _judged(view: PlanView, source_map: SourceMap, memory: Memory) -> tuple[Flow, tuple[Obligation, ...]]:
    known = memory.recall(view)
    if known is not None:
        return known
    walked = flow(view, judge_step, judge_node, memory.judgements)
    obligations = [*walked.obligations, *_over_the_plan(view, walked)]
    judged = tuple(with_witnesses(view, source_map, obligations))
    memory.keep(view, walked, judged)
    return walked, judged


def plan_view(plan: Plan, source_map: SourceMap, library: Library, policy: str) -> PlanView:
    requirements = tuple(
        node for stage in plan.stages for node, _ in nodes(stage.body) if isinstance(node, Requirement)
    )
    names = {f"%v{value}": name for value, (name, _) in source_map.values.items()}
    return PlanView(plan, library, effective(policy, library) if policy else None, requirements, names)


def check_experiment(
    experiment: Experiment,
    record: Record,
    report: PlanReport | None,
    library: Library,
    lowering: tuple[Finding, ...],
    others: tuple[Any, ...] = (),
) -> PlanReport:
    """What an experiment's deployment asks of its plan; `report` is the plan's own (None where it has no plan).

    `others` are what other experiments burn of the same stocks (`proving.drawn_of`). Under another policy than the
    plan's own, all of the plan is asked again under that policy. The findings are only the
    experiment's: those of the plan stand in its own report, but an experiment whose plan is refused is refused as well.
    """
    places = SourceMap(record.origin, record.name, {}, {}, {})
    if report is None or report.flow is None:
        return PlanReport(experiment.name, NO_PLAN, (), (), lowering, None, places, accepted=False)
    key = experiment.policy or report.plan.policy
    own = _under(key, report, library)
    if own.flow is None:
        return msgspec.structs.replace(own, name=experiment.name, findings=(*lowering, *own.findings))
    plan = plan_view(report.plan, report.source_map, library, key)
    view = ExperimentView(experiment, plan, own.flow, hosts_of(experiment, plan), others)
    asked = tuple(
        o for rule in rules() if hasattr(rule, "check_experiment") for o in rule.check_experiment(view)
    )
    slots = tuple(_slots(experiment, plan))
    pipeline = record.field_origins.get("pipeline", record.origin)
    at_pipeline = SourceMap(pipeline, record.name, {}, {}, {})
    findings = (
        *lowering,
        *(one for one in own.findings if one not in report.findings),
        *findings_of(asked, report.source_map),
        *findings_of(slots, at_pipeline),
    )
    return PlanReport(
        experiment.name,
        report.plan,
        (*own.obligations, *asked, *slots),
        tuple(one for one in own.not_asked if one.family not in _families(experiment, view.plan)),
        findings,
        own.flow,
        report.source_map,
        accepted=report.accepted and own.accepted and no_errors(findings),
    )


def _under(policy: str, report: PlanReport, library: Library) -> PlanReport:
    """The plan's own report, or the one that it has under the other policy of its experiment."""
    if policy == report.plan.policy:
        return report
    plan = msgspec.structs.replace(report.plan, policy=policy)
    return check_plan(plan, report.source_map, library)


def _slots(experiment: Experiment, plan: PlanView) -> Iterator[Obligation]:
    """What a policy and its own record say against a component of the pipeline that does no step."""
    for slot, use in experiment.slots:
        component = plan.library.component(use.key)
        if component is None or component.kind == "method":
            continue
        env = Env()
        add_parameters(env, use, component, plan)
        for rule in rules():
            if hasattr(rule, "check_component"):
                for found in rule.check_component(component, env, plan):
                    yield msgspec.structs.replace(found, subject=-1, part=slot)


def _families(experiment: Experiment, plan: PlanView) -> set[str]:
    """What an experiment asks that its plan alone does not."""
    deployment = experiment.deployment
    asked = {"target"} if deployment is not None and deployment.hosts else set[str]()
    if plan.policy is not None:
        asked |= {"placement"} | ({"material"} if experiment.stocks else set())
    return asked


def no_errors(findings: Iterable[Finding]) -> bool:
    return all(finding.severity is not Severity.ERROR for finding in findings)


def judge_node(plan: PlanView, node: object, facts: Mapping[int, Facts]) -> Iterator[Obligation]:
    """Rules on the nodes that are no steps: requirements and writes of state."""
    for rule in rules():
        if hasattr(rule, "check_node"):
            yield from rule.check_node(plan, node, facts)


def _over_the_plan(view: PlanView, walked: Flow) -> Iterator[Obligation]:
    for rule in rules():
        if hasattr(rule, "check_plan"):
            yield from rule.check_plan(view, walked)


def _not_asked(view: PlanView) -> tuple[NotAsked, ...]:
    if view.plan.policy:
        return (*unguarded(view), *NO_EXPERIMENT)
    return (NO_POLICY, *((NOT_FOLLOWED,) if _has_protocols(view) else ()), *NO_EXPERIMENT)


def _has_protocols(view: PlanView) -> bool:
    components = (view.library.component(step.use.key) for step in steps(view.plan) if step.use is not None)
    return any(component is not None and component.protocol is not None for component in components)


def _too_long(plan: Plan, source_map: SourceMap, lowering: tuple[Finding, ...]) -> PlanReport:
    place = source_map.plan
    finding = Finding(
        "limits.too_many_steps",
        f"this plan runs more than {MAX_WALKED} different steps, or more than {MAX_WALKED_AGAIN} in turns of repeats "
        "whose facts never repeat; a check walks no more",
        Span(place.file, place.start, place.end),
        severity=Severity.ERROR,
        verdict=Verdict.UNPROVED,
        data={"limit": str(MAX_WALKED)},
        help="state ranges that do not change from layer to layer, so that equal layers count once, or split the plan",
    )
    return PlanReport(source_map.name, plan, (), (), (*lowering, finding), None, source_map, accepted=False)
