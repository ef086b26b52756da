"""Protocols one after the other: each by its own proof where that is enough, else all of them as one text.

In: a composition (protocol instances, wired by the names of the values that go in and out). Out: a view for a
coalition of the whole. The composition rule, for one coalition:

- every instance's view is proved for the coalition's roles, the honest pieces of its inputs being secrets;
- every value handed on is exactly its meaning, free of draws (`Correctness`, proved with no error), held as
  the next protocol takes it to be held, and living as long;
- what the coalition gets in the clear on the way is something that it may learn of the whole;
- an input under `needs fresh` comes from a fresh output (`View.fresh`; or is a fresh input of the whole)
  and has no other use, or the view is proved without.

Everything else is inlined and looked at as a whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import msgspec

from pllm_lang.ir import protocol as ir
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.protocol.correctness import check_outputs
from pllm_lang.verify.protocol.inlining import Composition, Instance, inlined, placed, with_names
from pllm_lang.verify.protocol.narration import narrate
from pllm_lang.verify.protocol.polynomial import TooLarge
from pllm_lang.verify.protocol.problem import CONDITIONS
from pllm_lang.verify.protocol.report import View
from pllm_lang.verify.protocol.scopes import LEVELS
from pllm_lang.verify.protocol.silent import is_silent
from pllm_lang.verify.protocol.sizes import Sizes
from pllm_lang.verify.protocol.views import prove_view

BY_PARTS = "every protocol by its own proof"
"""The reason of a view that no text of the whole was needed for."""


def prove_composition(
    whole: Composition,
    coalitions: Iterable[Iterable[str]],
    allowed: Mapping[str, Sequence[ir.Expr]] | None = None,
) -> tuple[View, ...]:
    """A view for each coalition. `allowed[party]`: expressions over the values of the inputs of the whole."""
    views: list[View] = []
    for coalition in coalitions:
        members = frozenset(coalition)
        extra = [e for party in sorted(members) for e in (allowed or {}).get(party, ())]
        views.append(prove_composed_view(whole, members, extra))
    return tuple(views)


def prove_composed_view(
    whole: Composition,
    coalition: frozenset[str],
    allowed: Sequence[ir.Expr] = (),
    conditions: frozenset[str] = CONDITIONS,
    look_for_leaks: bool = True,
    by_parts: bool = True,
) -> View:
    """The view of a coalition over the whole composition; without `by_parts` always of all protocols written out as one."""
    if by_parts and _by_parts(whole, coalition, allowed, conditions):
        return View(tuple(sorted(coalition)), Verdict.PROVED, reason=BY_PARTS)
    try:
        trace = narrate(inlined(whole), Sizes())
    except TooLarge as limit:
        return View(tuple(sorted(coalition)), Verdict.UNPROVED, reason=str(limit))
    if trace.findings:
        return View(tuple(sorted(coalition)), Verdict.UNPROVED, reason=trace.findings[0].message)
    return prove_view(trace, coalition, allowed, conditions, look_for_leaks)


def prove_by_parts(
    whole: Composition,
    coalition: frozenset[str],
    allowed: Sequence[ir.Expr] = (),
    folds: Sequence[tuple[str, str]] = (),
    again: Sequence[str] = (),
) -> View:
    """Each protocol by its own proof, or unproved: for a composition that is too long to be looked at as
    one text.

    `folds`: values that go into a stretch of instances which stands for many equal ones, each with the value that it
    hands on in its place. The rule looks at one instance at a time, at where its operands lie and whether they are fresh,
    known or used again; where both values of every pair agree in that, the next stretch is proved like this one. `again`:
    values that a stretch which is not there reads as well.
    """
    members = tuple(sorted(coalition))
    if _by_parts(whole, coalition, allowed, CONDITIONS, folds, again):
        return View(members, Verdict.PROVED, reason=BY_PARTS)
    return View(members, Verdict.UNPROVED, reason="not every protocol has a proof of its own here")


def _by_parts(
    whole: Composition,
    coalition: frozenset[str],
    allowed: Sequence[ir.Expr],
    conditions: frozenset[str],
    folds: Sequence[tuple[str, str]] = (),
    again: Sequence[str] = (),
) -> bool:
    fresh = {i.name for i in whole.inputs if i.fresh}
    uses = Counter(value for instance in whole.instances for _, value in instance.inputs)
    uses += Counter(o.name for o in whole.outputs) + Counter(again)
    silent = _silent(whole)
    lives = lives_of(whole, silent)
    if any(instance.draws for instance in whole.instances) or not _fits(whole, lives):
        return False
    if any(lives.get(first) != lives.get(last) for first, last in folds):
        return False
    for instance in whole.instances:
        if silent[id(instance.protocol)]:
            continue
        roles = frozenset(role for role, party in instance.roles if party in coalition)
        unmet = {n for n, value in instance.inputs if value not in fresh or uses[value] > 1}
        view = _own_view(_stale(instance.protocol, unmet), roles, conditions)
        if view.verdict is not Verdict.PROVED or not _exact(instance.protocol):
            return False
        outputs = dict(instance.outputs)
        fresh |= {outputs[name] for name in view.fresh}
    if any((first in fresh) != (last in fresh) for first, last in folds):
        return False
    if any(first in fresh and uses[first] == 1 and last in again for first, last in folds):
        return False  # used once in this stretch, and what stands for it in the next is used before or after
    return _nothing_on_the_way(whole, coalition, allowed, conditions, folds)


def _silent(whole: Composition) -> dict[int, bool]:
    """Whether each protocol, by its identity, is one without messages; equal protocols are mostly one."""
    protocols = {id(one.protocol): one.protocol for one in whole.instances}
    return {key: is_silent(protocol) for key, protocol in protocols.items()}


def lives_of(whole: Composition, silent: Mapping[int, bool] | None = None) -> dict[str, int]:
    """How long each value lives (`LEVELS`): what parties work out by themselves as long as what they made it of."""
    quiet = _silent(whole) if silent is None else silent
    lives = {i.name: LEVELS[i.lifetime] for i in whole.inputs}
    for instance in whole.instances:
        level = LEVELS["execution"]
        if quiet[id(instance.protocol)]:
            level = max((lives.get(value, level) for _, value in instance.inputs), default=level)
        lives.update((value, level) for _, value in instance.outputs)
    return lives


def _fits(whole: Composition, lives: Mapping[str, int]) -> bool:
    """Every value is where its instance takes it to be, and lives as long as the instance takes it to
    live."""
    holdings = {i.name: i.holding for i in whole.inputs}
    for instance in whole.instances:
        roles, wired = dict(instance.roles), dict(instance.inputs)
        for given in instance.protocol.inputs:
            value = wired.get(given.name, "")
            if value not in holdings or not _is_at(placed(given.holding, roles), holdings[value], roles):
                return False
            if lives.get(value, LEVELS["execution"]) > LEVELS[given.lifetime]:
                return False
        for output in instance.protocol.outputs:
            holdings[dict(instance.outputs)[output.name]] = placed(output.holding, roles)
    return True


def _is_at(wanted: ir.Holding, have: ir.Holding, roles: Mapping[str, str]) -> bool:
    """Public to a protocol is what everybody who takes part has."""
    match wanted, have:
        case _, ir.Public():
            return not isinstance(wanted, ir.Shared)
        case ir.Public(), ir.Clear():
            return set(roles.values()) <= set(have.parties)
        case ir.Clear(), ir.Clear():
            return set(wanted.parties) <= set(have.parties)
        case ir.Shared(), ir.Shared():
            pairs = zip(wanted.pieces, have.pieces, strict=False)
            same = [a.coefficient == b.coefficient and set(a.holders) == set(b.holders) for a, b in pairs]
            return len(wanted.pieces) == len(have.pieces) and all(same)
        case _:
            return False


def _stale(protocol: ir.Protocol, unmet: set[str]) -> ir.Protocol:
    """The protocol without `needs fresh` where that is not met; its proof may not need it for this
    coalition."""
    if not any(i.fresh and i.name in unmet for i in protocol.inputs):
        return protocol
    inputs = tuple(msgspec.structs.replace(i, fresh=False) if i.name in unmet else i for i in protocol.inputs)
    return msgspec.structs.replace(protocol, inputs=inputs)


@lru_cache(maxsize=4096)
def _own_view(protocol: ir.Protocol, roles: frozenset[str], conditions: frozenset[str]) -> View:
    try:
        trace = narrate(protocol, Sizes())
    except TooLarge as limit:
        return View(tuple(sorted(roles)), Verdict.UNPROVED, reason=str(limit))
    if trace.findings or trace.seen:
        return View(tuple(sorted(roles)), Verdict.UNPROVED, reason="it has findings of its own")
    return prove_view(trace, roles, (), conditions, False)


@lru_cache(maxsize=4096)
def _exact(protocol: ir.Protocol) -> bool:
    """Every output is its meaning, exactly."""
    if any(o.meaning is None or o.scale_bits or o.error for o in protocol.outputs):
        return False
    return all(c.verdict is Verdict.PROVED for c in check_outputs(narrate(protocol, Sizes())))


def _nothing_on_the_way(
    whole: Composition,
    coalition: frozenset[str],
    allowed: Sequence[ir.Expr],
    conditions: frozenset[str],
    folds: Sequence[tuple[str, str]] = (),
) -> bool:
    """Whether the clear values that the coalition gets between instances follow from what it may learn.

    A value made of known values is known. What else is handed out is judged on the ideal text: a trusted
    party computes every meaning and hands out what is handed out; known values are inputs of the coalition
    there.
    """
    known = {i.name for i in whole.inputs if _holds(i.holding, coalition)}
    final = {o.name for o in whole.outputs if o.meaning is None and _holds(o.holding, coalition)}
    told: list[str] = []
    for instance in whole.instances:
        roles, made = dict(instance.roles), dict(instance.outputs)
        from_known = all(value in known for _, value in instance.inputs)
        for output in instance.protocol.outputs:
            value = made[output.name]
            if from_known or (value in final and _holds(placed(output.holding, roles), coalition)):
                known.add(value)
            elif _holds(placed(output.holding, roles), coalition):
                told.append(value)
    if any((first in known) != (last in known) for first, last in folds):
        return False
    if not told or folds:  # the ideal text would have to have every turn
        return not told
    trace = narrate(_ideal(whole, coalition, known, told), Sizes())
    if trace.findings:
        return False
    return prove_view(trace, coalition, allowed, conditions, False).verdict is Verdict.PROVED


def _holds(holding: ir.Holding, coalition: frozenset[str]) -> bool:
    """Whether the coalition has the value: in the clear, or every piece."""
    match holding:
        case ir.Public():
            return True
        case ir.Clear():
            return bool(coalition & set(holding.parties))
        case ir.Shared():
            return all(coalition & set(p.holders) for p in holding.pieces)


def _ideal(
    whole: Composition, coalition: frozenset[str], known: set[str], told: Sequence[str]
) -> ir.Protocol:
    """The trusted party's text, as far as `told` needs it."""
    ideal, member = "ideal party", min(coalition)
    body: list[ir.Statement] = []
    inputs = list(whole.inputs)
    have: set[str] = set()
    for given in whole.inputs:
        body += _told(given, ideal)
        have.add(given.name)
    for instance in _cone(whole, known, told):
        names = {name: ir.Ref(value) for name, value in instance.inputs}
        for value in [v for _, v in instance.inputs if v not in have]:
            type_ = _type_of(whole, value)
            inputs.append(ir.Input(value, type_, ir.Clear((member,))))
            body.append(ir.Send(member, (ideal,), value))
            have.add(value)
        for output in instance.protocol.outputs:
            assert output.meaning is not None
            value = dict(instance.outputs)[output.name]
            body.append(ir.Assign(ideal, value, with_names(output.meaning, names)))
            have.add(value)
            if value in told:
                body.append(ir.Send(ideal, (member,), value))
    parties = (*whole.parties, ir.Party(ideal, ir.Assumption("none")))
    outputs = tuple(o for o in whole.outputs if o.meaning is not None)
    outputs = tuple(o for o in outputs if isinstance(o.holding, ir.Shared) or _holds(o.holding, coalition))
    return ir.Protocol("ideal", parties, tuple(inputs), outputs, tuple(body))


def _cone(whole: Composition, known: set[str], told: Sequence[str]) -> list[Instance]:
    """The instances that `told` depends on, up to known values."""
    needed, out = set(told), list[Instance]()
    for instance in reversed(whole.instances):
        if any(value in needed for _, value in instance.outputs):
            out.append(instance)
            needed |= {value for _, value in instance.inputs if value not in known}
    return out[::-1]


def _type_of(whole: Composition, value: str) -> ir.TensorType:
    for instance in whole.instances:
        for output in instance.protocol.outputs:
            if dict(instance.outputs).get(output.name) == value:
                return output.type
    raise KeyError(value)


def _told(given: ir.Input, ideal: str) -> list[ir.Statement]:
    """The trusted party learns an input's value."""
    match given.holding:
        case ir.Public():
            return []
        case ir.Clear():
            return [ir.Send(given.holding.parties[0], (ideal,), given.name)]
        case ir.Shared():
            pieces = given.holding.pieces
            names = [f"{given.name}.{p.label}" for p in pieces]
            sent = [ir.Send(p.holders[0], (ideal,), n) for p, n in zip(pieces, names, strict=True)]
            terms = [ir.Scale(p.coefficient, ir.Ref(n)) for p, n in zip(pieces, names, strict=True)]
            return [*sent, ir.Assign(ideal, given.name, ir.Add(tuple(terms)))]
