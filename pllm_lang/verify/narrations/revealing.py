"""What a component's record says it reveals: asked of the policy, and then shown to whoever takes part.

An operand that may be learnt is disclosed by a step of its own before the protocol, so that the protocol is proved
with an operand that its parties know.
"""

from __future__ import annotations

import msgspec

from pllm_lang.catalog.expr import Ref
from pllm_lang.catalog.records import Component, OperandSpec, Operator
from pllm_lang.ir import protocol as p
from pllm_lang.ir.plan import Step
from pllm_lang.ir.walk import family
from pllm_lang.verify.narrations.held import Held, disclosing_protocol
from pllm_lang.verify.narrations.under_way import IDEAL, RESERVED, Made, UnderWay, taking_part
from pllm_lang.verify.protocol.compose import Instance

INDICES = "indices"
"""An operand that a policy may let a party learn by this word, whatever the value is called."""


def revealing(
    stage: UnderWay,
    step: Step,
    component: Component,
    operator: Operator,
    protocol: p.Protocol,
    operands: list[Held],
    roles: dict[str, str],
) -> tuple[p.Protocol, list[Held]]:
    """Operands that the record says it reveals: shown beforehand to everybody who takes part, if they may learn them."""
    inputs, given = list(protocol.inputs), list(operands)
    parties = taking_part(roles)
    for name in component.reveals:
        position = next((i for i, spec in enumerate(operator.operands) if spec.name == name), None)
        if position is None:
            reveal_word(stage, step, component, name, parties)
            continue
        if not isinstance(inputs[position].holding, p.Clear):
            continue
        held = operands[position]
        reveal_operand(stage, step, component, operator, position, held, parties)
        if not isinstance(held.holding, p.Clear) or not parties - set(held.holding.parties):
            continue
        shown = _disclosed(stage, held, tuple(sorted(parties - set(held.holding.parties))), step.results[0])
        given[position] = shown
        everyone = p.Clear(tuple(role for role in roles if not roles[role].startswith(IDEAL)))
        inputs[position] = msgspec.structs.replace(inputs[position], holding=everyone)
    return msgspec.structs.replace(protocol, inputs=tuple(inputs)), given


def reveal_operand(
    stage: UnderWay,
    step: Step,
    component: Component,
    operator: Operator,
    position: int,
    held: Held,
    parties: set[str],
) -> None:
    spec, value = operator.operands[position], step.operands[position]
    word, plain = spec.name, stage.plain(family(value))
    said = word if _are_indices(spec) else plain
    who = parties or set(stage.policy.parties)
    for party in sorted(who):
        if isinstance(held.holding, p.Public) or party in held.known:
            continue
        if _told(spec, plain) & set(stage.policy.learns.get(party, ())):
            continue
        stage.gaps.refuse(
            "placement.reveals",
            step.results[0],
            f"`{component.name}` reveals `{word}` to `{party}` (here `{plain}`), and the policy does not let it learn that",
            f"choose a component that keeps `{word}` secret, or write `learns {party}: [{said}]` in the policy",
            "using",
            component.origin,
        )


def reveal_word(stage: UnderWay, step: Step, component: Component, word: str, parties: set[str]) -> None:
    """Something else than an operand: everybody who takes part has to be allowed to learn it, by that word."""
    for party in sorted(parties):
        if word not in stage.policy.learns.get(party, ()):
            stage.gaps.refuse(
                "placement.reveals",
                step.results[0],
                f"`{component.name}` reveals `{word}` to `{party}`, and the policy does not let it learn that",
                f"choose another component, or write `learns {party}: [{word}]` in the policy",
                "using",
                component.origin,
            )


def _told(spec: OperandSpec, plain: str) -> set[str]:
    """What a policy may say to let a party learn the operand: the value's name, or `indices` of whatever is indexed."""
    return ({plain} - RESERVED) | ({INDICES} if _are_indices(spec) else set[str]())


def _are_indices(spec: OperandSpec) -> bool:
    """Places in something, by name and format: an operand of numbers that is only called so is none."""
    return spec.name == INDICES and spec.format == Ref("index")


def _disclosed(stage: UnderWay, held: Held, others: tuple[str, ...], subject: int) -> Held:
    assert isinstance(held.holding, p.Clear)
    holder = held.holding.parties[0]
    protocol = disclosing_protocol(held.type, holder, others)
    name = stage.unique(held.name)
    roles = tuple((party, party) for party in (holder, *others))
    stage.add(Instance(protocol, roles, (("x", held.name),), (("y", name),)), Made(subject))
    for party in others:
        stage.outputs[name, party] = p.Output(name, held.type, p.Clear((party,)))
    return msgspec.structs.replace(
        held, name=name, holding=p.Clear((holder, *others)), known=held.known | set(others)
    )
