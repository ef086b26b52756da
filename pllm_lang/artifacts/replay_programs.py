"""Replay, 6 of 6 (second half): what the parties run is the plan, and shows nobody more than the policy lets them learn.

In: a lock whose bounds were walked. Every step of the plan has its use of a protocol, in the order of the plan and wired to the
values that it reads; every value lies where it is taken to lie; every party that gets a value in the clear may know or learn
it; and for every coalition that the policy's adversaries may corrupt the view of every stage is proved: by its parts (the
composition rule of `docs/soundness.md`), or of the whole stage as one text.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any, cast

import msgspec

from pllm_lang.artifacts import replay_numbers as n
from pllm_lang.artifacts import replay_terms as t
from pllm_lang.artifacts import replay_views as v
from pllm_lang.artifacts.lock_data import Lock, Move, Program, Use
from pllm_lang.artifacts.replay_numbers import Range
from pllm_lang.artifacts.replay_read import ReplayError, told
from pllm_lang.artifacts.replay_walk import Walked, bind, component_of, counted_turn, form_of, record
from pllm_lang.catalog.expr import Apply, Expr, ListOf, MapOf, Num, Ref, Text
from pllm_lang.catalog.records import Holding, Operator, Policy
from pllm_lang.ir import protocol as p
from pllm_lang.ir.plan import (
    Input,
    Member,
    Node,
    Operand,
    Output,
    Placement,
    Repeat,
    Stage,
    StateWrite,
    Step,
    TensorType,
)

RESERVED = frozenset({"results", "lengths", "stages", "stop", "indices"})
STATISTICAL = 40
RANK = " rank"
MAX_USES_AS_ONE_TEXT = 120
MAX_COALITIONS = 4096


class Held(msgspec.Struct, frozen=True):
    """A value of a stage: its name there, where it lies, and who may know it."""

    name: str
    type: p.TensorType
    holding: p.Holding
    known: frozenset[str]


class At(msgspec.Struct):
    """A stage under way: `root` leads from an embedded or shown value to the plan's; `next` counts the uses taken."""

    walked: Walked
    policy: Policy
    program: Program
    stage: Stage
    names: dict[str, Held]
    values: dict[int | tuple[int, int], Held]
    root: dict[str, str]
    loops: dict[int, int]
    functions: dict[str, Any]
    bits: dict[str, int]
    lives: dict[str, p.Lifetime]
    shown: dict[str, frozenset[str]]
    public: dict[str, list[str]]
    times: int = 1
    folds: list[tuple[str, str]] = []
    next: int = 0
    assumed: set[str] = set()

    def refuse(self, message: str) -> ReplayError:
        return ReplayError("certificate.program", message, f"stage `{self.stage.name}`, use {self.next}")


def follow(walked: Walked) -> tuple[set[tuple[str, int, str]], list[v.Run]]:
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
        return set(), []
    asked = documents_policy(lock)
    if asked != f"{policy.module}.{policy.name}":
        raise ReplayError(
            "certificate.program", f"the plan is under `{asked}`, and the lock holds another policy"
        )
    if [one.stage for one in programs] != [stage.name for stage in lock.documents.ir.stages]:
        raise ReplayError("certificate.program", "the programs are not those of the plan's stages")
    stages = [
        At(walked, policy, program, stage, {}, {}, {}, {}, {}, {}, {}, {}, {}, folds=[], assumed=set())
        for program, stage in zip(programs, lock.documents.ir.stages, strict=True)
    ]
    for text in lock.documents.protocols:
        v.sized(text.protocol.name, text.protocol.inputs, text.protocol.outputs)
    for at in stages:
        _stage(at)
    runs = [_proved(lock, number) for number in range(len(lock.documents.protocols))]
    distances = _views(lock, policy, runs, [at.folds for at in stages])
    _pattern(lock, policy)
    shared = {one for at in stages for one in at.assumed}
    return _owed(lock, policy, distances, shared), runs


def documents_policy(lock: Lock) -> str:
    """The key of the policy that the experiment, or else the plan, is under."""
    experiment = lock.documents.experiment
    return (experiment.policy if experiment is not None else "") or lock.documents.ir.policy


def _proved(lock: Lock, number: int) -> v.Run:
    """Every party can compute what it is said to, and each result is what it means."""
    text = lock.documents.protocols[number].protocol
    _shares_apart(text)
    out = v.run(text)
    v.proves_outputs(out)
    return out


def _shares_apart(text: p.Protocol) -> None:
    for thing in (*text.inputs, *text.outputs):
        if isinstance(thing.holding, p.Shared):
            labels = {piece.label for piece in thing.holding.pieces}
            if not labels or len(labels) < len(thing.holding.pieces) or _everything_at_one(thing.holding):
                raise ReplayError(
                    "certificate.program",
                    f"`{thing.name}` is shared, and somebody has every piece",
                    text.name,
                )


def _everything_at_one(holding: p.Holding) -> bool:
    """Whether one party holds every piece."""
    if not isinstance(holding, p.Shared):
        return False
    parties = {party for piece in holding.pieces for party in piece.holders}
    return any(all(party in piece.holders for piece in holding.pieces) for party in parties)


# ---- the plan and its programs, step by step ----
def _stage(at: At) -> None:
    plan = at.walked.lock.documents.ir
    if [one.name for one in at.program.parties if one.ideal is None] != list(at.policy.parties):
        raise at.refuse("its parties are not those of the policy")
    v.sized(at.program.stage, at.program.inputs, at.program.outputs)
    for given in at.program.inputs:
        if given.name in at.names or given.fresh:
            raise at.refuse(f"`{given.name}` begins twice, or fresh")
        at.names[given.name] = Held(given.name, given.type, given.holding, frozenset())
        at.bits[given.name], at.lives[given.name] = given.range_bits, given.lifetime
    for constant in plan.constants:
        _begins(at, constant.value, None, p.Public(), frozenset(), "weights")
    for weight in plan.weights:
        holders = tuple(q for q in at.policy.parties if q not in weight.secret_from)
        holding: p.Holding = p.Clear(holders) if weight.secret_from else p.Public()
        _family(at, weight.value, weight.count, holding, frozenset(holders), "weights")
    for given in (*plan.inputs, *at.stage.inputs):
        _input(at, given)
    for state in plan.states:
        holding = _holding(at, state.placement)
        holders = frozenset(holding.parties) if isinstance(holding, p.Clear) else frozenset[str]()
        _family(at, state.value, state.count, holding, holders)
        if isinstance(holding, p.Shared):
            raise ReplayError("certificate.beyond", "replay follows no states that are kept in pieces")
    _nodes(at, at.stage.body)
    if at.next != len(at.program.uses):
        raise at.refuse("it runs more than the plan has")
    for output in at.stage.outputs:
        _output(at, output)
    _allowed(at)


def _family(
    at: At, value: int, count: int, holding: p.Holding, known: frozenset[str], lives: p.Lifetime = "execution"
) -> None:
    """A value, or those members of a family that the stage reads; the family itself stands for its first."""
    if not count:
        _begins(at, value, None, holding, known, lives)
    plain = _plain(at, value)
    for member in range(count):
        if member == 0 or f"{plain}[{member}]" in at.names:
            _begins(at, value, member, holding, known, lives)


def _plain(at: At, value: int) -> str:
    return at.walked.lock.documents.names.get(str(value), "") or f"v{value}"


def _begins(
    at: At,
    value: int,
    member: int | None,
    holding: p.Holding,
    known: frozenset[str],
    lives: p.Lifetime = "execution",
) -> None:
    """A value that the stage begins with, under the plan's name for it."""
    name = _plain(at, value) if member is None else f"{_plain(at, value)}[{member}]"
    found = at.names.get(name)
    alike = found is not None and found.holding == holding and at.lives[name] == lives
    if found is None or not alike or found.type.shape != at.walked.values[value].type.shape:
        raise at.refuse(f"it does not begin with `{name}` as the plan does")
    held = msgspec.structs.replace(found, known=known)
    at.names[name] = held
    at.values[value if member is None else (value, member)] = held
    at.values.setdefault(value, held)
    start = at.walked.values[value]
    _in_range(at, at.bits[name], start.type, start.fact.range, name)
    if isinstance(held.holding, p.Public):
        at.public.setdefault(name.split("'", maxsplit=1)[0], []).append(name)


def _in_range(at: At, bits: int, type_: TensorType, limit: Range, what: str) -> None:
    """|raw| < 2^bits, by what was worked out of the value."""
    if not bits:
        return
    scale = Fraction(2) ** form_of(at.walked.lock, type_).frac
    if limit is None or max(-limit[0], limit[1]) * scale >= 1 << bits:
        raise ReplayError("certificate.bound", f"`{what}` is not shown to be below 2^{bits}")


def _fits(at: At, thing: p.Input | p.Output, type_: TensorType, limit: Range) -> None:
    """The value is one of the numbers that the text computes with, so that a residue stands for it alone."""
    if isinstance(thing, p.Input):
        _in_range(at, thing.range_bits, type_, limit, thing.name)
    if isinstance(thing.holding, p.Shared) and thing.holding.scheme == "boolean_shares":
        return
    scale = Fraction(2) ** form_of(at.walked.lock, type_).frac
    number = thing.type.number
    if isinstance(number, p.Ring):
        held = Fraction(-(number.modulus // 2)), Fraction((number.modulus - 1) // 2)
        held = held if number.modulus > 2 else (Fraction(0), Fraction(1))
    else:
        held = Fraction(-(1 << number.bits) if number.signed else 0), Fraction((1 << number.bits) - 1)
    if limit is None or not held[0] <= limit[0] * scale or not limit[1] * scale <= held[1]:
        raise ReplayError(
            "certificate.bound", f"`{thing.name}` is not shown to be a number of `{at.program.stage}`'s text"
        )


def _input(at: At, given: Input) -> None:
    holding = _holding(at, given.placement)
    owner = frozenset({given.owner} - {""})
    name = _plain(at, given.value)
    found = at.names.get(name)
    if isinstance(holding, p.Shared) and found is not None and found.holding == p.Clear((given.owner,)):
        _begins(at, given.value, None, found.holding, owner)
        use = _take(at, -1)
        text = at.walked.lock.documents.protocols[use.protocol].protocol
        _wired(at, use, text)
        output = text.outputs[0] if len(text.outputs) == 1 else None
        if (
            use.inputs != (("x", name),)
            or output is None
            or _placed(output.holding, dict(use.roles)) != holding
            or not _unchanged(text)
        ):
            raise at.refuse(f"`{given.owner}` does not share `{name}` as the plan says")
        start = at.walked.values[given.value]
        _in_range(at, text.inputs[0].range_bits, start.type, start.fact.range, name)
        at.assumed.add(f"`{given.owner}` shares `{name}` with fresh uniform pieces")
        made = Held(use.outputs[0][1], output.type, holding, owner)
        at.names[made.name] = at.values[given.value] = made
        return
    known = owner or (frozenset(holding.parties) if isinstance(holding, p.Clear) else frozenset[str]())
    _begins(at, given.value, None, holding, known)
    at.values[given.value] = at.names[name] = _arrives(at, given.value, at.values[given.value])


def _unchanged(text: p.Protocol) -> bool:
    """Whether the one result is meant to be the one operand, and nobody but parties of the plan takes part."""
    if len(text.inputs) != 1 or len(text.outputs) != 1 or any(one.ideal is not None for one in text.parties):
        return False
    output = text.outputs[0]
    return output.meaning == p.Ref(text.inputs[0].name) and not output.scale_bits and not output.error


def _holding(at: At, place: Placement) -> p.Holding:
    """Where a placement puts a value: the pieces of a sharing are those of its record."""
    if place.kind == "public":
        return p.Public()
    if place.kind == "party":
        return p.Clear(place.parties)
    found = record(at.walked, place.holding)
    if place.kind != "shared" or not isinstance(found, Holding):
        raise at.refuse("nothing says who has a value")
    pieces = found.fields.get("pieces")
    if not isinstance(pieces, MapOf):
        return p.Shared(found.name, tuple(p.Piece(party, (party,)) for party in place.parties))
    signs = _signs(found.fields.get("value"), 1)
    out: list[p.Piece] = []
    for label, places in pieces.entries:
        indices = [
            int(one.value)
            for one in (places.items if isinstance(places, ListOf) else (places,))
            if isinstance(one, Num)
        ]
        out.append(p.Piece(label, tuple(place.parties[i] for i in indices), signs.get(label, 0)))
    return p.Shared(found.name, tuple(out))


def _signs(value: Any, sign: int) -> dict[str, int]:
    match value:
        case Ref(name=name):
            return {name: sign}
        case Apply(fn="+" | "-" as fn, args=(left, right)):
            return {**_signs(left, sign), **_signs(right, sign if fn == "+" else -sign)}
        case _:
            return {}


def _nodes(at: At, body: tuple[Node, ...]) -> None:
    for node in body:
        if isinstance(node, Step):
            _step(at, node)
        elif isinstance(node, Repeat):
            _repeat(at, node)
        elif isinstance(node, StateWrite):
            kept, held = _read(at, node.state), _read(at, node.value)
            parties = kept.holding.parties if isinstance(kept.holding, p.Clear) else ()
            fits = (
                isinstance(held.holding, p.Public)
                if isinstance(kept.holding, p.Public)
                else all(_has(held, q) for q in parties)
            )
            if not fits:
                raise at.refuse("what is written to a state does not lie where it is kept")


def _repeat(at: At, node: Repeat) -> None:
    """Turn by turn; folded, the second stands for all later ones if it hands on what lies as what it began with."""
    for one in node.carried:
        at.values[one.inner] = _read(at, one.initial)
    folded, outer = at.program.folded and node.high - node.low > 2, at.times
    for index in range(node.low, node.low + 2 if folded else node.high):
        counted_turn(at.walked)
        at.loops[node.depth] = index
        before = [_read(at, one.inner) for one in node.carried]
        last = folded and index > node.low
        at.times = outer * (node.high - index) if last else outer
        _nodes(at, node.body)
        after = [_read(at, one.next) for one in node.carried]
        at.values.update(zip((one.inner for one in node.carried), after, strict=True))
        if last:
            at.folds += [(x.name, y.name) for x, y in zip(before, after, strict=True)]
            if any(
                msgspec.structs.replace(x, name="") != msgspec.structs.replace(y, name="")
                for x, y in zip(before, after, strict=True)
            ):
                raise at.refuse("later turns of a repeat do not begin like the one that stands for them")
    at.times = outer
    for one in node.carried:
        at.values[one.final] = at.values[one.inner]


def _read(at: At, operand: Operand) -> Held:
    if isinstance(operand, Member):
        index = _index(at, operand.index)
        found = at.values.get((operand.family, index))
    else:
        found = at.values.get(operand)
    if found is None:
        raise at.refuse("a step reads a value that is not there")
    return found


def _index(at: At, expr: Any) -> int:
    match expr:
        case Num():
            return int(expr.value)
        case Ref(name=name):
            return at.loops[int(name[1:])]
        case Apply(fn=fn, args=(left, right)) if fn in ("+", "-", "*"):
            x, y = _index(at, left), _index(at, right)
            return x + y if fn == "+" else x - y if fn == "-" else x * y
        case _:
            raise at.refuse("the member that a step reads is not known")


def _take(at: At, step: int) -> Use:
    if at.next >= len(at.program.uses) or at.program.uses[at.next].step != step:
        raise at.refuse("the plan has a step here that the program does not run")
    if at.program.uses[at.next].times != at.times:
        raise at.refuse(f"a step runs {at.times} times")
    at.next += 1
    return at.program.uses[at.next - 1]


def _step(at: At, step: Step) -> None:
    lock, number = at.walked.lock, at.walked.number[id(step)]
    while at.next < len(at.program.uses) and not _is_main(at, number):
        _aside(at)
    use = _take(at, number)
    text = lock.documents.protocols[use.protocol]
    operands = [_read(at, operand) for operand in step.operands]
    wired = _wired(at, use, text.protocol)
    if [at.root.get(name, name) for name in wired] != [one.name for one in operands]:
        raise at.refuse("a use is not wired to what its step reads")
    for name, operand in zip(wired, step.operands, strict=True):
        start = at.walked.values[operand.family if isinstance(operand, Member) else operand]
        _in_range(at, at.bits.get(name, 0), start.type, start.fact.range, name)
    component, operator = component_of(at.walked, step), cast("Operator", record(at.walked, step.operator))
    own = component is not None and component.protocol is not None and step.use is not None
    if text.component != (step.use.key if own and step.use is not None else ""):
        raise at.refuse("a use is of another component than its step")
    if len(use.outputs) != len(step.results) or len(text.protocol.outputs) != len(step.results):
        raise at.refuse("a use has other results than its step")
    _revealed(at, step, operator, wired, use)
    if own:
        _by_component(at, step, operator, text.protocol, use)
    else:
        _local(at, step, operator, text.protocol, use, operands)
    known = _knowing(at, operands)
    for i, (result, type_) in enumerate(zip(step.results, step.types, strict=True)):
        output = text.protocol.outputs[i]
        holding = _placed(output.holding, dict(use.roles))
        if isinstance(holding, p.Public):
            holding = p.Clear(tuple(sorted(q for _, q in use.roles if not q.startswith("ideal "))))
        if output.type.shape != type_.shape and not (
            isinstance(holding, p.Shared) and holding.scheme == "boolean_shares"
        ):
            raise at.refuse("a result has another shape than the plan says")
        made = Held(dict(use.outputs)[output.name], output.type, holding, known)
        if made.name in at.names:
            raise at.refuse(f"`{made.name}` is made twice")
        arrived = _arrives(at, result, made) if own else made
        at.names[made.name] = at.values[result] = arrived


def _by_component(at: At, step: Step, operator: Operator, text: p.Protocol, use: Use) -> None:
    """The parties play the roles that the step gives them, operands are as small as the text takes them to be, and what the
    text says of its results is what the operator means."""
    bound = {} if step.use is None else dict(step.use.roles)
    component = component_of(at.walked, step)
    for role in text.parties:
        party = dict(use.roles).get(role.name, "")
        if role.ideal is not None and component is not None and role.name in component.roles:
            raise at.refuse(f"the role `{role.name}` is one of its component's, and no primitive")
        if party != (f"ideal {role.name}" if role.ideal is not None else bound.get(role.name, role.name)):
            raise at.refuse(f"the role `{role.name}` is played by another party than the step says")
    if step.party:
        raise at.refuse("a step of several parties runs at one of them")
    reach = at.walked.reach[at.walked.number[id(step)]]
    types = [at.walked.values[one.family if isinstance(one, Member) else one].type for one in step.operands]
    for thing, type_, limit in zip((*text.inputs, *text.outputs), (*types, *step.types), reach, strict=True):
        _fits(at, thing, type_, limit)
    means = {clause.name: clause.expr for clause in operator.means}
    for output, spec in zip(text.outputs, operator.results, strict=True):
        if (
            output.meaning is None
            or output.name != spec.name
            or not _meant(output.meaning, means.get(spec.name), operator)
        ):
            raise at.refuse(
                f"`{output.name}` of `{text.name}` is not said to be what `{operator.name}` means"
            )
    _bits_apart(at, text)
    _cut_as_said(at, step, operator, text)


def _bits_apart(at: At, text: p.Protocol) -> None:
    """Only bits lie as bits: a number in pieces called so would be held against no range."""
    taken = any(_boolean(given.holding) for given in text.inputs)
    for thing in (*text.inputs, *text.outputs):
        said = isinstance(thing, p.Input) or taken or _is_bits(thing.meaning)
        if _boolean(thing.holding) and not (thing.type.number == p.Ring(2) and said):
            raise at.refuse(f"`{thing.name}` of `{text.name}` lies as bits and is a number")
        if isinstance(thing, p.Output) and _is_bits(thing.meaning) and not _boolean(thing.holding):
            raise at.refuse(f"`{thing.name}` of `{text.name}` are bits and lies as a number")


def _boolean(holding: p.Holding) -> bool:
    return isinstance(holding, p.Shared) and holding.scheme == "boolean_shares"


def _is_bits(meaning: p.Expr | None) -> bool:
    return isinstance(meaning, p.Call) and meaning.fn == "bits"


def _cut_as_said(at: At, step: Step, operator: Operator, text: p.Protocol) -> None:
    """The raw numbers of a result have its format's fraction bits, and what the text rounds the record says."""
    number = at.walked.number[id(step)]
    types = [at.walked.values[one.family if isinstance(one, Member) else one].type for one in step.operands]
    held = [form_of(at.walked.lock, type_) for type_ in types]
    own = {
        spec.name: None if form.kind in ("exact", "float") else form.frac
        for spec, form in zip(operator.operands, held, strict=True)
    }
    for i, (output, type_) in enumerate(zip(text.outputs, step.types, strict=True)):
        form = form_of(at.walked.lock, type_)
        raw = None if output.meaning is None else _fraction(output.meaning, own)
        if raw is not None and form.kind not in ("exact", "float") and raw - output.scale_bits != form.frac:
            raise at.refuse(f"`{output.name}` of `{text.name}` has other fraction bits than its format")
        unit, error = t.step_of(form), at.walked.errors.get((number, i), Fraction(0))
        if (output.scale_bits or output.error) and (
            unit is None or (error is not None and error < output.error * unit)
        ):
            raise at.refuse(f"`{output.name}` of `{text.name}` rounds more than its record says")


def _fraction(said: p.Expr, own: dict[str, int | None]) -> int | None:
    """Fraction bits of a polynomial of raw numbers; None where they are not known."""
    match said:
        case p.Ref(name=name):
            return own.get(name)
        case p.Mul(left=left, right=right) | p.MatMul(left=left, right=right):
            x, y = _fraction(left, own), _fraction(right, own)
            return None if x is None or y is None else x + y
        case p.Add(terms=terms):
            found = {_fraction(one, own) for one in terms}
            return found.pop() if len(found) == 1 else None
        case p.Scale(arg=arg) | p.Cast(arg=arg) | p.Transpose(arg=arg):
            return _fraction(arg, own)
        case _:
            return None


def _meant(said: p.Expr, means: Expr | None, operator: Operator) -> bool:
    """Whether a term over raw numbers says what an operator's meaning says, form by form; of what is known by its name alone,
    that it is the operator of its operands."""
    match said, means:
        case p.Call(fn="bits", args=(arg,)), _ if operator.name != "bits":
            return _meant(arg, means, operator)
        case p.Call(fn=fn, args=args), _:
            names = tuple(p.Ref(spec.name) for spec in operator.operands)
            return args == names and fn.split("[", maxsplit=1)[0] == operator.name
        case p.Cast(arg=arg), _:
            return _meant(arg, means, operator)
        case _, Apply(fn="nearest", args=(arg, _)):
            return _meant(said, arg, operator)
        case p.Ref(name=name), Ref(name=other):
            return name == other
        case p.Scale(factor=-1, arg=arg), Apply(fn="-", args=(other,)):
            return _meant(arg, other, operator)
        case p.Add(terms=(left, p.Scale(factor=-1, arg=right))), Apply(fn="-", args=(x, y)):
            return _meant(left, x, operator) and _meant(right, y, operator)
        case p.Add(terms=(left, right)), Apply(fn="+", args=(x, y)):
            return _meant(left, x, operator) and _meant(right, y, operator)
        case p.Mul(left=left, right=right), Apply(fn="*", args=(x, y)):
            return _meant(left, x, operator) and _meant(right, y, operator)
        case p.MatMul(left=left, right=right), Apply(fn="matmul", args=(x, y)):
            return _meant(left, x, operator) and _meant(right, y, operator)
        case p.Transpose(arg=arg, axes=()), Apply(fn="transpose", args=(other,)):
            return _meant(arg, other, operator)
        case _:
            return False


def _is_main(at: At, number: int) -> bool:
    """The last use of a step in a row is the step; the others show or embed what it takes."""
    uses = at.program.uses
    return uses[at.next].step == number and not _shows(at, uses[at.next])


def _shows(at: At, use: Use) -> bool:
    text = at.walked.lock.documents.protocols[use.protocol]
    return text.component == "" and text.protocol.name == "disclose" and use.inputs[0][0] == "x"


def _aside(at: At) -> None:
    """A value embedded where it lies, as a residue of another ring, or shown to parties that may learn it."""
    use = at.program.uses[at.next]
    text = at.walked.lock.documents.protocols[use.protocol]
    wired = _wired(at, use, text.protocol)
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
        or not _computes(text.protocol, _residue(output.type.number))
        or shape != before.type.shape
        or isinstance(before.holding, p.Shared)
    ):
        raise at.refuse("it changes a value that no step of the plan changes")
    at.next += 1
    name = use.outputs[0][1]
    at.root[name] = at.root.get(before.name, before.name)
    if before.name in at.shown:
        at.shown[name] = at.shown.pop(before.name)
    at.names[name] = Held(name, output.type, _placed(output.holding, dict(use.roles)), before.known)


def _residue(number: p.Number) -> str:
    """What it is called to take a value as a number of this kind."""
    if isinstance(number, p.Integer):
        return f"integer{number.bits}"
    bits = number.modulus.bit_length() - 1
    return f"raw{bits}" if number.modulus == 1 << bits else f"raw modulo {number.modulus}"


def _computes(text: p.Protocol, name: str) -> bool:
    """Whether each party computes each result, called by this name, of all operands in their order, and does nothing else."""
    parties = tuple(one.name for one in text.parties)
    args = tuple(p.Ref(given.name) for given in text.inputs)
    expected: list[tuple[str, str, p.Expr]] = []
    for i, output in enumerate(text.outputs):
        value = p.Call(name if len(text.outputs) == 1 else f"{name}.{i}", args, output.type)
        if output != p.Output(output.name, output.type, p.Clear(parties), value, origin=output.origin):
            return False
        expected += [(party, output.name, value) for party in parties]
    body = [(line.party, line.target, line.value) for line in text.body if isinstance(line, p.Assign)]
    return len(body) == len(text.body) and body == expected


def _shown(at: At, use: Use, text: p.Protocol, before: Held) -> None:
    """A value sent as it is to parties that take part: whether they may learn it is asked of the step that reveals it."""
    plain = all(isinstance(line, p.Send | p.Assign) for line in text.body)
    holding = _placed(text.outputs[0].holding, dict(use.roles))
    if (
        not plain
        or not _unchanged(text)
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


def _revealed(at: At, step: Step, operator: Operator, wired: list[str], use: Use) -> None:
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
        words = {_plain(at, operand)} - RESERVED if isinstance(operand, int) else set[str]()
        words |= {spec.name} & {"indices"}
        said = component is not None and spec.name in component.reveals
        if not said or any(not words & set(at.policy.learns.get(party, ())) for party in others):
            raise ReplayError(
                "certificate.program", f"`{name}` is shown, and the policy does not let it be learnt"
            )


def _wired(at: At, use: Use, text: p.Protocol) -> list[str]:
    """The values that a use takes, in the order of its protocol, each lying as it is taken to lie."""
    roles, given = dict(use.roles), dict(use.inputs)
    if len(roles) < len(use.roles) or set(roles) != {party.name for party in text.parties}:
        raise at.refuse("a role is played by nobody, or twice")
    ideal = {f"ideal {party.name}" for party in text.parties if party.ideal is not None}
    if not set(roles.values()) <= ideal | set(at.policy.parties):
        raise at.refuse("somebody takes part who is no party of the policy")
    for thing in (*text.inputs, *text.outputs):
        if _everything_at_one(_placed(thing.holding, roles)):
            raise at.refuse(f"`{thing.name}` of `{text.name}` is shared, and a party has every piece")
    out: list[str] = []
    for one in text.inputs:
        name = given.get(one.name, "")
        if name not in at.names:
            raise at.refuse(f"`{name}` is not there")
        held = at.names[name]
        lasts = v.LEVEL[at.lives.get(name, "execution")] <= v.LEVEL[one.lifetime]
        if held.type != one.type or not lasts or not _lies(_placed(one.holding, roles), held.holding):
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


def _lies(wanted: p.Holding, have: p.Holding) -> bool:
    match wanted, have:
        case p.Shared(), p.Shared():
            pairs = list(zip(wanted.pieces, have.pieces, strict=False))
            same = all(a.coefficient == b.coefficient and set(a.holders) == set(b.holders) for a, b in pairs)
            return same and len(wanted.pieces) == len(have.pieces) and wanted.scheme == have.scheme
        case p.Shared(), _:
            return False
        case _, p.Public():
            return True
        case p.Clear(), p.Clear():
            return set(wanted.parties) <= set(have.parties)
        case _:
            return False


def _placed(holding: p.Holding, roles: dict[str, str]) -> p.Holding:
    match holding:
        case p.Public():
            return holding
        case p.Clear():
            return p.Clear(tuple(dict.fromkeys(roles[role] for role in holding.parties)))
        case p.Shared():
            pieces = tuple(
                p.Piece(one.label, tuple(roles[role] for role in one.holders), one.coefficient)
                for one in holding.pieces
            )
            return p.Shared(holding.scheme, pieces)


def _local(at: At, step: Step, operator: Operator, text: p.Protocol, use: Use, operands: list[Held]) -> None:
    """A step that parties do by themselves: a call by name, one name for one operator and its parameters, or the same move of
    entries on every piece."""
    if any(not isinstance(line, p.Assign) for line in text.body):
        raise at.refuse("a step in the clear sends or draws something")
    if step.party and {q for _, q in use.roles} != {step.party}:
        raise at.refuse(f"a step runs elsewhere than at `{step.party}`")
    if all(isinstance(line.value, p.Call) for line in text.body if isinstance(line, p.Assign)):
        _called(at, step, operator, text)
        return
    names = t.Names()
    for spec, given in zip(operator.operands, text.inputs, strict=True):
        shape = tuple(dim for dim in given.type.shape if isinstance(dim, int))
        bind(spec.shape, shape, names)
        names.exact.setdefault(RANK, Fraction(len(shape)))
    params = {name: _substituted(value) for name, value in step.params}
    means = {clause.name: clause.expr for clause in operator.means}
    if (
        "structural" not in operator.fields
        or not all(isinstance(one.holding, p.Shared) for one in operands)
        or len({repr(one.holding) for one in operands}) != 1
        or any(
            output.scale_bits
            or output.error
            or output.name != spec.name
            or not _moved_as(output.meaning, means.get(spec.name), params, names)
            for output, spec in zip(text.outputs, operator.results, strict=True)
        )
    ):
        raise at.refuse("a step on shares is more than its move of entries")


def _called(at: At, step: Step, operator: Operator, text: p.Protocol) -> None:
    """The operator with its parameters, by a name that stands for nothing else in the stage."""
    params = ", ".join(f"{name}={_written(at, value)}" for name, value in step.params)
    name = operator.name if operator.module.startswith("std.") else step.operator
    name = f"{name}[{params}]" if params else name
    meant = step.operator, step.params
    if not _computes(text, name) or at.functions.setdefault(name, meant) != meant:
        raise at.refuse(f"a step in the clear is not `{name}` of its operands")


def _written(at: At, value: Expr) -> str:
    match value:
        case Ref(name=name) if name.startswith("%f"):
            every = [form.name for form in at.walked.lock.documents.ir.formats]
            own = every[int(name[2:])]
            return own if every.count(own) == 1 else f"{own}{name}"
        case Ref(name=name):
            return name
        case Text(value=written) | Num(value=written):
            return written
        case ListOf(items=items):
            return "[" + ", ".join(_plainly(one) for one in items) + "]"
        case _:
            return _plainly(value)


def _plainly(value: Expr) -> str:
    match value:
        case Ref(name=name):
            return name
        case Text(value=written) | Num(value=written):
            return written
        case ListOf(items=items):
            return "[" + ", ".join(map(_plainly, items)) + "]"
        case _:
            return msgspec.json.encode(value).decode()


def _substituted(value: Expr) -> list[Fraction] | Fraction | None:
    """A parameter that is a number or a list of numbers."""
    if isinstance(value, ListOf):
        found = [t.exact(one, t.Names()) for one in value.items]
        return [one for one in found if one is not None] if None not in found else None
    return t.exact(value, t.Names())


def _moved_as(
    said: p.Expr | None,
    means: Expr | None,
    params: dict[str, list[Fraction] | Fraction | None],
    sizes: t.Names,
) -> bool:
    """Whether a term moves entries as the meaning of a structural operator does with these parameters."""
    if not isinstance(means, Apply) or not all(isinstance(one, Ref) for one in means.args):
        return False
    known = msgspec.structs.replace(
        sizes, exact={**sizes.exact, **{k: v for k, v in params.items() if isinstance(v, Fraction)}}
    )
    named = {name: t.exact(one, known) for name, one in means.named}
    args = tuple(p.Ref(one.name) for one in means.args if isinstance(one, Ref))
    match said:
        case p.Transpose(arg=arg, axes=()):
            return means.fn == "transpose" and args == (arg,)
        case p.Transpose(arg=arg, axes=axes):
            order = dict(means.named).get("order")
            stated = params.get(order.name) if isinstance(order, Ref) else None
            return means.fn == "permute" and args == (arg,) and stated == [Fraction(axis) for axis in axes]
        case p.Reshape(arg=arg):  # its shape is the result's, and entries keep their order
            return means.fn == "reshape" and args == (arg,)
        case p.Slice(arg=arg, axis=axis, start=start, stop=stop, step=1):
            ends = named.get("from"), named.get("to")
            return (
                means.fn == "slice"
                and args == (arg,)
                and ends == (start, stop)
                and _same_axis(named, axis, sizes)
            )
        case p.Concat(args=parts, axis=axis):
            return means.fn == "concat" and args == parts and _same_axis(named, axis, sizes)
        case _:
            return False


def _same_axis(named: dict[str, Fraction | None], axis: int, sizes: t.Names) -> bool:
    """Axes may be counted from the end; the rank is that of the first operand."""
    stated = named.get("axis", Fraction(-1))
    return stated is not None and int(stated) % int(sizes.exact[RANK]) == axis


def _has(held: Held, party: str) -> bool:
    match held.holding:
        case p.Public():
            return True
        case p.Clear():
            return party in held.holding.parties
        case p.Shared():
            return all(party in piece.holders for piece in held.holding.pieces)


def _knowing(at: At, operands: Iterable[Held]) -> frozenset[str]:
    """Who may know whatever follows from these."""
    known = frozenset(at.policy.parties)
    for held in operands:
        known &= known if isinstance(held.holding, p.Public) else held.known
    return known


def _arrives(at: At, value: int, held: Held) -> Held:
    """In the clear at parties: each may know it, or the policy lets it learn it, by its name or as a result."""
    for party in held.holding.parties if isinstance(held.holding, p.Clear) else ():
        if party in held.known or party not in at.policy.parties:
            continue
        words, plain = at.policy.learns.get(party, ()), _plain(at, value)
        result = any(one.value == value and party in one.to for one in at.stage.outputs)
        if not ((plain in words and plain not in RESERVED) or ("results" in words and result)):
            raise ReplayError(
                "certificate.program", f"`{party}` gets `{plain}`, and the policy does not let it learn that"
            )
        held = msgspec.structs.replace(held, known=held.known | {party})
    return held


def _output(at: At, output: Output) -> None:
    held = _read(at, output.value)
    for party in output.to:
        if not _has(held, party):
            raise at.refuse(f"`{held.name}` goes to `{party}`, which does not have it")
        if isinstance(held.holding, p.Clear):
            held = at.values[output.value] = at.names[held.name] = _arrives(at, output.value, held)
    if output.holding and held.holding != _holding(at, Placement("shared", output.holders, output.holding)):
        raise at.refuse(f"`{held.name}` is put out otherwise than it lies")


def _allowed(at: At) -> None:
    """What the program says that parties may get in the clear is no more than was looked at above."""
    for output in at.program.outputs:
        held = at.names.get(output.name)
        to = output.holding.parties if isinstance(output.holding, p.Clear) else ()
        shared = isinstance(output.holding, p.Shared) and held is not None and output.holding == held.holding
        if held is None or output.meaning is not None or not (shared or (to and set(to) <= held.known)):
            raise at.refuse(f"`{output.name}` may not be learnt by {told(to)}")


# ---- views ----
def coalitions(policy: Policy) -> list[tuple[str, ...]]:
    """Every set of parties that an adversary of the policy may corrupt."""
    found: dict[tuple[str, ...], None] = {}
    for rule in policy.adversaries:
        if rule.kind != "semi_honest":
            raise ReplayError("certificate.beyond", f"replay proves no views against {rule.kind} parties")
        most = min(rule.count, len(rule.among))
        if sum(comb(len(rule.among), count) for count in range(1, most + 1)) > MAX_COALITIONS:
            raise ReplayError("certificate.beyond", f"more than {MAX_COALITIONS} coalitions may be corrupted")
        for count in range(1, most + 1):
            found |= dict.fromkeys(tuple(sorted(one)) for one in combinations(rule.among, count))
    if not found:
        raise ReplayError(
            "certificate.view", "the policy names nobody that may be corrupted, so nothing is proved of views"
        )
    return list(found)


def _views(
    lock: Lock, policy: Policy, runs: list[v.Run], folds: list[list[tuple[str, str]]]
) -> dict[str, Fraction]:
    documents, evidence = lock.documents, lock.documents.certificate
    own = {(one.whole, one.where, one.members): one.moves for one in evidence.seen}
    used: set[tuple[bool, int, tuple[str, ...]]] = set()
    if len(own) < len(evidence.seen) or len(set(evidence.parts)) < len(evidence.parts):
        raise ReplayError("certificate.view", "it has two proofs of one view")
    distances: dict[str, Fraction] = {}
    parts: set[tuple[int, tuple[str, ...]]] = set()
    for members in coalitions(policy):
        total = Fraction(0)
        for place, program in enumerate(documents.programs):
            if (place, members) in evidence.parts:
                parts.add((place, members))
                total += _by_parts(program, members, runs, own, used, folds[place])
            else:
                total += _as_one_text(lock, program, place, members, own, used)
        distances[told(members)] = total
    if used != set(own) or parts != set(evidence.parts):
        raise ReplayError("certificate.view", "it has proofs of views that the policy does not ask for")
    _distances(lock, policy, distances)
    return distances


Views = dict[tuple[bool, int, tuple[str, ...]], tuple[Move, ...]]


def _by_parts(
    program: Program,
    members: tuple[str, ...],
    runs: list[v.Run],
    own: Views,
    used: set[tuple[bool, int, tuple[str, ...]]],
    folds: list[tuple[str, str]],
) -> Fraction:
    """Every protocol by its own proof, each result exact, and nothing in the clear on the way but what is known or allowed."""
    coalition, distance = set(members), Fraction(0)
    known = {one.name for one in program.inputs if _gets(one.holding, coalition)}
    final = {one.name for one in program.outputs if _gets(one.holding, coalition)}
    done: dict[tuple[int, tuple[str, ...]], Fraction] = {}
    results: dict[tuple[int, Roles], tuple[Fraction, list[tuple[str, bool]]]] = {}
    for use in program.uses:
        run = runs[use.protocol]
        if (use.protocol, use.roles) not in results:
            each = _sees(use, run, coalition, own, used, done)
            results[use.protocol, use.roles] = each, _results(use, run, coalition)
        each, outputs = results[use.protocol, use.roles]
        distance += each * use.times if each else 0
        from_known, names = all(name in known for _, name in use.inputs), dict(use.outputs)
        for output, gets in outputs:
            name = names[output]
            if from_known or (gets and name in final):
                known.add(name)
            elif gets:
                raise ReplayError(
                    "certificate.beyond",
                    f"{told(members)} gets `{name}` on the way, and replay does not see why it may",
                )
    if any(before in known and after not in known for before, after in folds):
        raise ReplayError(
            "certificate.beyond",
            "later turns of a repeat begin with less known than the turn that stands for them",
        )
    return distance


Roles = tuple[tuple[str, str], ...]


def _sees(
    use: Use,
    run: v.Run,
    coalition: set[str],
    own: Views,
    used: set[tuple[bool, int, tuple[str, ...]]],
    done: dict[tuple[int, tuple[str, ...]], Fraction],
) -> Fraction:
    """The distance of what the coalition sees of one use, by the proof of its roles; uses in the same roles see the same."""
    roles = tuple(sorted(role for role, party in use.roles if party in coalition))
    key = (False, use.protocol, roles)
    if roles and (use.protocol, roles) not in done:
        if key not in own:
            raise ReplayError(
                "certificate.view", f"it has no proof of what {told(roles)} sees", run.protocol.name
            )
        used.add(key)
        done[use.protocol, roles] = v.proves_view(run, roles, own[key])
    return done.get((use.protocol, roles), Fraction(0))


def _results(use: Use, run: v.Run, coalition: set[str]) -> list[tuple[str, bool]]:
    """The results, all exact, and whether the coalition gets each."""
    if any(one.meaning is None or one.scale_bits or one.error for one in run.protocol.outputs):
        text = "a result that rounds is handed on in a proof by parts"
        raise ReplayError("certificate.view", text, run.protocol.name)
    roles = dict(use.roles)
    return [(one.name, _gets(_placed(one.holding, roles), coalition)) for one in run.protocol.outputs]


def _gets(holding: p.Holding, coalition: set[str]) -> bool:
    match holding:
        case p.Public():
            return True
        case p.Clear():
            return bool(coalition & set(holding.parties))
        case p.Shared():
            return all(coalition & set(piece.holders) for piece in holding.pieces)


def _as_one_text(
    lock: Lock,
    program: Program,
    place: int,
    members: tuple[str, ...],
    own: Views,
    used: set[tuple[bool, int, tuple[str, ...]]],
) -> Fraction:
    key = (True, place, members)
    if key not in own:
        raise ReplayError(
            "certificate.view", f"it has no proof of what {told(members)} sees of stage `{program.stage}`"
        )
    if len(program.uses) > MAX_USES_AS_ONE_TEXT or program.folded:
        raise ReplayError("certificate.beyond", "the stage is too long to be followed as one text")
    used.add(key)
    return v.proves_view(v.run(one_text(lock, program)), members, own[key])


def one_text(lock: Lock, program: Program) -> p.Protocol:
    """The stage as one protocol: every name of a use under the number of the use, every wire a step where the value lies."""
    body: list[p.Statement] = []
    have = {one.name: one.holding for one in program.inputs}
    ideal: dict[str, p.Party] = {}
    for number, use in enumerate(program.uses):
        text, roles = lock.documents.protocols[use.protocol].protocol, dict(use.roles)
        ideal |= {
            roles[one.name]: msgspec.structs.replace(one, name=roles[one.name])
            for one in text.parties
            if one.ideal is not None
        }
        for given in text.inputs:
            value = dict(use.inputs)[given.name]
            body += [
                p.Assign(q, f"{number}:{a}", p.Ref(b))
                for q, a, b in _wires(given.name, given.holding, value, have[value], roles)
            ]
        body += [_renamed(line, f"{number}:", roles) for line in text.body]
        for output in text.outputs:
            value = dict(use.outputs)[output.name]
            have[value] = _placed(output.holding, roles)
            body += [
                p.Assign(q, b, p.Ref(f"{number}:{a}"))
                for q, a, b in _wires(output.name, output.holding, value, have[value], roles)
            ]
    parties = {one.name: one for one in program.parties} | ideal
    return p.Protocol(
        f"stage {program.stage}", tuple(parties.values()), program.inputs, program.outputs, tuple(body)
    )


def _wires(
    name: str, holding: p.Holding, value: str, have: p.Holding, roles: dict[str, str]
) -> list[tuple[str, str, str]]:
    """(party, variable of the use, variable of the stage)."""
    if isinstance(holding, p.Shared) and isinstance(have, p.Shared):
        pairs = zip(holding.pieces, have.pieces, strict=True)
        return [
            (roles[role], f"{name}.{a.label}", f"{value}.{b.label}") for a, b in pairs for role in a.holders
        ]
    parties = holding.parties if isinstance(holding, p.Clear) else tuple(roles)
    return [(roles[role], name, value) for role in parties]


_PARTIES = frozenset({"party", "sender"})
_LISTS = frozenset({"holders", "receivers"})
_NAMES = frozenset({"name", "target", "key"})
_NAME_LISTS = frozenset({"keys", "members"})


def _renamed(line: Any, prefix: str, roles: dict[str, str]) -> Any:
    """A line at other parties and under other names: field by field, whatever its form."""
    fields: dict[str, Any] = {}
    for field in line.__struct_fields__:
        value = getattr(line, field)
        if field in _PARTIES:
            value = roles[value]
        elif field in _LISTS:
            value = tuple(roles[one] for one in value)
        elif field in _NAMES:
            value = prefix + value
        elif field in _NAME_LISTS:
            value = tuple(prefix + one for one in value)
        elif isinstance(value, msgspec.Struct) and not isinstance(value, p.TensorType | p.Ring | p.Integer):
            value = _renamed(value, prefix, roles)
        elif isinstance(value, tuple):
            several = cast("tuple[Any, ...]", value)
            value = tuple(
                _renamed(one, prefix, roles) if isinstance(one, msgspec.Struct) else one for one in several
            )
        fields[field] = value
    return msgspec.structs.replace(line, **fields)


def _distances(lock: Lock, policy: Policy, distances: dict[str, Fraction]) -> None:
    """Statistical distances, over the budget where there is one, within what the policy asks."""
    asked = int(policy.security.get("statistical", STATISTICAL))
    experiment = lock.documents.experiment
    runs = 1
    for what in ("requests", "max_new_tokens") if experiment is not None else ():
        runs *= max(1, int(dict(experiment.budget).get(what, "1"))) if experiment is not None else 1
    for who, distance in distances.items():
        if not 0 <= asked <= n.MAX_BITS or distance * runs > Fraction(1, 1 << asked):
            raise ReplayError("certificate.view", f"what {who} sees is hidden by less than 2^-{asked}")


# ---- what is owed and assumed ----
def _owed(
    lock: Lock, policy: Policy, distances: dict[str, Fraction], shared: set[str]
) -> set[tuple[str, int, str]]:
    """The security that the proofs rest on: of every primitive that takes part, and of streams, at the policy's level."""
    owed = {("placement.knowledge", -1, "step"), ("placement.learns", -1, "step")}
    owed |= {
        ("placement.leak", -1, f"{program.stage} {told(m)}")
        for program in lock.documents.programs
        for m in coalitions(policy)
    }
    owed |= {
        ("placement.distance", -1, f"one run of the plan {who}")
        for who, distance in distances.items()
        if distance
    }
    if lock.documents.experiment is not None and lock.documents.experiment.budget:
        owed |= {
            ("placement.distance", -1, f"the budget {who}") for who, distance in distances.items() if distance
        }
    owed |= {("placement.assumption", -1, one) for one in shared}
    asked = int(policy.security.get("computational", 0))
    for text in lock.documents.protocols:
        for name, bits in _rests_on(text.protocol):
            if bits and bits < asked:
                raise ReplayError(
                    "certificate.assumed", f"`{name}` has {bits} bits, and the policy asks {asked}"
                )
            if text.component:
                told_of = f"the security of {name}, {bits} bits" if bits else f"the security of {name}"
                owed.add(("placement.assumption", -1, told_of))
    return owed


def _rests_on(text: p.Protocol) -> set[tuple[str, int]]:
    found = {
        (one.ideal.name, one.ideal.security)
        for one in text.parties
        if one.ideal is not None and _speaks(text, one.name)
    }
    if any(isinstance(line, p.Draw) and isinstance(line.via, p.ViaPrf) for line in text.body):
        found.add(("prf", 128))
    return found


def _speaks(text: p.Protocol, name: str) -> bool:
    return any(isinstance(line, p.Send) and line.sender == name for line in text.body)


def _pattern(lock: Lock, policy: Policy) -> None:
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
