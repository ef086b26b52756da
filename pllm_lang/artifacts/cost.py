"""What a plan or an experiment costs: per stage, per token, per request, and over the budget.

In: a checked plan with the proof of its protocols, and the experiment where there is one. Out: a `CostReport`. Messages,
rounds and material come from the protocols' own texts, multiply-accumulates from these and, where a party computes in
the clear, from the operators' meanings; memory from the formats of what a party uses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from math import prod

from pllm_lang.artifacts.cost_products import products_in, products_of
from pllm_lang.artifacts.cost_report import (
    SCHEMA,
    Amount,
    CostReport,
    Link,
    Material,
    Memory,
    Rounds,
    StageCost,
    Work,
    summed,
)
from pllm_lang.catalog.library import Library
from pllm_lang.ir.experiment import Experiment
from pllm_lang.ir.plan import Plan, Step
from pllm_lang.ir.walk import family, nodes
from pllm_lang.verify.budget import runs_of
from pllm_lang.verify.check import PlanReport, plan_view
from pllm_lang.verify.hosting import call_memory, computes_with, hosts_of, parties_of, tensor_bytes
from pllm_lang.verify.narrations.composing import Composed
from pllm_lang.verify.narrations.plan import Proof
from pllm_lang.verify.protocol.composed_cost import cost_of_composition
from pllm_lang.verify.view import Met, PlanView

BUDGET = ("requests", "max_input_tokens", "max_new_tokens")


def cost_report(
    report: PlanReport, proof: Proof, library: Library, experiment: Experiment | None
) -> CostReport:
    """`report` is that of the plan or of the experiment; a refused one is counted as far as it could be read."""
    view = plan_view(report.plan, report.source_map, library, report.plan.policy)
    stages = tuple(_stages(report, proof, experiment))
    request = summed((stage.cost, stage.runs) for stage in stages)
    budget = dict(experiment.budget) if experiment is not None else {}
    numbers = {name: int(budget[name]) for name in BUDGET if name in budget}
    return CostReport(
        SCHEMA,
        report.name,
        report.accepted,
        numbers,
        stages,
        per_token=stages[-1].cost if stages else Amount(),
        per_request=request,
        total=summed([(request, numbers.get("requests", 1))]),
        memory=tuple(_memory(report, view, experiment)),
    )


# ---- stages ----
def _stages(report: PlanReport, proof: Proof, experiment: Experiment | None) -> Iterator[StageCost]:
    requests = int(dict(experiment.budget).get("requests", "1")) if experiment is not None else 1
    met = () if report.flow is None else report.flow.met
    for place, composed in enumerate(proof.composed):
        stage = report.plan.stages[place]
        runs = runs_of(place, len(proof.composed), experiment) // max(requests, 1)
        steps = {node.results[0] for node, _ in nodes(stage.body) if isinstance(node, Step) and node.results}
        inside = [one for one in met if one.step.results and one.step.results[0] in steps]
        yield StageCost(stage.name or report.name, runs, _amount(composed, inside))


def _amount(composed: Composed, met: Iterable[Met]) -> Amount:
    cost = cost_of_composition(composed.whole, [made.times for made in composed.made])
    links = (
        Link(
            one.phase, one.sender, one.receiver, one.messages, -(-sum(n * _size(s) for s, n in one.bits) // 8)
        )
        for one in cost.links
    )
    needs: list[Material] = []
    for need in cost.material:
        component, _, bundle = need.bundle.rpartition(".")
        count = sum(n * _size(symbols) for symbols, n in need.count)
        needs.append(Material(component, bundle, need.unit, count))
    rounds = (Rounds(phase, count) for phase, count in cost.rounds)
    return Amount(tuple(sorted(links)), tuple(rounds), tuple(needs), tuple(_work(composed, met)))


def _size(symbols: str) -> int:
    """Sizes of a plan are numbers, so no symbol is left."""
    return prod(int(part) for part in symbols.split("*") if part.isdigit())


# ---- work ----
def _work(composed: Composed, met: Iterable[Met]) -> Iterator[Work]:
    """Products inside protocols at the parties that play the roles; those in the clear at the party of the step."""
    counts: Counter[tuple[str, str]] = Counter()
    told: set[int] = set()
    for instance, made in zip(composed.whole.instances, composed.made, strict=True):
        if not made.key:
            continue
        told.add(made.subject)
        roles = dict(instance.roles)
        for phase, role, macs in products_of(instance.protocol):
            counts[phase, roles.get(role, role)] += macs * made.times
    for one in met:
        if one.step.results[0] in told or one.judged.view is None:
            continue
        meanings = one.judged.view.operator.means
        macs = sum(products_in(clause.expr, one.judged.view.env) for clause in meanings)
        for party in parties_of(one, ()) if macs else ():
            counts["online", party] += macs * one.times
    yield from (Work(*key, count) for key, count in sorted(counts.items()) if count)


# ---- memory ----
def _memory(report: PlanReport, view: PlanView, experiment: Experiment | None) -> Iterator[Memory]:
    """Of every party that takes part, or has a machine."""
    plan = report.plan
    hosts = () if experiment is None else hosts_of(experiment, view)
    available = {host.party: int(host.memory) for host in hosts}
    used: dict[str, set[int]] = {}
    largest: Counter[str] = Counter()
    for one in () if report.flow is None else report.flow.met:
        need, step = _call(one, view, plan), one.judged.view
        for party in parties_of(one, hosts):
            mine = {
                family(operand)
                for at, operand in enumerate(one.step.operands)
                if step is None or computes_with(party, step, at)
            }
            used.setdefault(party, set()).update(mine)
            largest[party] = max(largest[party], need)
    sizes = {weight.value: (weight.type, weight.count) for weight in plan.weights}
    for party in sorted({*used, *available}):
        held = [sizes[value] for value in used.get(party, ()) if value in sizes]
        weights = sum(tensor_bytes(type_, view) * max(count, 1) for type_, count in held)
        states = sum(
            tensor_bytes(state.type, view) * max(state.count, 1)
            for state in plan.states
            if party in state.placement.parties
        )
        yield Memory(party, weights, states, largest[party], available.get(party))


def _call(met: Met, view: PlanView, plan: Plan) -> int:
    """Bytes of what one call reads beside weights, makes and needs."""
    step = met.judged.view
    if step is None:
        return 0
    weights = {weight.value for weight in plan.weights}
    operands = zip(met.step.operands, step.operand_types, strict=True)
    moved = [type_ for operand, type_ in operands if family(operand) not in weights]
    own = call_memory(step) or 0
    return int(own) + sum(tensor_bytes(type_, view) for type_ in (*moved, *met.step.types))
