"""The certificate of an accepted plan: every obligation with the evidence that somebody else can follow.

In: a checked plan, its proof under a policy. Out: a `Certificate` and what its parties run. Equal turns of a repeat are
written once. Whoever reads it (`replay/`) shares nothing with the verifier but these data.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec

from pllm_lang.artifacts.lock_data import (
    CERTIFICATE,
    Alone,
    AnyUse,
    Certificate,
    Duty,
    Embed,
    Met,
    Move,
    Program,
    Row,
    Seen,
    Text,
    Use,
)
from pllm_lang.catalog.facts import Exact, Facts
from pllm_lang.catalog.records import Policy
from pllm_lang.exact.number import text
from pllm_lang.ir import protocol as p
from pllm_lang.ir.plan import Plan
from pllm_lang.ir.walk import steps
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.flow import Flow
from pllm_lang.verify.narrations.composing import Composed
from pllm_lang.verify.narrations.plan import Proof, coalitions
from pllm_lang.verify.narrations.under_way import Made
from pllm_lang.verify.narrations.views import as_one_text, view_of
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.protocol.compose import BY_PARTS, Instance
from pllm_lang.verify.protocol.prove import prove_protocol
from pllm_lang.verify.protocol.report import View


class Proved(msgspec.Struct, frozen=True):
    """A plan's proof in the form of a lock."""

    certificate: Certificate
    protocols: tuple[Text, ...]
    programs: tuple[Program, ...]


def certify(
    plan: Plan,
    obligations: Sequence[Obligation],
    flow: Flow,
    proof: Proof | None,
    policy: Policy | None,
    about: dict[str, str],
) -> Proved:
    """`about` are the digests that bind the certificate to this plan."""
    every = list(steps(plan))
    place = {id(step): number for number, step in enumerate(every)}
    stages = () if proof is None else proof.composed
    texts = _texts(stages)
    number = {one.protocol: i for i, one in enumerate(texts)}
    first = {step.results[0]: i for i, step in enumerate(every) if step.results}
    programs = tuple(_program(stage, number, first) for stage in stages)
    seen, parts = _views(stages, [] if policy is None else coalitions(policy), number)
    met = dict.fromkeys(Met(place[id(m.step)], tuple(map(row, m.judged.results))) for m in flow.met)
    assumed = sorted({told for o in obligations for told in o.assumed})
    certificate = Certificate(
        CERTIFICATE, about, tuple(met), tuple(_duties(obligations)), tuple(seen), tuple(parts), tuple(assumed)
    )
    return Proved(certificate, texts, programs)


def row(facts: Facts) -> Row:
    """What is stated of a result. Norms of a value that is known entry by entry are left out: no rule gives them."""
    found, whole = facts.range, facts.value is None

    def told(value: Exact | None, stated: bool = True) -> str:
        return "" if value is None or not stated else text(value)

    return Row(
        told(None if found is None else found.low),
        told(None if found is None else found.high),
        told(facts.row_norm2_sq, whole),
        told(facts.row_norm1, whole),
        told(facts.col_norm2_sq, whole),
        told(facts.col_norm1, whole),
        told(facts.unit),
        facts.rule,
    )


def _duties(obligations: Sequence[Obligation]) -> Iterator[Duty]:
    """Each proved obligation once, in a fixed order, and those that differ in what they are about written as one. A budget of
    failures is about all of the plan, whichever step fails most."""
    found: dict[tuple[str, str, tuple[str, ...]], set[int]] = defaultdict(set)
    for o in obligations:
        if o.verdict is Verdict.PROVED:
            about = -1 if o.code == "bounds.failure" else o.subject
            found[o.code, o.part if o.subject < 0 else "", tuple(sorted(o.assumed))].add(about)
    for code, part, assumed in sorted(found):
        yield Duty(code, tuple(sorted(found[code, part, assumed])), part, assumed)


# ---- what runs ----
def _texts(stages: Sequence[Composed]) -> tuple[Text, ...]:
    found: dict[p.Protocol, Text] = {}
    for stage in stages:
        for instance, made in zip(stage.whole.instances, stage.made, strict=True):
            if not _by_itself(instance, made):
                found.setdefault(instance.protocol, Text(made.key, instance.protocol))
    return tuple(found.values())


def _program(stage: Composed, number: dict[p.Protocol, int], first: dict[int, int]) -> Program:
    whole = stage.whole
    uses = tuple(
        _use(one, made, number, first) for one, made in zip(whole.instances, stage.made, strict=True)
    )
    folded = bool(stage.folds) or any(use.times > 1 for use in uses)
    return Program(stage.stage, whole.parties, whole.inputs, whole.outputs, uses, folded)


def _by_itself(instance: Instance, made: Made) -> bool:
    """Whether parties call an operator on what they have, or take it as other numbers."""
    lines = instance.protocol.body
    calls = [line for line in lines if isinstance(line, p.Assign) and isinstance(line.value, p.Call)]
    return not made.key and len(calls) == len(lines)


def _use(one: Instance, made: Made, number: dict[p.Protocol, int], first: dict[int, int]) -> AnyUse:
    step = first.get(made.subject, -1)
    if not _by_itself(one, made):
        return Use(number[one.protocol], step, one.roles, one.inputs, one.outputs, made.times)
    parties = tuple(party for _, party in one.roles)
    inputs, results = (tuple(name for _, name in pairs) for pairs in (one.inputs, one.outputs))
    if step >= 0:
        return Alone(parties, step, inputs, results, made.times)
    return Embed(parties, inputs[0], results[0], one.protocol.outputs[0].type.number, made.times)


# ---- views ----
def _views(
    stages: Sequence[Composed], every: Sequence[frozenset[str]], number: dict[p.Protocol, int]
) -> tuple[list[Seen], list[tuple[int, tuple[str, ...]]]]:
    seen: dict[tuple[bool, int, tuple[str, ...]], Seen] = {}
    parts: list[tuple[int, tuple[str, ...]]] = []
    for coalition in every:
        members = tuple(sorted(coalition))
        for place, stage in enumerate(stages):
            view = view_of(stage, coalition)
            own = _by_parts(stage, coalition, number) if view.reason == BY_PARTS else {}
            if any(one.verdict is not Verdict.PROVED for one in own.values()):
                view = as_one_text(stage, coalition) or view  # what is fresh is followed in one text only
            if view.reason == BY_PARTS:
                parts.append((place, members))
                seen |= {(False, *key): Seen(False, *key, _moves(one)) for key, one in own.items()}
            else:
                seen[True, place, members] = Seen(True, place, members, _moves(view))
    return [seen[key] for key in sorted(seen)], parts


def _by_parts(
    stage: Composed, coalition: frozenset[str], number: dict[p.Protocol, int]
) -> dict[tuple[int, tuple[str, ...]], View]:
    """By protocol and roles, what the coalition sees of each by itself, whatever is fresh."""
    done: dict[tuple[int, tuple[str, ...]], View] = {}
    for instance, made in zip(stage.whole.instances, stage.made, strict=True):
        if _by_itself(instance, made):
            continue
        roles = tuple(sorted(role for role, party in instance.roles if party in coalition))
        key = number[instance.protocol], roles
        if roles and key not in done:
            done[key] = prove_protocol(_stale(instance.protocol), (roles,)).views[0]
    return done


def _stale(protocol: p.Protocol) -> p.Protocol:
    """Without `needs fresh`: what the pieces hide is not relied on."""
    if not any(given.fresh for given in protocol.inputs):
        return protocol
    inputs = tuple(msgspec.structs.replace(given, fresh=False) for given in protocol.inputs)
    return msgspec.structs.replace(protocol, inputs=inputs)


def _moves(view: View) -> tuple[Move, ...]:
    return tuple(
        Move(s.term, s.draw, str(s.coefficient), str(s.divided), str(s.modulus), s.distance)
        for s in view.steps
    )
