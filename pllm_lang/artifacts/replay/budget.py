"""Replay of an experiment: how often its stages run, how many tokens it takes, how many wrong rows no check sees."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import prod

from pllm_lang.artifacts.replay import terms as t
from pllm_lang.artifacts.replay.numbers import Number, two_to
from pllm_lang.artifacts.replay.owed import ring_of
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.artifacts.replay.terms import Names
from pllm_lang.artifacts.replay.walked import Found, Walked, form_of, record
from pllm_lang.catalog.records import Component, Format
from pllm_lang.ir.experiment import Experiment
from pllm_lang.ir.plan import ComponentUse, Node, Repeat, Step

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
    """The first stage takes as many tokens as a request may bring: ids of the longest input that has any, or else rows."""
    plan, budget = walked.lock.documents.ir, dict(experiment.budget)
    if len(plan.stages) > 1 and budget and "max_new_tokens" not in budget:
        raise ReplayError("certificate.bound", "the budget does not say how often the later stages run")
    asked = budget.get("max_input_tokens")
    given = (*plan.inputs, *(plan.stages[0].inputs if plan.stages else ()))
    if asked is None or not given:
        return set()
    ids = [one for one in given if form_of(walked.lock, one.type).kind == "index"]
    taken, about = max(
        (prod(one.type.shape if ids else one.type.shape[:-1]), one.value) for one in ids or given
    )
    if whole(asked) > taken:
        raise ReplayError(
            "certificate.bound", f"the budget allows {asked} input tokens, and the plan takes {taken}"
        )
    return {("coverage.tokens", about, "")}


# ---- wrong rows that no check sees ----
def undetected_rows(walked: Walked, experiment: Experiment) -> set[Found]:
    """The chance of one row times all rows of the pipeline's methods, within the record's limits and the policy's."""
    methods = {use.key for slot, use in experiment.slots if slot != VERIFICATION}
    rows, about = _rows(walked, experiment, methods)
    found: set[Found] = set()
    for slot, use in experiment.slots if about >= 0 else ():
        component = record(walked, use.key) if slot == VERIFICATION else None
        if slot == VERIFICATION and not isinstance(component, Component):
            raise ReplayError("certificate.plan", f"the lock holds no component `{use.key}`")
        if isinstance(component, Component):
            _sees_all(walked, component, use, methods)
            if _is_limited(walked, component, use, rows):
                found.add(("bounds.undetected", about, ""))
    return found


def _sees_all(walked: Walked, component: Component, use: ComponentUse, methods: set[str]) -> None:
    """A check modulo q tells a right entry of size at most B from every other of a ring of M residues only if B + M / 2 < q."""
    if component.carrier is None:
        return
    numbers = {name: found for name, value in use.params if (found := t.exact(value, Names())) is not None}
    field = ring_of(component.carrier, Names(exact=numbers))
    for step, judged in walked.ran:
        method = judged.said.component
        if method is None or method.protocol is None or step.use is None or step.use.key not in methods:
            continue
        own = {spec.name: spec.format for spec in method.protocol.outputs}
        for spec, form, held in zip(judged.said.operator.results, judged.forms, judged.results, strict=True):
            ring = own.get(spec.name) or method.carrier
            modulus = None if ring is None else ring_of(ring, judged.names)
            if (
                field is None
                or modulus is None
                or held.fact.range is None
                or not _tells(held.fact.range, form, modulus, field)
            ):
                raise ReplayError(
                    "certificate.bound",
                    f"an entry of `{spec.name}` may be wrong by a multiple of what `{component.name}` checks modulo",
                )


def _tells(range_: tuple[Number, Number], form: Format, modulus: int, field: int) -> bool:
    size = max(-range_[0], range_[1]) * two_to(form.frac)
    return 2 * size + modulus < 2 * field


def _is_limited(walked: Walked, component: Component, use: ComponentUse, rows: int) -> bool:
    """Whether anything limits the sum; ReplayError where it is above that."""
    numbers = {name: found for name, value in use.params if (found := t.exact(value, Names())) is not None}
    each = None if component.failure is None else t.value(component.failure, Names(exact=numbers))
    if each is None or each.range is None:
        raise ReplayError(
            "certificate.bound", f"nothing says how often `{component.name}` misses a wrong row"
        )
    total = max(each.range[1], 0) * rows
    limits = [c.expr for c in component.requires if "failure" in t.named_in(c.expr)]
    holds = [bool(t.holds(limit, t.failing(total, numbers))) for limit in limits]
    policy = walked.lock.documents.policy
    if policy is not None and "statistical" in policy.security:
        holds.append(total <= Fraction(1, 1 << whole(policy.security["statistical"])))
    if not all(holds):
        raise ReplayError(
            "certificate.bound", f"`{component.name}` misses wrong rows more often than is allowed"
        )
    return bool(holds)


def _rows(walked: Walked, experiment: Experiment, methods: set[str]) -> tuple[int, int]:
    """Rows that the methods make over the budget, and the first result of the first such step (-1: none)."""
    stages, total, about = walked.lock.documents.ir.stages, 0, -1
    for place, stage in enumerate(stages):
        for step, times in _turns(stage.body, 1):
            component = None if step.use is None else record(walked, step.use.key)
            checked = isinstance(component, Component) and component.protocol is not None
            if not checked or step.use is None or step.use.key not in methods:
                continue
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
