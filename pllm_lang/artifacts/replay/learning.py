"""Replay: who is shown a value on the way may know it or learn it; uses of protocols are wired to values that lie right."""

from __future__ import annotations

import msgspec

from pllm_lang.artifacts.lock_data import Lock, Use
from pllm_lang.artifacts.replay.holdings import (
    RESERVED,
    At,
    Held,
    everything_at_one,
    has_whole,
    held_in,
    holding_of,
    lies,
    name_of,
    placed_at,
    unchanged,
)
from pllm_lang.artifacts.replay.local import computes, residue
from pllm_lang.artifacts.replay.refusal import ReplayError, told
from pllm_lang.artifacts.replay.run import LEVEL
from pllm_lang.artifacts.replay.walked import component_of, number_of
from pllm_lang.catalog.records import Operator, Policy
from pllm_lang.ir import protocol as p
from pllm_lang.ir.plan import Output, Placement, Step


def take(at: At, step: int) -> Use:
    if at.next >= len(at.program.uses) or at.program.uses[at.next].step != step:
        raise at.refuse("the plan has a step here that the program does not run")
    if at.program.uses[at.next].times != at.times:
        raise at.refuse(f"a step runs {at.times} times")
    at.next += 1
    return at.program.uses[at.next - 1]


def is_main(at: At, number: int) -> bool:
    """The last use of a step in a row is the step; the others show or embed what it takes."""
    uses = at.program.uses
    return uses[at.next].step == number and not _shows(at, uses[at.next])


def _shows(at: At, use: Use) -> bool:
    text = at.walked.lock.documents.protocols[use.protocol]
    return text.component == "" and text.protocol.name == "disclose" and use.inputs[0][0] == "x"


def take_aside(at: At) -> None:
    """A value embedded where it lies, as a residue of another ring, or shown to parties that may learn it."""
    use = at.program.uses[at.next]
    text = at.walked.lock.documents.protocols[use.protocol]
    wired = wires_of(at, use, text.protocol)
    if text.component or len(wired) != 1 or len(use.outputs) != 1 or use.outputs[0][1] in at.names:
        raise at.refuse("it does something that no step of the plan does")
    before, output = at.names[wired[0]], text.protocol.outputs[0]
    shape = output.type.shape
    if _shows(at, use):
        _shown(at, use, text.protocol, before)
        return
    if (
        use.step != -1
        or use.times != at.times
        or not computes(text.protocol, residue(output.type.number))
        or shape != before.type.shape
        or isinstance(before.holding, p.Shared)
    ):
        raise at.refuse("it changes a value that no step of the plan changes")
    at.next += 1
    name = use.outputs[0][1]
    at.root[name] = at.root.get(before.name, before.name)
    if before.name in at.shown:
        at.shown[name] = at.shown.pop(before.name)
    at.names[name] = Held(name, output.type, placed_at(output.holding, dict(use.roles)), before.known)


def _shown(at: At, use: Use, text: p.Protocol, before: Held) -> None:
    """A value sent as it is to parties that take part: whether they may learn it is asked of the step that reveals it."""
    plain = all(isinstance(line, p.Send | p.Assign) for line in text.body)
    holding = placed_at(text.outputs[0].holding, dict(use.roles))
    if (
        not plain
        or not unchanged(text)
        or use.times != at.times
        or not isinstance(before.holding, p.Clear)
        or not isinstance(holding, p.Clear)
    ):
        raise at.refuse("what is shown is no value in the clear")
    at.next += 1
    name = use.outputs[0][1]
    at.root[name] = at.root.get(before.name, before.name)
    others = frozenset(holding.parties) - before.known
    at.shown[name] = others
    at.names[name] = Held(name, text.outputs[0].type, holding, before.known | others)


def asks_revealed(at: At, step: Step, operator: Operator, wired: list[str], use: Use) -> None:
    """A component's record says which operands it reveals; who is shown one knows it, or may learn it by its name or, where it
    chooses rows, as `indices`."""
    component = component_of(at.walked, step)
    operands = {spec.name for spec in operator.operands}
    roles = [party for _, party in use.roles if not party.startswith("ideal ")]
    for word in () if component is None else set(component.reveals) - operands:
        if any(word not in at.policy.learns.get(party, ()) for party in roles):
            raise ReplayError(
                "certificate.program", f"`{word}` is revealed, and the policy does not let it be learnt"
            )
    if not at.shown.keys() <= set(wired):
        raise at.refuse("a value is shown that no step takes")
    for spec, operand, name in zip(operator.operands, step.operands, wired, strict=True):
        others = at.shown.pop(name, None)
        if not others:
            continue
        words = {name_of(at, number_of(operand))} - RESERVED
        words |= {spec.name} & {"indices"}
        said = component is not None and spec.name in component.reveals
        if not said or any(not words & set(at.policy.learns.get(party, ())) for party in others):
            raise ReplayError(
                "certificate.program", f"`{name}` is shown, and the policy does not let it be learnt"
            )


def wires_of(at: At, use: Use, text: p.Protocol) -> list[str]:
    """The values that a use takes, in the order of its protocol, each lying as it is taken to lie."""
    roles, given = dict(use.roles), dict(use.inputs)
    if len(roles) < len(use.roles) or set(roles) != {party.name for party in text.parties}:
        raise at.refuse("a role is played by nobody, or twice")
    ideal = {f"ideal {party.name}" for party in text.parties if party.ideal is not None}
    if not set(roles.values()) <= ideal | set(at.policy.parties):
        raise at.refuse("somebody takes part who is no party of the policy")
    for thing in (*text.inputs, *text.outputs):
        if everything_at_one(placed_at(thing.holding, roles)):
            raise at.refuse(f"`{thing.name}` of `{text.name}` is shared, and a party has every piece")
    out: list[str] = []
    for one in text.inputs:
        name = given.get(one.name, "")
        if name not in at.names:
            raise at.refuse(f"`{name}` is not there")
        held = at.names[name]
        lasts = LEVEL[at.lives.get(name, "execution")] <= LEVEL[one.lifetime]
        if held.type != one.type or not lasts or not lies(placed_at(one.holding, roles), held.holding):
            raise at.refuse(f"`{name}` does not lie as `{text.name}` takes it to lie")
        if isinstance(held.holding, p.Public) and name not in at.root:
            at.root[name] = _public_root(at, name)
        out.append(name)
    return out


def _public_root(at: At, name: str) -> str:
    """A public value in another ring is another name of it, `w'2` of `w`, where only one public value is called so."""
    called = at.public.get(name.split("'", maxsplit=1)[0], [])
    if name in called:
        return name
    if len(called) != 1:
        raise at.refuse(f"it is not clear which value `{name}` is")
    return called[0]


def arrives(at: At, value: int, held: Held) -> Held:
    """In the clear at parties: each may know it, or the policy lets it learn it, by its name or as a result."""
    for party in held.holding.parties if isinstance(held.holding, p.Clear) else ():
        if party in held.known or party not in at.policy.parties:
            continue
        words, plain = at.policy.learns.get(party, ()), name_of(at, value)
        result = any(one.value == value and party in one.to for one in at.stage.outputs)
        if not ((plain in words and plain not in RESERVED) or ("results" in words and result)):
            raise ReplayError(
                "certificate.program", f"`{party}` gets `{plain}`, and the policy does not let it learn that"
            )
        held = msgspec.structs.replace(held, known=held.known | {party})
    return held


def put_out(at: At, output: Output) -> None:
    held = held_in(at, output.value)
    for party in output.to:
        if not has_whole(held, party):
            raise at.refuse(f"`{held.name}` goes to `{party}`, which does not have it")
        if isinstance(held.holding, p.Clear):
            held = at.values[output.value] = at.names[held.name] = arrives(at, output.value, held)
    if output.holding and held.holding != holding_of(at, Placement("shared", output.holders, output.holding)):
        raise at.refuse(f"`{held.name}` is put out otherwise than it lies")


def only_allowed(at: At) -> None:
    """What the program says that parties may get in the clear is no more than was looked at above."""
    for output in at.program.outputs:
        held = at.names.get(output.name)
        to = output.holding.parties if isinstance(output.holding, p.Clear) else ()
        shared = isinstance(output.holding, p.Shared) and held is not None and output.holding == held.holding
        if held is None or output.meaning is not None or not (shared or (to and set(to) <= held.known)):
            raise at.refuse(f"`{output.name}` may not be learnt by {told(to)}")


def pattern_learnt(lock: Lock, policy: Policy) -> None:
    """Who takes part learns sizes, and which stages run and when they stop, unless all inputs are its own."""
    plan = lock.documents.ir
    owners = {one.owner for one in (*plan.inputs, *(i for stage in plan.stages for i in stage.inputs))} - {""}
    asked = ["lengths", *(("stages", "stop") if len(plan.stages) > 1 else ())]
    for party in policy.parties:
        takes_part = any(
            lock.documents.protocols[use.protocol].component
            and party in {q for _, q in use.roles}
            and len(use.roles) > 1
            for program in lock.documents.programs
            for use in program.uses
        )
        if (
            takes_part
            and owners != {party}
            and any(word not in policy.learns.get(party, ()) for word in asked)
        ):
            raise ReplayError(
                "certificate.program",
                f"`{party}` takes part and may not learn how long the values are, or what runs",
            )
