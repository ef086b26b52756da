"""Replay: the uses of protocols in a stage: who plays which role, in which order they run, and where the values they take lie."""

from __future__ import annotations

from pllm_lang.artifacts.lock_data import Program, Use
from pllm_lang.artifacts.replay.holdings import At, Held, Seated, everything_at_one, lies, placed_at
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.artifacts.replay.run import LEVEL
from pllm_lang.artifacts.replay.walked import Walked
from pllm_lang.catalog.records import Policy
from pllm_lang.ir import protocol as p

IDEAL = "ideal "
"""Begins the names of primitives that take part in a stage."""


def seats_of(walked: Walked, policy: Policy, program: Program) -> list[Seated | None]:
    """For each use its protocol, None where it has none; uses of one in the same roles share it."""
    found: dict[tuple[int, tuple[tuple[str, str], ...]], Seated] = {}
    out: list[Seated | None] = []
    for use in program.uses:
        if type(use) is not Use:
            out.append(None)
            continue
        key = use.protocol, use.roles
        seat = found.get(key)
        if seat is None:
            seat = found[key] = _seated(walked, policy, program, use)
        out.append(seat)
    return out


def _seated(walked: Walked, policy: Policy, program: Program, use: Use) -> Seated:
    protocols = walked.lock.documents.protocols

    def refuse(message: str) -> ReplayError:
        return ReplayError("certificate.program", message, f"stage `{program.stage}`")

    if not 0 <= use.protocol < len(protocols):
        raise refuse("it runs a protocol that the lock does not hold")
    component, text, roles = (
        protocols[use.protocol].component,
        protocols[use.protocol].protocol,
        dict(use.roles),
    )
    if len(roles) < len(use.roles) or set(roles) != {party.name for party in text.parties}:
        raise refuse(f"a role of `{text.name}` is played by nobody, or twice")
    ideal = {IDEAL + party.name for party in text.parties if party.ideal is not None}
    if not set(roles.values()) <= ideal | set(policy.parties):
        raise refuse("somebody takes part who is no party of the policy")
    takes = tuple((one, placed_at(one.holding, roles)) for one in text.inputs)
    gives = tuple((one, placed_at(one.holding, roles)) for one in text.outputs)
    for thing, holding in (*takes, *gives):
        if everything_at_one(holding):
            raise refuse(f"`{thing.name}` of `{text.name}` is shared, and a party has every piece")
    parties = frozenset(party for party in roles.values() if not party.startswith(IDEAL))
    return Seated(use.protocol, component, text, roles, parties, takes, gives)


def take(at: At, step: int) -> tuple[Use, Seated]:
    """The next use, which is one of this step (-1: of none), as often as the plan runs it here."""
    use, seat = (at.program.uses[at.next], at.seats[at.next]) if at.next < len(at.seats) else (None, None)
    if not isinstance(use, Use) or seat is None or use.step != step:
        raise at.refuse("the plan has a step here that the program does not run")
    if use.times != at.times:
        raise at.refuse(f"a step runs {at.times} times")
    if len(use.outputs) != len(seat.gives):
        raise at.refuse("a use has other results than its protocol")
    at.next += 1
    return use, seat


def wires_of(at: At, use: Use, seat: Seated) -> list[Held]:
    """The values that a use takes, in the order of its protocol, each lying as it is taken to lie."""
    given, out = dict(use.inputs), list[Held]()
    for one, wanted in seat.takes:
        held = at.names.get(given.get(one.name, ""))
        if held is None:
            raise at.refuse(f"`{given.get(one.name, '')}` is not there")
        there = lies(wanted, held.holding) or _everybody_has(wanted, held.holding, seat)
        if held.type != one.type or not there:
            raise at.refuse(f"`{held.name}` does not lie as `{seat.text.name}` takes it to lie")
        if LEVEL[held.lives] > LEVEL[one.lifetime]:
            at.younger.append(held.name)
        if held.name not in at.root and isinstance(held.holding, p.Public):
            at.root[held.name] = _public_root(at, held)
        out.append(held)
    return out


def _everybody_has(wanted: p.Holding, have: p.Holding, seat: Seated) -> bool:
    """Public to a text is what all who take part in it have."""
    if not (isinstance(wanted, p.Public) and isinstance(have, p.Clear)):
        return False
    return {*seat.roles.values()} <= {*have.parties}


def _public_root(at: At, held: Held) -> str:
    """A public value in another ring is another name of it, `w'2` of `w`, where only one public value is called so, and lives as
    long."""
    called = at.public.get(held.name.split("'", maxsplit=1)[0], [])
    if held.name in called:
        return held.name
    if len(called) != 1:
        raise at.refuse(f"it is not clear which value `{held.name}` is")
    if held.lives != at.names[called[0]].lives:
        raise at.refuse(f"`{held.name}` does not live as long as `{called[0]}`")
    return called[0]
