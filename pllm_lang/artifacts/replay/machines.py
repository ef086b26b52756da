"""Replay of an experiment: what its machines have, against what their parties do in the plan.

In: a lock that was walked, with every step in the order in which it ran. A party needs a machine; the machine holds the weights
that the party computes with, the states that it keeps and its largest call; it has the features that components ask for, an
instruction set for every kernel, and the ring that the steps compute in. Out: the obligations met; ReplayError where one is
not. Known defects of versions stay on trust (`target.defect`).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import prod

import msgspec

from pllm_lang.artifacts.replay import numbers as n
from pllm_lang.artifacts.replay import terms as t
from pllm_lang.artifacts.replay.material import names_of
from pllm_lang.artifacts.replay.owed import carrier_of
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.artifacts.replay.walked import Found, Walked, form_of, record
from pllm_lang.artifacts.replay.walked import View as Ran
from pllm_lang.catalog.expr import Apply, Expr, ListOf, Num, Ref, Text
from pllm_lang.catalog.records import Component, Kernel, Record
from pllm_lang.ir import protocol as p
from pllm_lang.ir.experiment import Experiment
from pllm_lang.ir.plan import Member, TensorType

EVERYWHERE = "scalar"
"""The variant of a kernel that needs no instruction set of its own."""


class Host(msgspec.Struct, frozen=True):
    """A party's machine. `ring_bits` None where its runtime takes any ring."""

    party: str
    name: str
    has: frozenset[str]
    memory: Fraction
    ring_bits: Fraction | None


def fitting(walked: Walked) -> set[Found]:
    """Nothing for a plan by itself, nor where no deployment is named."""
    experiment = walked.lock.documents.experiment
    if experiment is None or experiment.deployment is None:
        return set()
    hosts = [_host(walked, party, key) for party, key in experiment.deployment.hosts]
    everybody = frozenset(host.party for host in hosts)
    local = experiment.deployment.kind == "local" and not hosts
    found = set[Found]() if local else _placed(walked, everybody)
    kernels = list(_backend(walked, experiment)) if hosts else []
    for host in hosts:
        own = [ran for ran in walked.ran if host.party in _who(ran, everybody)]
        found |= _memory(walked, host, own) | _rings(walked, experiment, host, own)
        found |= _features(walked, experiment, host, own, kernels)
    return found


def _host(walked: Walked, party: str, key: str) -> Host:
    target = record(walked, key)
    if not isinstance(target, Record) or target.kind != "target":
        raise ReplayError("certificate.plan", f"the lock holds no machine `{key}`")
    fields = target.fields
    has = frozenset((*_words(fields.get("isa")), *_words(fields.get("features"))))
    return Host(
        party,
        target.name,
        has,
        _number(fields.get("memory")) or Fraction(0),
        _number(fields.get("ring_bits")),
    )


def _number(expr: Expr | None) -> Fraction | None:
    return n.number(expr.value) if isinstance(expr, Num) else None


def _words(expr: Expr | None) -> Iterator[str]:
    """Bare names and texts of a list."""
    for item in expr.items if isinstance(expr, ListOf) else (expr,):
        if isinstance(item, Ref):
            yield item.name.rpartition(".")[2]
        elif isinstance(item, Text):
            yield item.value


def _who(ran: Ran, otherwise: frozenset[str]) -> frozenset[str]:
    """Who takes part: the party that a step runs at, those in its roles, those that hold pieces; else anybody may."""
    if ran.step.party:
        return frozenset({ran.step.party})
    if ran.step.use is not None and ran.step.use.roles:
        return frozenset(party for _, party in ran.step.use.roles)
    pieces = {q for held in ran.values if held.place.kind == "shared" for q in held.place.parties}
    return frozenset(pieces) or otherwise


def _placed(walked: Walked, hosts: frozenset[str]) -> set[Found]:
    first: dict[str, int] = {}
    for ran in walked.ran:
        for party in _who(ran, frozenset()):
            first.setdefault(party, ran.step.results[0])
    if not first.keys() <= hosts or not (first or hosts):
        raise ReplayError("certificate.target", "a party takes part, and the deployment gives it no machine")
    return {("target.no_host", about, "") for about in first.values()}


# ---- memory ----
def _memory(walked: Walked, host: Host, own: list[Ran]) -> set[Found]:
    """Weights and states, and the largest call: its operands that are no weights, its results, its component's own need."""
    plan = walked.lock.documents.ir
    weights = {one.value: _bytes(walked, one.type) * max(one.count, 1) for one in plan.weights}
    kept = sum(
        _bytes(walked, one.type) * max(one.count, 1)
        for one in plan.states
        if host.party in one.placement.parties or one.placement.kind in ("public", "unplaced")
    )
    used: set[int] = set()
    largest, about = Fraction(0), -1
    for ran in own:
        values = [one.family if isinstance(one, Member) else one for one in ran.step.operands]
        used |= {
            v for i, v in enumerate(values) if v in weights and _computes_with(walked, host.party, ran, i)
        }
        moved = [held.type for v, held in zip(values, ran.values, strict=True) if v not in weights]
        need = _own_memory(ran) + sum(_bytes(walked, one) for one in (*moved, *ran.step.types))
        if need > largest:
            largest, about = need, ran.step.results[0]
    total = largest + kept + sum(weights[value] for value in used)
    if total > host.memory:
        text = f"`{host.party}` needs {total} bytes, and `{host.name}` has {host.memory}"
        raise ReplayError("certificate.target", text)
    return {("target.capacity", about, "step" if about < 0 else "")}


def _own_memory(ran: Ran) -> Fraction:
    if ran.component is None or ran.component.memory is None:
        return Fraction(0)
    found = t.value(ran.component.memory, ran.names)
    if found is None or found.range is None:
        raise ReplayError("certificate.target", f"the memory that `{ran.component.name}` needs is not known")
    return found.range[1]


def _bytes(walked: Walked, type_: TensorType) -> int:
    """At the storage width of the format, 64 bits where it has none."""
    return prod(type_.shape) * max(1, -(-(form_of(walked.lock, type_).bits or 64) // 8))


def _computes_with(walked: Walked, party: str, ran: Ran, position: int) -> bool:
    """Whether the party reads or sends the operand in the text that it runs; where it runs none, yes."""
    text = _text_of(walked, ran)
    if text is None or ran.step.use is None:
        return True
    bound = dict(ran.step.use.roles)
    roles = {one.name for one in text.parties if bound.get(one.name, one.name) == party}
    name = text.inputs[position].name
    return any(name in _read(line, roles) for line in text.body)


def _text_of(walked: Walked, ran: Ran) -> p.Protocol | None:
    number, documents = walked.number[id(ran.step)], walked.lock.documents
    if not walked.texts:
        for program in documents.programs:
            walked.texts |= {
                u.step: u.protocol for u in program.uses if documents.protocols[u.protocol].component
            }
    return documents.protocols[walked.texts[number]].protocol if number in walked.texts else None


def _read(line: p.Statement, roles: set[str]) -> set[str]:
    """The values that a line reads at one of these roles, whole or in pieces."""
    if isinstance(line, p.Assign) and line.party in roles:
        return {name.partition(".")[0] for name in names_of(line.value)}
    return {line.name.partition(".")[0]} if isinstance(line, p.Send) and line.sender in roles else set()


# ---- features, kernels, rings ----
def _features(
    walked: Walked, experiment: Experiment, host: Host, own: list[Ran], backend: list[Kernel]
) -> set[Found]:
    """What components ask of their hosts is there, and every kernel has a variant for it. Those of the backend serve the
    products under a protocol; the other components of the pipeline ask at the machines of their roles."""
    found: set[Found] = set()
    first = -1
    for ran in own:
        about, product = ran.step.results[0], ran.component is not None and ran.component.protocol is not None
        kernels = [*_given_kernels(walked, ran), *(backend if product and first < 0 else ())]
        first = about if product and first < 0 else first
        asked = () if ran.component is None else ran.component.host_features
        _has(host, asked, kernels)
        found |= {("target.feature", about, "")} if asked or kernels else set()
    for _, use in experiment.slots:
        component = record(walked, use.key)
        if not isinstance(component, Component):
            raise ReplayError("certificate.plan", f"the lock holds no component `{use.key}`")
        if component.kind != "method" and component.host_features and host.party in dict(use.roles).values():
            _has(host, component.host_features, [])
            found.add(("target.feature", first, component.name if first < 0 else ""))
    return found


def _has(host: Host, features: tuple[str, ...], kernels: list[Kernel]) -> None:
    missing = [*(set(features) - host.has)]
    missing += [
        one.name for one in kernels if not host.has & set(one.variants) and EVERYWHERE not in one.variants
    ]
    if missing:
        text = f"`{host.name}` of `{host.party}` is not shown to have what `{sorted(missing)[0]}` needs"
        raise ReplayError("certificate.target", text)


def _given_kernels(walked: Walked, ran: Ran) -> Iterator[Kernel]:
    """Kernels among the parameters of a step's component, or of components among these."""
    left = [] if ran.step.use is None else [value for _, value in ran.step.use.params]
    while left:
        value = left.pop()
        key = value.fn if isinstance(value, Apply) else value.name if isinstance(value, Ref) else ""
        found = record(walked, key) if "." in key else None
        if isinstance(found, Kernel):
            yield found
        left += [inner for _, inner in value.named] if isinstance(value, Apply) else []


def _backend(walked: Walked, experiment: Experiment) -> Iterator[Kernel]:
    """Kernels that say they belong to the backend of the pipeline."""
    backends = {use.key for slot, use in experiment.slots if slot == "kernels"}
    for key in walked.lock.documents.records if backends else ():
        found = record(walked, key)
        said = found.fields.get("backend") if isinstance(found, Kernel) else None
        items = said.items if isinstance(said, ListOf) else (said,)
        if isinstance(found, Kernel) and backends & {item.name for item in items if isinstance(item, Ref)}:
            yield found


def _rings(walked: Walked, experiment: Experiment, host: Host, own: list[Ran]) -> set[Found]:
    """One ring in the steps, at the machine's runtime, and in stocks that no protocol compares with its own bundles."""
    stocks = [n.number(stock.ring_bits) for stock in experiment.stocks if stock.ring_bits]
    found: set[Found] = set()
    seen: set[tuple[int, bool]] = set()
    for ran in own:
        modulus = carrier_of(ran)
        in_text = ran.component is not None and ran.component.protocol is not None
        apart = in_text and walked.lock.documents.policy is not None
        others = [*([] if host.ring_bits is None else [host.ring_bits]), *([] if apart else stocks)]
        if modulus is None or (modulus, apart) in seen or not others:
            continue
        seen.add((modulus, apart))
        if any(bits != (modulus - 1).bit_length() for bits in others):
            raise ReplayError(
                "certificate.target", f"plan, material and `{host.name}` are made for several rings"
            )
        found.add(("target.ring", ran.step.results[0], ""))
    return found
