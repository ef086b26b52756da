"""A party's machine has less memory than its part of the plan needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pllm_lang.catalog.facts import Exact
from pllm_lang.exact.number import text
from pllm_lang.ir.walk import family
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.hosting import (
    ExperimentView,
    Host,
    call_memory,
    computes_with,
    pieces_of,
    steps_at,
    tensor_bytes,
)
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.view import Met, StepView

CODE = "target.capacity"
UNITS = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


def check_experiment(view: ExperimentView) -> Iterator[Obligation]:
    """The weights that a party computes with, the states that it keeps and its largest call fit the machine's memory."""
    for host in view.hosts:
        yield from _judge(host, view)


def _judge(host: Host, view: ExperimentView) -> Iterator[Obligation]:
    plan = view.plan
    weights = {w.value: tensor_bytes(w.type, plan) * max(w.count, 1) for w in plan.plan.weights}
    used: set[int] = set()
    largest: Exact = 0
    subject = -1
    for met, step in steps_at(host, view):
        # Steps that are alike share what was judged of the first of them; only `met` names this one's own values.
        values = [family(operand) for operand in met.step.operands]
        used |= {v for i, v in enumerate(values) if v in weights and computes_with(host.party, step, i)}
        need = _call(met, step, view, weights)
        if need is None:
            yield _unknown(met.step.results[0], host, step)
        elif need > largest:
            largest, subject = need, met.step.results[0]
    held, kept = sum(weights[value] for value in used), _kept(host.party, view)
    total = largest + held + kept
    if total <= host.memory:
        yield Obligation(CODE, Verdict.PROVED, subject, evidence=(host.party, text(total), text(host.memory)))
        return
    yield Obligation(
        CODE,
        Verdict.REFUTED if largest > host.memory else Verdict.UNPROVED,
        subject,
        part="using",
        message=(
            f"`{host.party}` needs {text(total)} bytes{_in_units(total)}, "
            f"and `{host.target.name}` has {text(host.memory)}{_in_units(host.memory)}"
        ),
        value=text(total),
        limit=text(host.memory),
        term=host.party,
        notes=(f"weights {held} bytes, states {kept} bytes, largest call {text(largest)} bytes",),
        help="use a machine with more memory, or split the step",
    )


def _kept(party: str, view: ExperimentView) -> int:
    """Bytes of the states that lie at the party, or of which nothing says where they lie."""
    return sum(
        tensor_bytes(state.type, view.plan) * max(state.count, 1) * pieces_of(state.placement, view.plan)
        for state in view.plan.plan.states
        if party in state.placement.parties or state.placement.kind in ("public", "unplaced")
    )


def _call(met: Met, step: StepView, view: ExperimentView, weights: Mapping[int, int]) -> Exact | None:
    own = call_memory(step)
    if own is None:
        return None
    operands = zip(met.step.operands, step.operand_types, step.operand_places, strict=True)
    moved = [(type_, place) for operand, type_, place in operands if family(operand) not in weights]
    results = zip(step.step.types, met.judged.places, strict=True)
    return own + sum(
        tensor_bytes(type_, view.plan) * pieces_of(place, view.plan) for type_, place in (*moved, *results)
    )


def _unknown(subject: int, host: Host, step: StepView) -> Obligation:
    name = "" if step.component is None else step.component.name
    return Obligation(
        CODE,
        Verdict.UNPROVED,
        subject,
        part="using",
        message=f"the memory that `{name}` needs at `{host.party}` is unknown here",
        help="the record's `memory` formula needs a parameter or fact that this step does not give",
    )


def _in_units(size: Exact) -> str:
    """The size in the largest unit that it fills, rounded up to a tenth; "" below one KiB."""
    name, unit = next(((name, unit) for name, unit in UNITS if size >= unit), ("", 1))
    tenths = -(-size.numerator * 10 // (size.denominator * unit))
    return f" ({tenths // 10}.{tenths % 10} {name})" if name else ""
