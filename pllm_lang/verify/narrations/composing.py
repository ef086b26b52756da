"""A plan's stages as compositions of protocols: what views, cost and roles of a plan are read from.

In: a plan under a policy, with the library. Out: a `Composed` for each stage, and the gaps: whatever has no meaning to
the prover (a component without a protocol, a party that computes with what it does not hold, ...). Repeats are
unrolled, or folded: then the second turn stands for all later ones, which is a proof only where every turn begins alike
(`Composed.folds`). A state is read as an input that lies where the state is kept; what is written has to lie there as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import assert_never

import msgspec

from pllm_lang.catalog.records import Policy
from pllm_lang.ir import protocol as p
from pllm_lang.ir.lower.protocol.holdings import shared
from pllm_lang.ir.lower.protocol.setting import MalformedError
from pllm_lang.ir.plan import (
    UNKNOWN,
    Input,
    Node,
    Output,
    Placement,
    Repeat,
    Requirement,
    State,
    StateWrite,
    Step,
    TensorType,
    Weight,
)
from pllm_lang.ir.walk import family
from pllm_lang.verify.flow import Flow
from pllm_lang.verify.narrations.conversions import same_holding
from pllm_lang.verify.narrations.gaps import Gaps
from pllm_lang.verify.narrations.held import Held, in_clear, sharing_protocol, told_holding
from pllm_lang.verify.narrations.steps import take_step
from pllm_lang.verify.narrations.under_way import Made, UnderWay
from pllm_lang.verify.narrations.using import Lowerer
from pllm_lang.verify.protocol.compose import Composition, Instance
from pllm_lang.verify.view import PlanView


class Composed(msgspec.Struct, frozen=True):
    """`made` belongs to `whole.instances`, one by one; `held` are the plan's values at the end, by number.

    `shared_state` is a state that lies in pieces, -1 where there is none; `incomplete` says that steps are missing.
    `folds` pairs the values that go into a turn which stands for later ones with those that it hands on; () where every
    turn is there. `again` are values that turns which are not there read as well. `unlike` says that turns were folded
    that do not begin alike: then the composition proves nothing. `kept` are the states by the names of their members,
    `written` the states that values in the clear go into, with the names of these.
    """

    stage: str
    whole: Composition
    made: tuple[Made, ...]
    held: dict[int, Held]
    assumed: tuple[str, ...]
    shared_state: int = -1
    incomplete: bool = False
    folds: tuple[tuple[str, str], ...] = ()
    unlike: bool = False
    again: tuple[str, ...] = ()
    kept: tuple[tuple[str, int], ...] = ()
    written: tuple[tuple[int, str], ...] = ()


def compose(
    view: PlanView, policy: Policy, flow: Flow, gaps: Gaps, *, folding: bool = False
) -> Iterator[Composed]:
    lowerer = Lowerer(view.library, view.plan.formats)
    for stage in view.plan.stages:
        under_way = UnderWay(view, policy, flow, stage, lowerer, gaps, folding)
        _begin(under_way)
        _nodes(under_way, stage.body)
        for output in stage.outputs:
            _output(under_way, output)
        whole = Composition(
            stage.name or "plan",
            tuple(under_way.parties.values()),
            tuple(under_way.inputs.values()),
            tuple(under_way.outputs.values()),
            tuple(under_way.instances),
        )
        held = {value: found for value, found in under_way.values.items() if isinstance(value, int)}
        yield Composed(
            stage.name,
            whole,
            tuple(under_way.made),
            held,
            tuple(under_way.assumed),
            under_way.shared_state,
            under_way.incomplete,
            tuple(under_way.folds),
            under_way.unlike,
            tuple(sorted(under_way.again)),
            tuple(under_way.kept),
            tuple(under_way.written),
        )


# ---- what a stage begins with ----
def _begin(stage: UnderWay) -> None:
    plan = stage.view.plan
    for constant in plan.constants:
        stage.types[constant.value] = constant.type
        name = stage.own_name(constant.value)
        stage.values[constant.value] = stage.give(
            Held(name, stage.number(constant.type), p.Public()), "weights", constant.value
        )
    for weight in plan.weights:
        _weight(stage, weight)
    for given in (*plan.inputs, *stage.stage.inputs):
        _input(stage, given)
    for state in plan.states:
        _state(stage, state)


def _weight(stage: UnderWay, weight: Weight) -> None:
    stage.types[weight.value] = weight.type
    holders = tuple(q for q in stage.policy.parties if q not in weight.secret_from)
    holding: p.Holding = p.Clear(holders) if weight.secret_from else p.Public()
    if not holders:
        text = f"nobody may know the weight `{stage.plain(weight.value)}`"
        stage.gaps.refuse("placement.unplaced", weight.value, text, "leave out the party that brings it")

    def make(member: int | None) -> Held:
        name = stage.own_name(weight.value, member)
        secrets = frozenset({name}) if weight.secret_from else frozenset[str]()
        held = Held(name, stage.number(weight.type), holding, secrets, frozenset(holders))
        return stage.give(held, "weights", weight.value)

    _members(stage, weight.value, weight.count, make)


def _members(stage: UnderWay, value: int, count: int, make: Callable[[int | None], Held]) -> None:
    """A value, or the members of a family as they are read; the family itself stands for its first."""
    if not count:
        stage.values[value] = make(None)
        return

    def member(index: int) -> Held:
        if index >= count:
            return msgspec.structs.replace(stage.values[value], broken=True)
        stage.values[value, index] = found = make(index)
        return found

    stage.members[value] = member
    stage.values[value] = member(0)


def _input(stage: UnderWay, given: Input) -> None:
    stage.types[given.value] = given.type
    name, place = stage.own_name(given.value), given.placement
    secrets, owner = frozenset({name}), frozenset({given.owner} - {""})
    found = _holding(stage, given.value, given.type, place)
    if found is None:
        stage.broken((given.value,), (given.type,))
        return
    type_, holding = found
    once = len(stage.view.plan.stages) == 1 or given in stage.stage.inputs
    if isinstance(holding, p.Shared) and given.owner and once:
        _shared_by_owner(stage, given, name, type_, holding)
        return
    match holding:
        case p.Public():
            held = Held(name, type_, holding)
        case p.Clear():
            held = Held(name, type_, holding, secrets, owner or frozenset(holding.parties))
        case p.Shared():
            held = Held(name, type_, holding, secrets, owner)
            stage.assumed[f"the pieces that `{name}` begins in tell nothing by themselves"] = None
    stage.values[given.value] = stage.arrive(
        given.value, stage.give(held, value=given.value), given.value, "step"
    )


def _holding(
    stage: UnderWay, value: int, type_: TensorType, place: Placement
) -> tuple[p.TensorType, p.Holding] | None:
    """Type and holding; None after a finding."""
    match place.kind:
        case "public":
            return stage.number(type_), p.Public()
        case "party":
            return stage.number(type_), p.Clear(place.parties)
        case "shared" if type_ != UNKNOWN:
            modulus = stage.format_of(type_).modulus
            try:
                holding = shared(place.holding, place.parties, stage.view.library)
            except MalformedError as problem:
                stage.gaps.refuse("placement.unplaced", value, problem.message, problem.help)
                return None
            if modulus:
                number, shape = p.Ring(int(modulus)), type_.shape
                if holding.scheme == "boolean_shares":
                    number, shape = p.Ring(2), (*type_.shape, (int(modulus) - 1).bit_length())
                return p.TensorType(number, shape), holding
            text = f"`{stage.plain(value)}` is shared, and its format is in no ring"
            stage.gaps.refuse(
                "placement.unplaced",
                value,
                text,
                "give it a format in a ring, as `fixed(64, 16, ring: ring(64))`",
            )
            return None
        case _:
            text = f"nothing says who has `{stage.plain(value)}`"
            help_ = "write `from party`, `@ party`, `public` or `as holding(...)`"
            stage.gaps.leave("placement.unplaced", value, text, help_)
            return None


def _shared_by_owner(
    stage: UnderWay, given: Input, name: str, type_: p.TensorType, holding: p.Shared
) -> None:
    owner = given.owner
    stage.parties.setdefault(owner, p.Party(owner))
    protocol = sharing_protocol(type_, holding, owner)
    if protocol is None:
        text = f"`{holding.scheme}` is no sharing that an owner can make"
        stage.gaps.leave(
            "placement.unplaced", given.value, text, "leave out `from`, and write how it was shared"
        )
        stage.broken((given.value,), (given.type,))
        return
    stage.give(Held(name, type_, p.Clear((owner,)), frozenset({name}), frozenset({owner})), value=given.value)
    pieces = stage.unique(name)
    roles = tuple((party.name, party.name) for party in protocol.parties)
    stage.add(Instance(protocol, roles, (("x", name),), (("y", pieces),)), Made(given.value))
    stage.assumed[f"`{owner}` shares `{name}` with fresh uniform pieces"] = None
    stage.values[given.value] = Held(pieces, type_, holding, frozenset({name}), frozenset({owner}))


def _state(stage: UnderWay, state: State) -> None:
    stage.types[state.value] = state.type
    found = _holding(stage, state.value, state.type, state.placement)
    if found is None:
        stage.broken((state.value,), (state.type,))
        return
    type_, holding = found

    def make(member: int | None) -> Held:
        name = stage.own_name(state.value, member)
        holders = frozenset(holding.parties) if isinstance(holding, p.Clear) else frozenset[str]()
        stage.kept.append((name, state.value))
        return stage.give(Held(name, type_, holding, frozenset({name}), holders), value=state.value)

    _members(stage, state.value, state.count, make)
    if isinstance(holding, p.Shared):
        stage.shared_state = state.value


# ---- nodes ----
def _nodes(stage: UnderWay, body: tuple[Node, ...]) -> None:
    for node in body:
        match node:
            case Step():
                take_step(stage, node)
            case Repeat():
                _repeat(stage, node)
            case StateWrite():
                _write(stage, node)
            case Requirement():
                pass
            case _:
                assert_never(node)


def _repeat(stage: UnderWay, repeat: Repeat) -> None:
    for carried in repeat.carried:
        stage.values[carried.inner] = stage.values[carried.initial]
        stage.types[carried.inner] = stage.types.get(carried.initial, UNKNOWN)
    folding = stage.folding and repeat.high - repeat.low > WALKED
    for index in range(repeat.low, repeat.low + WALKED if folding else repeat.high):
        stage.loops[repeat.depth] = index
        if folding and index == repeat.low + WALKED - 1:
            _last_turn(stage, repeat, repeat.high - index)
        else:
            _turn(stage, repeat)
    for carried in repeat.carried:
        stage.values[carried.final] = stage.values[carried.inner]
        stage.types[carried.final] = stage.types[carried.inner]


def _turn(stage: UnderWay, repeat: Repeat) -> None:
    _nodes(stage, repeat.body)
    turned = [(c.inner, stage.values[c.next], stage.types[c.next]) for c in repeat.carried]
    for value, held, type_ in turned:
        stage.values[value], stage.types[value] = held, type_


WALKED = 2
"""Turns of a folded repeat that are walked: the first, which may begin otherwise, and one for all the others."""


def _last_turn(stage: UnderWay, repeat: Repeat, turns: int) -> None:
    """One turn for `turns` of them: what it hands on has to be like what it began with, so that the next is like it."""
    before = [(stage.values[c.inner], stage.types[c.inner]) for c in repeat.carried]
    start, outer, stage.times = len(stage.instances), stage.times, stage.times * turns
    _turn(stage, repeat)
    stage.times = outer
    stage.again |= _read_again(stage, repeat, start, [held.name for held, _ in before])
    for carried, (held, type_) in zip(repeat.carried, before, strict=True):
        after = stage.values[carried.inner]
        if _status(stage, held) != _status(stage, after) or type_ != stage.types[carried.inner]:
            stage.unlike = True
        stage.folds.append((held.name, after.name))


def _read_again(stage: UnderWay, repeat: Repeat, start: int, begun: list[str]) -> set[str]:
    """Values that this turn hands on and that it does not just make for the next: older ones, such as it reads itself or
    gives away, and one that the next turn gets under two names where this one had two values."""
    turn = stage.instances[start:]
    made = {value for one in turn for _, value in one.outputs}
    read = {value for one in turn for _, value in one.inputs} | {name for name, _ in stage.outputs}
    handed = [stage.values[carried.inner].name for carried in repeat.carried]
    pairs = set(zip(begun, handed, strict=True))
    twice = {name for name in handed if len([1 for _, after in pairs if after == name]) > 1}
    return {name for name in handed if name not in made or name in read} | twice


def _status(stage: UnderWay, held: Held) -> tuple[object, ...]:
    """All that a step asks of a value but its name and the secrets that it is made of."""
    given = stage.inputs.get(held.name)
    begun = None if given is None else (given.lifetime, given.fresh, given.range_bits)
    return held.type, held.holding, held.known, held.broken, held.scale, begun


def _write(stage: UnderWay, write: StateWrite) -> None:
    state = family(write.state)
    kept, held = stage.values[state], stage.values[write.value]
    if kept.broken or held.broken:
        return
    stage.written.append((state, held.name))
    match kept.holding:
        case p.Clear():
            fits = all(in_clear(held, party) for party in kept.holding.parties)
        case p.Public():
            fits = isinstance(held.holding, p.Public)
        case p.Shared():
            fits = held.holding == kept.holding and held.type == kept.type
            stage.outputs[held.name, ""] = p.Output(held.name, held.type, kept.holding)
    if not fits:
        text = f"the state is kept {told_holding(kept.holding)}, and `{stage.plain(write.value)}` is {told_holding(held.holding)}"
        stage.gaps.refuse(
            "placement.state", write.value, text, "write a value that lies where the state is kept", "write"
        )


def _output(stage: UnderWay, output: Output) -> None:
    held = stage.values.get(output.value)
    if held is None or held.broken:
        return
    for party in output.to:
        if not in_clear(held, party):
            text = f"`{stage.plain(output.value)}` goes to `{party}`, and it is {told_holding(held.holding)}"
            help_ = f"reveal it to `{party}` first, with a component"
            stage.gaps.refuse("placement.knowledge", output.value, text, help_, "output")
        elif isinstance(held.holding, p.Clear) and party not in held.known:
            stage.values[output.value] = stage.arrive(output.value, held, output.value, "output")
    if output.holding and not _lies_as(stage, output, held):
        wanted = f"{output.holding.rsplit('.', 1)[-1]}({', '.join(output.holders)})"
        text = (
            f"`{stage.plain(output.value)}` is put out as `{wanted}`, and it is {told_holding(held.holding)}"
        )
        stage.gaps.refuse("placement.knowledge", output.value, text, "share or convert it first", "output")
    if isinstance(held.holding, p.Shared):
        stage.outputs[held.name, ""] = p.Output(held.name, held.type, held.holding)


def _lies_as(stage: UnderWay, output: Output, held: Held) -> bool:
    """Whether the pieces are those of the holding that is written, at the parties that are written."""
    try:
        wanted = shared(output.holding, output.holders, stage.view.library)
    except MalformedError:
        return False
    return isinstance(held.holding, p.Shared) and same_holding(wanted, held.holding)
