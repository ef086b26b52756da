"""Replay of an experiment: what its machines have, against what their parties do in the plan.

In: a lock that was walked, with every step in the order in which it ran. A party needs a machine; the machine holds the weights
that the party computes with, the states that it keeps and its largest call; it has the features that components ask for, an
instruction set for every kernel, and the ring that the steps compute in. Out: the obligations met; ReplayError where one is
not.
"""

from __future__ import annotations

from math import prod

import msgspec

from pllm_lang.artifacts.replay import numbers as n
from pllm_lang.artifacts.replay import terms as t
from pllm_lang.artifacts.replay.kernels import Served, backend_kernels, given_kernels, meets_defects, words
from pllm_lang.artifacts.replay.refusal import ReplayError, need
from pllm_lang.artifacts.replay.run import names_of
from pllm_lang.artifacts.replay.walked import Found, Judged, Walked, component_at, form_of, number_of, record
from pllm_lang.catalog.expr import ListOf, MapOf, Num
from pllm_lang.catalog.records import Component, Holding, Record
from pllm_lang.ir import protocol as p
from pllm_lang.ir.experiment import Experiment
from pllm_lang.ir.plan import Placement, Step, TensorType

EVERYWHERE = "scalar"
"""The variant of a kernel that needs no instruction set of its own."""


class Host(msgspec.Struct, frozen=True):
    """A party's machine. `ring_bits` None where its runtime takes any ring."""

    party: str
    name: str
    has: frozenset[str]
    memory: n.Number
    ring_bits: n.Size


class Call(msgspec.Struct, frozen=True):
    """A step as it ran: who takes part (nobody: anybody may), the bytes of what it moves and needs, which operands are weights;
    `about` is its first result, `in_text` whether its component has a protocol."""

    step: Step
    view: Judged
    about: int
    who: frozenset[str]
    bytes: n.Number
    weights: tuple[tuple[int, int], ...]
    component: Component | None
    in_text: bool
    kernels: tuple[Served, ...]


def fitting(walked: Walked) -> set[Found]:
    """Nothing for a plan by itself, nor where no deployment is named."""
    experiment = walked.lock.documents.experiment
    if experiment is None or experiment.deployment is None:
        return set()
    hosts = [_host(walked, party, key) for party, key in experiment.deployment.hosts]
    everybody = frozenset(host.party for host in hosts)
    sizes = Sizes(walked, {one.value: max(one.count, 1) for one in walked.lock.documents.ir.weights})
    calls = [_call(sizes, step, view) for step, view in walked.ran]
    local = experiment.deployment.kind == "local" and not hosts
    found = set[Found]() if local else _placed(calls, everybody)
    backend = list(backend_kernels(walked, experiment)) if hosts else []
    for host in hosts:
        own = [one for one in calls if host.party in (one.who or everybody)]
        found |= _memory(sizes, host, own) | _rings(walked, experiment, host, own)
        found |= _features(walked, experiment, host, own, backend) | _defects(host, own, backend)
    return found


def _call(sizes: Sizes, step: Step, view: Judged) -> Call:
    values = [number_of(operand) for operand in step.operands]
    weights = tuple([(place, value) for place, value in enumerate(values) if value in sizes.weights])
    moved = [held for value, held in zip(values, view.values, strict=True) if value not in sizes.weights]
    moved += view.results
    size = _own_memory(view) + sum(sizes.of(held.type) * sizes.pieces(held.place) for held in moved)
    component = view.said.component
    in_text = component is not None and component.protocol is not None
    kernels = () if component is None else tuple(given_kernels(sizes.walked, step))
    return Call(step, view, step.results[0], _who(step, view), size, weights, component, in_text, kernels)


def _host(walked: Walked, party: str, key: str) -> Host:
    target = record(walked, key)
    if not isinstance(target, Record) or target.kind != "target":
        raise ReplayError("certificate.plan", f"the lock holds no machine `{key}`")
    fields = target.fields
    has = frozenset((*words(fields.get("isa")), *words(fields.get("features"))))
    memory, ring = (
        n.number(one.value) if isinstance(one, Num) else None
        for one in (fields.get("memory"), fields.get("ring_bits"))
    )
    return Host(party, target.name, has, memory or 0, ring)


def _who(step: Step, view: Judged) -> frozenset[str]:
    """The party that a step runs at, those in its roles, those that hold pieces."""
    if step.party:
        return frozenset({step.party})
    if step.use is not None and step.use.roles:
        return frozenset(party for _, party in step.use.roles)
    return frozenset(q for held in view.values if held.place.kind == "shared" for q in held.place.parties)


def _placed(calls: list[Call], hosts: frozenset[str]) -> set[Found]:
    first = {party: one.about for one in reversed(calls) for party in one.who}
    met = first.keys() <= hosts and (first or hosts)
    need(met, "certificate.target", "a party takes part, and the deployment gives it no machine")
    return {("target.no_host", about, "") for about in first.values()}


# ---- memory ----
class Sizes(msgspec.Struct):
    """Bytes of values, and how many members a weight has; both ask the same again and again."""

    walked: Walked
    weights: dict[int, int]
    bytes: dict[TensorType, int] = {}
    roles: dict[tuple[int, int], frozenset[str]] = {}
    held: dict[Placement, int] = {}

    def of(self, type_: TensorType) -> int:
        """At the storage width of the format, 64 bits where it has none, and no less than its values need."""
        found = self.bytes.get(type_)
        if found is None:
            form = form_of(self.walked.lock, type_)
            bounded = t.step_of(form) is not None and form.low and form.high
            needed = (int(form.high) - int(form.low)).bit_length() if bounded else 0
            found = self.bytes[type_] = prod(type_.shape) * -(-max(form.bits or 64, needed, 1) // 8)
        return found

    def pieces(self, place: Placement) -> int:
        """The most pieces that one party has of a value that lies so."""
        found = self.held.get(place)
        if found is None:
            sharing = record(self.walked, place.holding) if place.kind == "shared" else None
            pieces = sharing.fields.get("pieces") if isinstance(sharing, Holding) else None
            lists = [one for _, one in pieces.entries] if isinstance(pieces, MapOf) else []
            places = [i for one in lists for i in (one.items if isinstance(one, ListOf) else (one,))]
            numbers = [one.value for one in places if isinstance(one, Num)]
            found = self.held[place] = max(map(numbers.count, numbers), default=1)
        return found


def _memory(sizes: Sizes, host: Host, own: list[Call]) -> set[Found]:
    """Weights and states, and the largest call: its operands that are no weights, its results, its component's own need."""
    walked = sizes.walked
    kept = sum(
        sizes.of(one.type) * max(one.count, 1) * sizes.pieces(one.placement)
        for one in walked.lock.documents.ir.states
        if host.party in one.placement.parties or one.placement.kind in ("public", "unplaced")
    )
    used = {value for call in own for place, value in call.weights if _reads(sizes, host.party, call, place)}
    kept += sum(sizes.of(walked.values[value].type) * sizes.weights[value] for value in used)
    largest = max(own, key=lambda call: call.bytes, default=None)
    about = -1 if largest is None or not largest.bytes else largest.about
    total = kept + (0 if largest is None else largest.bytes)
    text = f"`{host.party}` needs {total} bytes, and `{host.name}` has {host.memory}"
    need(total <= host.memory, "certificate.target", text)
    return {("target.capacity", about, "step" if about < 0 else "")}


def _own_memory(view: Judged) -> n.Number:
    component = view.said.component
    if component is None or component.memory is None:
        return 0
    found = t.value(component.memory, view.names)
    if found is None or found.range is None:
        raise ReplayError("certificate.target", f"the memory that `{component.name}` needs is not known")
    return found.range[1]


def _reads(sizes: Sizes, party: str, call: Call, place: int) -> bool:
    """Whether the party reads or sends the operand in the text that it runs; where it runs none, yes."""
    walked = sizes.walked
    if not walked.texts:
        protocols = walked.lock.documents.protocols
        programs = walked.lock.documents.programs
        uses = [use for program in programs for use in program.runs]
        walked.texts |= {use.step: use.protocol for use in uses if protocols[use.protocol].component}
    text = walked.texts.get(walked.number[id(call.step)])
    if text is None or call.step.use is None:
        return True
    if (text, place) not in sizes.roles:
        sizes.roles[text, place] = _readers(walked.lock.documents.protocols[text].protocol, place)
    bound = dict(call.step.use.roles)
    return any(bound.get(role, role) == party for role in sizes.roles[text, place])


def _readers(text: p.Protocol, place: int) -> frozenset[str]:
    """The roles that read or send an operand, whole or in pieces."""
    name, found = text.inputs[place].name, set[str]()
    for line in text.body:
        if isinstance(line, p.Assign) and any(one.partition(".")[0] == name for one in names_of(line.value)):
            found.add(line.party)
        if isinstance(line, p.Send) and line.name.partition(".")[0] == name:
            found.add(line.sender)
    return frozenset(found & {one.name for one in text.parties})


# ---- features, kernels, rings ----
def _features(
    walked: Walked, experiment: Experiment, host: Host, own: list[Call], backend: list[Served]
) -> set[Found]:
    """What components ask of their hosts is there, and every kernel has a variant for it. Those of the backend serve the
    products under a protocol; the other components of the pipeline ask at the machines of their roles."""
    found: set[Found] = set()
    first = next((call.about for call in own if call.component is not None and call.in_text), -1)
    for call in own:
        if call.component is not None:
            kernels = [*call.kernels, *(backend if call.in_text and call.about == first else ())]
            _has(host, call.component.host_features, kernels)
            found |= (
                {("target.feature", call.about, "")} if call.component.host_features or kernels else set()
            )
    for _, use in experiment.slots:
        component = component_at(walked, use.key)
        if component.kind != "method" and component.host_features and host.party in dict(use.roles).values():
            _has(host, component.host_features, [])
            found.add(("target.feature", first, component.name if first < 0 else ""))
    return found


def _defects(host: Host, own: list[Call], backend: list[Served]) -> set[Found]:
    """No known defect applies on the machine; equal steps are asked once."""
    alike: dict[int, bool] = {}
    for call in own:
        if call.component is not None and id(call.view) not in alike:
            served = [*call.kernels, *(backend if call.in_text else ())]
            alike[id(call.view)] = meets_defects(host.has, call.view, served)
    return {("target.defect", call.about, "") for call in own if alike.get(id(call.view))}


def _has(host: Host, features: tuple[str, ...], kernels: list[Served]) -> None:
    missing = {*features} - host.has
    missing |= {one.kernel.name for one in kernels if not {*one.kernel.variants} & {*host.has, EVERYWHERE}}
    text = f"`{host.name}` of `{host.party}` is not shown to have what `{min(missing, default='')}` needs"
    need(not missing, "certificate.target", text)


def _rings(walked: Walked, experiment: Experiment, host: Host, own: list[Call]) -> set[Found]:
    """One ring in the steps, at the machine's runtime, and in stocks that no protocol compares with its own bundles."""
    stocks = [n.number(stock.ring_bits) for stock in experiment.stocks if stock.ring_bits]
    found: dict[tuple[int, bool], Found] = {}
    for call in own:
        modulus = call.view.modulus
        apart = call.in_text and walked.lock.documents.policy is not None
        others = [*([] if host.ring_bits is None else [host.ring_bits]), *([] if apart else stocks)]
        if modulus is not None and others and (modulus, apart) not in found:
            same = all(bits == (modulus - 1).bit_length() for bits in others)
            text = f"plan, material and `{host.name}` are made for several rings"
            need(same, "certificate.target", text)
            found[modulus, apart] = "target.ring", call.about, ""
    return {*found.values()}
