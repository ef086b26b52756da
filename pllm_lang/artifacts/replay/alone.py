"""Replay: what parties do without a text: a step that each does by itself, and a value taken as numbers of another kind.

What such a step computes is its operator, by definition, so all that is asked is who does it: the party that the step names, or,
where it only moves entries, parties of the policy that have every operand in the clear. It sends nothing and draws nothing. A
result lies in the clear at those that computed it, who could compute it of what they have anyhow.
"""

from __future__ import annotations

from pllm_lang.artifacts.lock_data import Alone, Embed
from pllm_lang.artifacts.replay.holdings import At, Held, held_in, in_the_clear, who_knows
from pllm_lang.artifacts.replay.learning import asks_revealed
from pllm_lang.artifacts.replay.numbers import MAX_BITS
from pllm_lang.artifacts.replay.walked import CLEAR, Said, component_key
from pllm_lang.ir import protocol as p
from pllm_lang.ir.plan import Step


def alone(at: At, step: Step, number: int, said: Said, use: Alone) -> None:
    """A use that is this step of the plan, as often as the plan runs it here, wired to the values that the step reads."""
    if use.step != number or use.times != at.times:
        raise at.refuse("the plan has a step here that the program does not run, or not as often")
    at.next += 1
    key = number, use.parties
    types = at.alone.get(key)
    if types is None:
        types = at.alone[key] = _does(at, step, said, use.parties)
    operands, there = [held_in(at, operand) for operand in step.operands], p.Clear(use.parties)
    if use.inputs != tuple([held.name for held in operands]) or len(use.results) != len(types):
        raise at.refuse("a use is not wired to what its step reads")
    for held in operands:
        if held.holding != there and not _have(use.parties, held.holding):
            raise at.refuse(f"a party computes with `{held.name}`, which it does not have")
    if at.shown or (said.component is not None and said.component.reveals):
        asks_revealed(at, step, said, operands, frozenset(use.parties))
    known = who_knows(at, operands)
    lives: p.Lifetime = "weights" if all(held.lives == "weights" for held in operands) else "execution"
    for value, name, type_ in zip(step.results, use.results, types, strict=True):
        if name in at.names:
            raise at.refuse(f"`{name}` is made twice")
        at.names[name] = at.values[value] = Held(name, type_, there, known, lives=lives)


def _does(at: At, step: Step, said: Said, parties: tuple[str, ...]) -> tuple[p.TensorType, ...]:
    """The types of the results, where these parties may do the step: its component is no protocol."""
    key = component_key(step)
    if key not in ("", CLEAR) or not (step.party or (not key and said.moves)):
        raise at.refuse("a step of several parties is done by one alone")
    if step.party and parties != (step.party,):
        raise at.refuse(f"a step runs elsewhere than at `{step.party}`")
    if not parties or list(parties) != sorted(set(parties) & set(at.policy.parties)):
        raise at.refuse("a step is done by no party, by one twice, or by one that the policy does not have")
    return tuple([in_the_clear(at, type_) for type_ in step.types])


def _have(parties: tuple[str, ...], holding: p.Holding) -> bool:
    """Whether each has the value in the clear."""
    if isinstance(holding, p.Clear):
        return set(parties) <= set(holding.parties)
    return isinstance(holding, p.Public)


def embed(at: At, use: Embed) -> None:
    """A value in the clear under a new name, where it lies: its numbers are read as others, which the text that takes them is
    asked about."""
    before, number = at.names.get(use.value), use.number
    if before is None or use.name in at.names or use.times != at.times:
        raise at.refuse(f"`{use.value}` is not there, `{use.name}` is made twice, or not as often as here")
    if not isinstance(before.holding, p.Clear) or list(use.parties) != sorted(before.holding.parties):
        raise at.refuse(f"`{use.value}` is taken as other numbers by those that do not have it")
    if number == before.type.number or (isinstance(number, p.Integer) and not 0 <= number.bits <= MAX_BITS):
        raise at.refuse(f"`{use.value}` is taken as numbers that it is of, or of more bits than are followed")
    at.next += 1
    if before.name in at.shown:
        at.shown[use.name] = at.shown.pop(before.name)
    at.root[use.name] = at.root.get(before.name, before.name)
    type_ = p.TensorType(number, before.type.shape)
    at.names[use.name] = Held(use.name, type_, p.Clear(use.parties), before.known, lives=before.lives)
