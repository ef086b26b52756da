"""Which party's machine does what: the steps that each party takes part in, and what they ask of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import prod
from typing import Any

import msgspec

from pllm_lang.catalog.evaluate import term
from pllm_lang.catalog.expr import Apply, Expr, ListOf, MapOf, Num, Ref
from pllm_lang.catalog.facts import Exact
from pllm_lang.catalog.records import Holding, Kernel, ProtocolLine, Record
from pllm_lang.exact.number import exact
from pllm_lang.ir.experiment import Experiment
from pllm_lang.ir.plan import UNKNOWN, Placement, TensorType
from pllm_lang.ir.walk import references
from pllm_lang.verify.flow import Flow
from pllm_lang.verify.view import Met, PlanView, StepView


class Host(msgspec.Struct, frozen=True):
    """A party's machine: its target record and what it offers. `ring_bits` None where the runtime takes any ring."""

    party: str
    target: Record
    isa: frozenset[str]
    memory: Exact
    ring_bits: Exact | None
    features: frozenset[str]


class ExperimentView(msgspec.Struct, frozen=True):
    """`others` are what other experiments burn of the same stocks (`narrations.material.Drawn`)."""

    experiment: Experiment
    plan: PlanView
    flow: Flow
    hosts: tuple[Host, ...]
    others: tuple[Any, ...] = ()


def hosts_of(experiment: Experiment, plan: PlanView) -> tuple[Host, ...]:
    """The machines of a deployment; a host whose target record is unknown was reported when it was lowered."""
    pairs = () if experiment.deployment is None else experiment.deployment.hosts
    found = ((party, plan.library.get(key)) for party, key in pairs)
    return tuple(_host(party, record) for party, record in found if isinstance(record, Record))


def _host(party: str, target: Record) -> Host:
    fields = target.fields
    ring = _number(fields.get("ring_bits"))
    return Host(
        party,
        target,
        frozenset(words(fields.get("isa"))),
        _number(fields.get("memory")) or 0,
        ring,
        frozenset(words(fields.get("features"))),
    )


def words(expr: Expr | None) -> Iterator[str]:
    """Bare names and texts of a list."""
    items = expr.items if isinstance(expr, ListOf) else () if expr is None else (expr,)
    for item in items:
        text = getattr(item, "name", "") or getattr(item, "value", "")
        if text:
            yield text.rsplit(".", 1)[-1] if isinstance(item, Ref) else text


def _number(expr: Expr | None) -> Exact | None:
    return exact(expr.value) if isinstance(expr, Num) else None


def parties_of(met: Met, hosts: tuple[Host, ...]) -> frozenset[str]:
    """Who takes part in a step: the party it runs at, those bound to the component's roles, those that hold operands.

    Where nothing says, everybody who has a host: a machine that may have to do it must be able to.
    """
    step = met.step
    if step.party:
        return frozenset({step.party})
    if step.use is not None and step.use.roles:
        return frozenset(party for _, party in step.use.roles)
    view = met.judged.view
    shared = {
        p
        for place in (() if view is None else view.operand_places)
        for p in place.parties
        if place.kind == "shared"
    }
    return frozenset(shared or {host.party for host in hosts})


def steps_at(host: Host, view: ExperimentView) -> Iterator[tuple[Met, StepView]]:
    for met in view.flow.met:
        if met.judged.view is not None and host.party in parties_of(met, view.hosts):
            yield met, met.judged.view


def computes_with(party: str, step: StepView, position: int) -> bool:
    """Whether the party's part of the step has the operand in it, by the component's narration; where none is written, yes."""
    text = None if step.component is None else step.component.protocol
    if text is None or step.step.use is None:
        return True
    name = text.inputs[position].name
    roles = {role for role, player in step.step.use.roles if player == party}
    return any(
        line.parties and line.parties[0] in roles and name in _names_in(line)
        for line in (*text.offline, *text.online)
        if line.kind in ("local", "send")
    )


def _names_in(line: ProtocolLine) -> set[str]:
    return {name.partition(".")[0] for expr in line.exprs for name in references(expr)}


class KernelUse(msgspec.Struct, frozen=True):
    kernel: Kernel
    params: tuple[tuple[str, Expr], ...]


def kernels_of(view: StepView, plan: PlanView) -> Iterator[KernelUse]:
    """Kernels that a step's component was given as parameters, itself or through components among them."""
    for _, value in () if view.step.use is None else view.step.use.params:
        yield from _kernels_in(value, plan)


def _kernels_in(value: Expr, plan: PlanView) -> Iterator[KernelUse]:
    key = value.fn if isinstance(value, Apply) else value.name if isinstance(value, Ref) else ""
    params = value.named if isinstance(value, Apply) else ()
    record = plan.library.get(key) if key else None
    if isinstance(record, Kernel):
        yield KernelUse(record, _with_defaults(record, params))
    for _, inner in params:
        yield from _kernels_in(inner, plan)


def slot_kernels(view: ExperimentView) -> Iterator[KernelUse]:
    """Kernels of the backend that the experiment's pipeline names."""
    for slot, use in view.experiment.slots:
        if slot != "kernels":
            continue
        for key in view.plan.library.keys("kernel"):
            record = view.plan.library.get(key)
            if isinstance(record, Kernel) and use.key in words_of(record.fields.get("backend")):
                yield KernelUse(record, _with_defaults(record, use.params))


def _with_defaults(kernel: Kernel, params: tuple[tuple[str, Expr], ...]) -> tuple[tuple[str, Expr], ...]:
    defaults = {spec.name: spec.default for spec in kernel.params if spec.default is not None}
    return tuple((defaults | dict(params)).items())


def runs_kernels(step: StepView) -> bool:
    """Whether the step is one of those that a backend's kernels are for: products under a protocol."""
    return step.component is not None and step.component.protocol is not None


def words_of(expr: Expr | None) -> set[str]:
    """Full names of a list of references."""
    items = expr.items if isinstance(expr, ListOf) else () if expr is None else (expr,)
    return {item.name for item in items if isinstance(item, Ref)}


def defects_of(fields: dict[str, Expr]) -> Iterator[dict[str, Expr]]:
    found = fields.get("defects")
    for item in found.items if isinstance(found, ListOf) else ():
        if isinstance(item, MapOf):
            yield dict(item.entries)


def call_memory(view: StepView) -> Exact | None:
    """Bytes that one call of the component needs beside its tensors; None where the record's formula is unknown here."""
    if view.component is None or view.component.memory is None:
        return 0
    found = term(view.component.memory, view.env)
    return None if found is None else found.high


def pieces_of(place: Placement, plan: PlanView) -> int:
    """How many pieces of a value lie at a party that has any of them, at most; each is as large as the value."""
    record = plan.library.get(place.holding) if place.kind == "shared" else None
    pieces = record.fields.get("pieces") if isinstance(record, Holding) else None
    held = Counter(
        number.value
        for _, places in (pieces.entries if isinstance(pieces, MapOf) else ())
        for number in (places.items if isinstance(places, ListOf) else (places,))
        if isinstance(number, Num)
    )
    return max(held.values(), default=1)


def tensor_bytes(type_: TensorType, plan: PlanView) -> int:
    """Bytes of a tensor at its format's storage width (64 bits where the format has none)."""
    if type_ == UNKNOWN:
        return 0
    return prod(type_.shape) * max(1, -(-(plan.format_of(type_).bits or 64) // 8))
