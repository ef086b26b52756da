"""Replay of an experiment: how often its stages run, how many tokens it takes, how many wrong rows no check sees."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from pllm_lang.artifacts.replay import numbers as n
from pllm_lang.artifacts.replay import terms as t
from pllm_lang.artifacts.replay.owed import ring_of
from pllm_lang.artifacts.replay.refusal import ReplayError, need
from pllm_lang.artifacts.replay.terms import Names
from pllm_lang.artifacts.replay.walked import (
    Found,
    Walked,
    component_at,
    form_of,
    number_of,
    steps_of,
)
from pllm_lang.catalog.records import Component
from pllm_lang.ir.experiment import Experiment
from pllm_lang.ir.plan import Node, Plan, Repeat, Step

VERIFICATION, PREPARATION = "verification", "preparation"


# ---- the budget ----
def whole(text: str) -> int:
    """A count as digits; ValueError for anything else."""
    if not text.isdecimal():
        raise ValueError(f"not a count: {text[:40]!r}")
    return int(text)


def runs_of(place: int, stages: int, experiment: Experiment) -> int:
    """A plan of one stage runs once a token; of several, the first runs once a request, later ones once a further token."""
    budget = dict(experiment.budget)
    requests, tokens = whole(budget.get("requests", "1")), whole(budget.get("max_new_tokens", "1"))
    if stages == 1:
        return requests * max(tokens, 1)
    further = place > 0 and "max_new_tokens" in budget
    return requests * max(tokens - 1, 0) if further else requests


# ---- tokens ----
def tokens_of_budget(walked: Walked, experiment: Experiment) -> set[Found]:
    """The first stage takes as many tokens as a request may bring: in every input that chooses rows of a weight; else ids of the
    longest input that has any, or else rows."""
    plan, budget = walked.lock.documents.ir, dict(experiment.budget)
    said = len(plan.stages) < 2 or not budget or "max_new_tokens" in budget
    need(said, "certificate.bound", "the budget does not say how often the later stages run")
    asked = budget.get("max_input_tokens")
    given = (*plan.inputs, *(plan.stages[0].inputs if plan.stages else ()))
    if asked is None or not given:
        return set()
    ids = [one for one in given if form_of(walked.lock, one.type).kind == "index"]
    rows = _rows_of_weights(plan)
    chosen = [one for one in ids if one.value in rows]
    counted = chosen or ids or given
    sizes = [(prod(one.type.shape if ids else one.type.shape[:-1]), one.value) for one in counted]
    taken, about = min(sizes) if chosen else max(sizes)
    text = f"the budget allows {asked} input tokens, and the plan takes {taken}"
    need(whole(asked) <= taken, "certificate.bound", text)
    return {("coverage.tokens", about, "")}


def _rows_of_weights(plan: Plan) -> set[int]:
    """What the first stage takes for row numbers of a weight."""
    weights = {one.value for one in plan.weights}
    steps = [one for stage in plan.stages[:1] for one in steps_of(stage.body)]
    looked = [one for one in steps if one.operator in ("std.nn.embedding", "std.operators.gather")]
    return {number_of(one.operands[1]) for one in looked if number_of(one.operands[0]) in weights}


# ---- wrong rows that no check sees ----
def undetected_rows(walked: Walked, experiment: Experiment) -> set[Found]:
    """The chance of one row times all rows of the pipeline's methods, within the record's limits and the policy's."""
    methods = {use.key for slot, use in experiment.slots if slot != VERIFICATION}
    rows, about = _rows(walked, experiment, methods)
    found: set[Found] = set()
    for slot, use in experiment.slots:
        if slot == VERIFICATION and about >= 0:
            component = component_at(walked, use.key)
            names = t.bound(Names(), [spec.name for spec in component.params], use.params)
            _sees_all(walked, component, names, methods)
            if _is_limited(walked, component, names, rows):
                found.add(("bounds.undetected", about, ""))
    return found


def _sees_all(walked: Walked, component: Component, names: Names, methods: set[str]) -> None:
    """A check modulo q tells a right entry of size at most B from every other of a ring of M residues only if B + M / 2 < q."""
    if component.carrier is None:
        return
    field = ring_of(component.carrier, names)
    for step, judged in walked.ran:
        method = judged.said.component
        if method is None or method.protocol is None or step.use is None or step.use.key not in methods:
            continue
        own = {spec.name: spec.format for spec in method.protocol.outputs}
        for spec, form, held in zip(judged.said.operator.results, judged.forms, judged.results, strict=True):
            ring = own.get(spec.name) or method.carrier
            modulus = None if ring is None else ring_of(ring, judged.names)
            size = n.product(2, n.largest(held.fact.range), n.two_to(form.frac))
            tells = field and modulus and size is not None and size + modulus < 2 * field
            text = f"`{spec.name}` may be wrong by a multiple of what `{component.name}` checks modulo"
            need(tells, "certificate.bound", f"an entry of {text}")


def _is_limited(walked: Walked, component: Component, names: Names, rows: int) -> bool:
    """Whether anything limits the sum; ReplayError where it is above that."""
    each = None if component.failure is None else t.value(component.failure, names)
    if each is None or each.range is None:
        text = f"nothing says how often `{component.name}` misses a wrong row"
        raise ReplayError("certificate.bound", text)
    total = max(each.range[1], 0) * rows
    limits = [c.expr for c in component.requires if "failure" in t.named_in(c.expr)]
    holds = [bool(t.holds(limit, t.failing(total, names))) for limit in limits]
    policy = walked.lock.documents.policy
    if policy is not None and "statistical" in policy.security:
        level = min(whole(policy.security["statistical"]), n.MAX_BITS + 1)
        holds.append(level <= n.MAX_BITS and total <= n.two_to(-level))
    text = f"`{component.name}` misses wrong rows more often than is allowed"
    need(all(holds), "certificate.bound", text)
    return bool(holds)


def _rows(walked: Walked, experiment: Experiment, methods: set[str]) -> tuple[int, int]:
    """Rows that the methods make over the budget, and the first result of the first such step (-1: none)."""
    stages, total, about = walked.lock.documents.ir.stages, 0, -1
    for place, stage in enumerate(stages):
        for step, times in _turns(stage.body, 1):
            key = "" if step.use is None else step.use.key
            if key in methods and component_at(walked, key).protocol is not None:
                about = step.results[0] if about < 0 else about
                rows = sum(prod(type_.shape[:-1]) for type_ in step.types)
                total += rows * times * runs_of(place, len(stages), experiment)
    return total, about


def _turns(body: tuple[Node, ...], times: int) -> Iterator[tuple[Step, int]]:
    for node in body:
        if isinstance(node, Repeat):
            yield from _turns(node.body, times * max(node.high - node.low, 0))
        elif isinstance(node, Step):
            yield node, times
