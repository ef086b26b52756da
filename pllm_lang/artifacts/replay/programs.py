"""Replay: what the parties run is the plan, and shows nobody more than the policy lets them learn.

In: a lock whose bounds were walked. Every step of the plan has its use of a protocol, in the order of the plan and wired to the
values that it reads; every value lies where it is taken to lie; every party that gets a value in the clear may know or learn
it; and for every coalition that the policy's adversaries may corrupt the view of every stage is proved: by its parts (the
composition rule of `docs/soundness.md`), or of the whole stage as one text.
"""

from __future__ import annotations

import msgspec

from pllm_lang.artifacts.lock_data import Alone, AnyUse, Embed, Use
from pllm_lang.artifacts.replay.alone import alone, embed
from pllm_lang.artifacts.replay.assuming import owed_of_programs
from pllm_lang.artifacts.replay.coalitions import coalitions, views_of_stages
from pllm_lang.artifacts.replay.holdings import (
    RESERVED,
    At,
    Held,
    Seated,
    documents_policy,
    everything_at_one,
    has_whole,
    held_in,
    holding_of,
    in_the_clear,
    index_in,
    is_boolean,
    name_of,
    unchanged,
    who_knows,
)
from pllm_lang.artifacts.replay.learning import (
    arrives,
    asks_revealed,
    only_allowed,
    pattern_learnt,
    put_out,
    show,
    shows,
)
from pllm_lang.artifacts.replay.local import moved_alike
from pllm_lang.artifacts.replay.meanings import by_component, in_range
from pllm_lang.artifacts.replay.outputs import proves_outputs
from pllm_lang.artifacts.replay.refusal import ReplayError, told
from pllm_lang.artifacts.replay.run import Run, run, sized
from pllm_lang.artifacts.replay.seats import seats_of, take, wires_of
from pllm_lang.artifacts.replay.walked import Said, Walked, component_key, counted_turn, number_of, value_of
from pllm_lang.ir import protocol as p
from pllm_lang.ir.plan import Input, Member, Node, Repeat, StateWrite, Step, TensorType


def follow(walked: Walked) -> tuple[set[tuple[str, int, str]], list[Run]]:
    """The obligations of placement, with what they rest on, and the run of each protocol."""
    lock = walked.lock
    policy, programs = lock.documents.policy, lock.documents.programs
    if policy is None:
        if (
            programs
            or lock.documents.protocols
            or lock.documents.certificate.seen
            or lock.documents.certificate.parts
        ):
            raise ReplayError("certificate.program", "a plan under no policy has no programs")
        if documents_policy(lock):
            raise ReplayError("certificate.program", "the plan is under a policy that the lock does not hold")
        return set(), []
    asked = documents_policy(lock)
    if asked != f"{policy.module}.{policy.name}":
        raise ReplayError(
            "certificate.program", f"the plan is under `{asked}`, and the lock holds another policy"
        )
    if [one.stage for one in programs] != [stage.name for stage in lock.documents.ir.stages]:
        raise ReplayError("certificate.program", "the programs are not those of the plan's stages")
    stages = [
        At(walked, policy, program, stage, seats_of(walked, policy, program))
        for program, stage in zip(programs, lock.documents.ir.stages, strict=True)
    ]
    for text in lock.documents.protocols:
        sized(text.protocol.name, text.protocol.inputs, text.protocol.outputs)
    for at in stages:
        _stage(at)
    runs = [_proved(text.protocol) for text in lock.documents.protocols]
    distances = views_of_stages(lock, policy, runs, stages)
    pattern_learnt(lock, policy)
    shared = {one for at in stages for one in at.assumed}
    return owed_of_programs(lock, policy, distances, shared), runs


def _proved(text: p.Protocol) -> Run:
    """Every party can compute what it is said to, and each result is what it means."""
    _shares_apart(text)
    out = run(text)
    proves_outputs(out)
    return out


def _shares_apart(text: p.Protocol) -> None:
    for thing in (*text.inputs, *text.outputs):
        if isinstance(thing.holding, p.Shared):
            labels = {piece.label for piece in thing.holding.pieces}
            if not labels or len(labels) < len(thing.holding.pieces) or everything_at_one(thing.holding):
                raise ReplayError(
                    "certificate.program",
                    f"`{thing.name}` is shared, and somebody has every piece",
                    text.name,
                )


# ---- the plan and its programs, step by step ----
def _stage(at: At) -> None:
    plan = at.walked.lock.documents.ir
    if [one.name for one in at.program.parties if one.ideal is None] != list(at.policy.parties):
        raise at.refuse("its parties are not those of the policy")
    sized(at.program.stage, at.program.inputs, at.program.outputs)
    for given in at.program.inputs:
        if given.name in at.names or given.fresh:
            raise at.refuse(f"`{given.name}` begins twice, or fresh")
        own = given.type, given.holding, frozenset[str](), given.range_bits, given.lifetime
        at.names[given.name] = Held(given.name, *own)
        family, _, index = given.name.removesuffix("]").rpartition("[")
        if given.name.endswith("]") and index.isdecimal() and index == str(int(index)):
            at.members.setdefault(family, set()).add(int(index))
    for constant in plan.constants:
        _begins(at, constant.value, None, p.Public(), frozenset(), "weights")
    for weight in plan.weights:
        holders = tuple(q for q in at.policy.parties if q not in weight.secret_from)
        holding: p.Holding = p.Clear(holders) if weight.secret_from else p.Public()
        _family(at, weight.value, weight.count, holding, frozenset(holders), "weights")
    for given in (*plan.inputs, *at.stage.inputs):
        _input(at, given)
    for state in plan.states:
        holding = holding_of(at, state.placement)
        holders = frozenset(holding.parties) if isinstance(holding, p.Clear) else frozenset[str]()
        _family(at, state.value, state.count, holding, holders)
        if isinstance(holding, p.Shared):
            raise ReplayError("certificate.beyond", "replay follows no states that are kept in pieces")
    _nodes(at, at.stage.body)
    if at.next != len(at.program.uses):
        raise at.refuse("it runs more than the plan has")
    for output in at.stage.outputs:
        put_out(at, output)
    only_allowed(at)


def _family(
    at: At, value: int, count: int, holding: p.Holding, known: frozenset[str], lives: p.Lifetime = "execution"
) -> None:
    """A value, or those members of a family that the stage reads; the family itself stands for its first."""
    if not count:
        _begins(at, value, None, holding, known, lives)
    plain = name_of(at, value)
    for member in sorted({0, *at.members.get(plain, ())}):
        if member < count:
            _begins(at, value, member, holding, known, lives)


def _begins(
    at: At,
    value: int,
    member: int | None,
    holding: p.Holding,
    known: frozenset[str],
    lives: p.Lifetime = "execution",
) -> None:
    """A value that the stage begins with, under the plan's name for it."""
    name = name_of(at, value) if member is None else f"{name_of(at, value)}[{member}]"
    if name in at.begun:
        raise at.refuse(f"two values of the plan begin as `{name}`")
    at.begun.add(name)
    found = at.names.get(name)
    alike = found is not None and found.holding == holding and found.lives == lives
    if found is None or not alike or not _is_of(at, found, at.walked.values[value].type):
        raise at.refuse(f"it does not begin with `{name}` as the plan does")
    held = msgspec.structs.replace(found, known=known)
    at.names[name] = held
    at.values[value if member is None else (value, member)] = held
    at.values.setdefault(value, held)
    start = at.walked.values[value]
    in_range(at, held.bits, start.type, start.fact.range, name)
    if isinstance(held.holding, p.Public):
        at.public.setdefault(name.split("'", maxsplit=1)[0], []).append(name)


def _is_of(at: At, held: Held, type_: TensorType) -> bool:
    """Whether it has a type that a value of the plan's type begins with: pieces may be of any ring."""
    if isinstance(held.holding, p.Shared):
        return held.type.shape == type_.shape
    return held.type == in_the_clear(at, type_)


def _input(at: At, given: Input) -> None:
    holding = holding_of(at, given.placement)
    owner = frozenset({given.owner} - {""})
    name = name_of(at, given.value)
    found = at.names.get(name)
    if isinstance(holding, p.Shared) and found is not None and found.holding == p.Clear((given.owner,)):
        _begins(at, given.value, None, found.holding, owner)
        use, seat = take(at, -1)
        wires_of(at, use, seat)
        if use.inputs != (("x", name),) or not unchanged(seat.text) or seat.gives[0][1] != holding:
            raise at.refuse(f"`{given.owner}` does not share `{name}` as the plan says")
        start = at.walked.values[given.value]
        in_range(at, seat.takes[0][0].range_bits, start.type, start.fact.range, name)
        at.assumed.add(f"`{given.owner}` shares `{name}` with fresh uniform pieces")
        made = Held(use.outputs[0][1], seat.gives[0][0].type, holding, owner)
        at.names[made.name] = at.values[given.value] = made
        return
    if isinstance(holding, p.Shared):
        at.assumed.add(f"the pieces that `{name}` begins in tell nothing by themselves")
        if owner:
            _is_kept_apart(at, name, owner, holding)
    known = owner or (frozenset(holding.parties) if isinstance(holding, p.Clear) else frozenset[str]())
    _begins(at, given.value, None, holding, known)
    at.values[given.value] = at.names[name] = arrives(at, given.value, at.values[given.value])


def _is_kept_apart(at: At, name: str, owner: frozenset[str], holding: p.Shared) -> None:
    """What lies in pieces before the first step is the owner's: no coalition begins with all of them, unless it may learn it."""
    for members in map(frozenset, coalitions(at.policy)):
        told_of = {word for party in members for word in at.policy.learns.get(party, ())} - RESERVED
        everything = all(members & {*piece.holders} for piece in holding.pieces)
        if everything and not owner & members and name not in told_of:
            text = f"{told(members)} begin with every piece of `{name}`, which is another's"
            raise ReplayError("certificate.view", text, at.stage.name)


def _nodes(at: At, body: tuple[Node, ...]) -> None:
    for node in body:
        if isinstance(node, Step):
            _step(at, node)
        elif isinstance(node, Repeat):
            _repeat(at, node)
        elif isinstance(node, StateWrite):
            _write(at, node)


def _write(at: At, write: StateWrite) -> None:
    """A state may be written in a stage that does not read it."""
    held, family = held_in(at, write.value), number_of(write.state)
    state = next((one for one in at.walked.lock.documents.ir.states if one.value == family), None)
    place = index_in(at, write.state.index) if isinstance(write.state, Member) else 0
    if state is None or not 0 <= place < max(state.count, 1):
        raise at.refuse("it writes to a state that is not there")
    kept = holding_of(at, state.placement)
    parties = kept.parties if isinstance(kept, p.Clear) else ()
    public = isinstance(kept, p.Public) and isinstance(held.holding, p.Public)
    if not public and not (parties and all(has_whole(held, party) for party in parties)):
        raise at.refuse("what is written to a state does not lie where it is kept")
    at.written.append((family, held.name))


def _repeat(at: At, node: Repeat) -> None:
    """Turn by turn; folded, the second stands for all later ones if it hands on what lies as what it began with."""
    for one in node.carried:
        at.values[one.inner] = held_in(at, one.initial)
    folded, outer = at.program.folded and node.high - node.low > 2, at.times
    for index in range(node.low, node.low + 2 if folded else node.high):
        counted_turn(at.walked)
        at.loops[node.depth] = index
        before = [held_in(at, one.inner) for one in node.carried]
        last = folded and index > node.low
        at.times = outer * (node.high - index) if last else outer
        _nodes(at, node.body)
        after = [held_in(at, one.next) for one in node.carried]
        at.values.update(zip((one.inner for one in node.carried), after, strict=True))
        if last:
            at.folds += [(x.name, y.name) for x, y in zip(before, after, strict=True)]
            if any(_state(x) != _state(y) for x, y in zip(before, after, strict=True)):
                raise at.refuse("later turns of a repeat do not begin like the one that stands for them")
    at.times = outer
    for one in node.carried:
        at.values[one.final] = at.values[one.inner]


def _state(held: Held) -> tuple[object, ...]:
    """All that a later use may ask of a value, whatever it is called."""
    return held.type, held.holding, held.known, held.lives, held.frac


def _step(at: At, step: Step) -> None:
    """The step's use, after those that show or embed what it takes. That a protocol is the step's is asked once of the two: it is
    nothing that another turn changes (`reach` and `errors` are of all turns)."""
    number, said = at.walked.number[id(step)], at.walked.said[step.operator, component_key(step)]
    use = _after_others(at, number)
    if isinstance(use, Alone):
        alone(at, step, number, said, use)
        return
    use, seat = take(at, number)
    operands, wired = list[Held](), wires_of(at, use, seat)
    for held, operand in zip(wired, step.operands, strict=True):
        operands.append(held_in(at, operand))
        if at.root.get(held.name, held.name) != operands[-1].name:
            raise at.refuse("a use is not wired to what its step reads")
        if (
            held.bits and held.name in at.root and at.root[held.name] != held.name
        ):  # else asked where it began
            start = value_of(at.walked, operand)
            in_range(at, held.bits, start.type, start.fact.range, held.name)
    own = said.component is not None and said.component.protocol is not None and step.use is not None
    key = number, id(seat), tuple([held.frac for held in operands])
    if key not in at.done:
        at.done[key] = _is_that(at, step, said, seat, own, operands)
    moves, bits = at.done[key]
    if moves and (
        len({held.holding for held in operands}) != 1 or not isinstance(operands[0].holding, p.Shared)
    ):
        raise at.refuse("a step on shares is more than its move of entries")
    asks_revealed(at, step, said, wired, seat.parties)
    known, names = who_knows(at, operands), dict(use.outputs)
    if len(names) != len(step.results):
        raise at.refuse("a use has other results than its step")
    for result, (output, holding), frac in zip(step.results, seat.gives, bits, strict=True):
        there = p.Clear(tuple(sorted(seat.parties))) if isinstance(holding, p.Public) else holding
        made = Held(names[output.name], output.type, there, known, frac=frac)
        if made.name in at.names:
            raise at.refuse(f"`{made.name}` is made twice")
        at.names[made.name] = at.values[result] = arrives(at, result, made) if own else made


def _after_others(at: At, number: int) -> AnyUse | None:
    """The next use, after those that show or embed what it takes."""
    while at.next < len(at.program.uses):
        use = at.program.uses[at.next]
        if isinstance(use, Alone) or (isinstance(use, Use) and use.step == number and not shows(at, use)):
            return use
        if isinstance(use, Embed):
            embed(at, use)
        else:
            show(at, use)
    return None


def _is_that(
    at: At, step: Step, said: Said, seat: Seated, own: bool, operands: list[Held]
) -> tuple[bool, list[int | None]]:
    """Whether it moves entries of pieces, and the fraction bits of the residues of each result; ReplayError where the protocol
    is not that of the step."""
    if seat.component != (step.use.key if own and step.use is not None else ""):
        raise at.refuse("a use is of another component than its step")
    if len(seat.gives) != len(step.results):
        raise at.refuse("a use has other results than its step")
    for (output, holding), type_ in zip(seat.gives, step.types, strict=True):
        if (output.type.shape[:-1] if is_boolean(holding) else output.type.shape) != type_.shape:
            raise at.refuse("a result has another shape than the plan says")
    if not own:
        moved_alike(at, step, said.operator, seat)
        return True, [operands[0].frac if operands else None for _ in step.results]
    return False, by_component(at, step, said, seat, operands)
