"""Replay: the view of a coalition, proved by the moves of the certificate under the conditions (a) to (f).

Nothing is searched for here: which draw hides which message is evidence, and the conditions of `docs/soundness.md` are looked at
one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from math import gcd, prod
from typing import TypeAlias

import msgspec

from pllm_lang.artifacts.lock_data import Move
from pllm_lang.artifacts.replay.numbers import MAX_BITS
from pllm_lang.artifacts.replay.outputs import range_of
from pllm_lang.artifacts.replay.refusal import ReplayError, told
from pllm_lang.artifacts.replay.run import HIDDEN, LEVEL, Drawn, Run
from pllm_lang.artifacts.replay.sums import (
    Factor,
    Sum,
    atom,
    atoms,
    calls,
    cast_back,
    evaluate,
    make,
    mapped,
    names_in,
    plus,
    replaced,
    shape_before,
    times,
)
from pllm_lang.ir import protocol as p


# ---- the view of a coalition ----
class Frame(msgspec.Struct):
    """What a coalition knows, and what it is sent, by number. Whatever it does not know and nobody drew is a secret.
    `changed` are the changes of names made so far, in order."""

    run: Run
    members: frozenset[str]
    known: set[str]
    masks: dict[str, Drawn]
    levels: dict[str, int]
    terms: dict[int, Sum]
    changed: list[tuple[str, Sum]]
    distance: Fraction = Fraction(0)

    def secrets_of(self, x: Sum) -> set[str]:
        return names_in(x) - self.known - self.run.draws.keys()


def proves_view(out: Run, members: Iterable[str], moves: tuple[Move, ...]) -> Fraction:
    """The statistical distance of the view to one that says nothing; raises ReplayError where a secret is left."""
    if not out.sent and not moves:
        return Fraction(0)  # nobody is sent anything
    frame = _frame(out, frozenset(members))
    for name, value in _learnt(out, frame):
        _solve(frame, name, value)
    frame.terms = {number: _unknown(frame, one) for number, one in frame.terms.items()}
    for move in moves:
        _move(frame, move)
    for number, one in frame.terms.items():
        left = frame.secrets_of(one)
        if left:
            text = f"message {number} shows something of `{min(left).strip(HIDDEN)}` to {told(members)}"
            raise ReplayError("certificate.view", text, out.protocol.name)
    return frame.distance


def _frame(out: Run, members: frozenset[str]) -> Frame:
    known = {name for given in out.protocol.inputs for name in _begins_with(given, members)}
    known |= {name for name, one in out.draws.items() if one.holders & members}
    masks = {name: one for name, one in out.draws.items() if name not in known}
    levels = {**out.level, **{name: one.level for name, one in out.draws.items()}}
    seen = [
        value
        for sender, receivers, _, value in out.sent
        if sender not in members and members & set(receivers)
    ]
    frame = Frame(out, members, known, masks, levels, dict(enumerate(seen)), [])
    for given in out.protocol.inputs:
        if isinstance(given.holding, p.Shared):
            _tie(frame, given, given.holding)
    return frame


def _begins_with(given: p.Input, members: frozenset[str]) -> list[str]:
    """What the coalition has of an input from the start, by the input's own word: a variable of that name is no input."""
    match given.holding:
        case p.Public():
            return [given.name]
        case p.Clear():
            return [given.name] if members & set(given.holding.parties) else []
        case p.Shared():
            own = [piece for piece in given.holding.pieces if members & set(piece.holders)]
            return [f"{given.name}.{piece.label}" for piece in own]


def _tie(frame: Frame, given: p.Input, holding: p.Shared) -> None:
    """The last honest piece is the value less the others: a change of names. `needs fresh` makes the others draws; who hands
    such an input over has to show that they are."""
    honest = [one for one in holding.pieces if f"{given.name}.{one.label}" not in frame.known]
    units = [one for one in honest if one.coefficient in (1, -1)]
    if not units:
        return
    last, value = units[-1], HIDDEN + given.name
    frame.levels[value] = LEVEL[given.lifetime]
    others = [
        times(-one.coefficient, atom(f"{given.name}.{one.label}", given.type))
        for one in holding.pieces
        if one != last
    ]
    _everywhere(
        frame, f"{given.name}.{last.label}", times(last.coefficient, plus(atom(value, given.type), *others))
    )


def _everywhere(frame: Frame, name: str, value: Sum) -> None:
    frame.changed.append((name, value))
    frame.terms = {number: replaced(one, name, value) for number, one in frame.terms.items()}


def _learnt(out: Run, frame: Frame) -> list[tuple[str, Sum]]:
    """Outputs in the clear to a member, free of draws: what the coalition may learn."""
    found: list[tuple[str, Sum]] = []
    for output in out.protocol.outputs:
        mine = [q for q in sorted(frame.members) if (q, output.name) in out.held]
        to_members = isinstance(output.holding, p.Public) or (
            isinstance(output.holding, p.Clear) and frame.members & set(output.holding.parties)
        )
        if not to_members or not mine:
            continue
        exact = output.meaning is not None and not output.scale_bits and not output.error
        value = (
            evaluate(output.meaning, lambda name: out.values[name])
            if exact and output.meaning is not None
            else out.get(mine[0], output.name)
        )
        if not names_in(value) & set(out.draws):
            found.append((output.name, value))
    return found


def _solve(frame: Frame, name: str, value: Sum) -> None:
    """An allowed output with a secret once and alone, a unit before it, gives that secret."""
    for changed, by in frame.changed:
        value = replaced(value, changed, by)
    unknown = _unknown(frame, value)
    for factor, c in unknown.terms.items():
        if factor[0] != "atom" or factor[1] not in frame.secrets_of(unknown) or gcd(c, value.modulus) != 1:
            continue
        rest = Sum(value.modulus, value.shape, {f: d for f, d in unknown.terms.items() if f != factor})
        if factor[1] in names_in(rest) or value.modulus != factor[2] or not value.modulus:
            continue
        fresh = f"{HIDDEN}output {name}"
        frame.known.add(fresh)
        frame.levels[fresh] = max((frame.levels[one] for one in names_in(value)), default=0)
        seen = Sum(value.modulus, value.shape, {("atom", fresh, value.modulus, value.shape): 1})
        _everywhere(frame, factor[1], times(pow(c, -1, value.modulus), plus(seen, times(-1, rest))))
        return


def _unknown(frame: Frame, x: Sum) -> Sum:
    """Without the terms that the coalition can work out and subtract."""
    kept = {f: c for f, c in x.terms.items() if not all(one[1] in frame.known for one in atoms(f))}
    return Sum(x.modulus, x.shape, kept)


def _move(frame: Frame, move: Move) -> None:
    """One use of the view rule. The letters are its conditions."""
    where, term = frame.run.protocol.name, frame.terms.get(move.term)
    drawn = frame.masks.get(move.draw)

    def refuse(why: str) -> ReplayError:
        return ReplayError(
            "certificate.view", f"`{move.draw}` does not hide message {move.term}: {why}", where
        )

    if term is None:
        raise refuse("there is no such message, or it was used before")
    if drawn is None or drawn.blocked:
        raise refuse("(e) the coalition knows it, or it is no draw")
    holding = [f for f in term.terms if any(one[1] == move.draw for one in atoms(f))]
    if len(holding) != 1:
        raise refuse("(d) it does not stand there once")
    (place,), inverse = holding, _inverse(holding[0], move.draw)
    if inverse is None:
        raise refuse("(a) its entries are not those of the message, one for one")
    if max(frame.levels[name] for name in names_in(term)) != drawn.level:
        raise refuse("(f) it does not live as long as the message")
    rest = Sum(term.modulus, term.shape, {f: c for f, c in term.terms.items() if f != place})
    if move.distance:
        value = _integer_mask(frame, move, drawn, term.terms[place], rest, term, refuse)
    else:
        value = _ring_mask(move, drawn, term.terms[place], rest, term, refuse)
    fresh = f"{HIDDEN}seen {move.term}"
    frame.known.add(fresh)
    frame.levels[fresh] = drawn.level
    del frame.terms[move.term], frame.masks[move.draw]
    solved = inverse(
        value(Sum(0, term.shape, {("atom", fresh, 0 if move.distance else term.modulus, term.shape): 1}))
    )
    _everywhere(frame, move.draw, solved)
    frame.terms = {number: _unknown(frame, one) for number, one in frame.terms.items()}


Refuse: TypeAlias = Callable[[str], ReplayError]
Solved: TypeAlias = Callable[[Sum], Sum]


def _ring_mask(move: Move, drawn: Drawn, c: int, rest: Sum, term: Sum, refuse: Refuse) -> Solved:
    modulus, divided = term.modulus, int(move.divided)
    if not modulus or drawn.value.modulus != modulus or move.modulus != str(modulus):
        raise refuse("(b) it is not uniform over the ring of the message")
    if divided < 1 or modulus % divided or any(one % divided for one in term.terms.values()):
        raise refuse("(c) the common factor does not divide it")
    unit = c // divided
    if unit != int(move.coefficient) or gcd(unit, modulus) != 1:
        raise refuse("(c) what stands before it is no unit, or not what is stated")
    less = make(modulus, term.shape, ((f, -(one // divided)) for f, one in rest.terms.items()))
    return lambda seen: times(pow(unit, -1, modulus), plus(cast_back(seen, modulus), less))


def _integer_mask(
    frame: Frame, move: Move, drawn: Drawn, c: int, rest: Sum, term: Sum, refuse: Refuse
) -> Solved:
    """`v + r`, r uniform below 2^bits and |v| < 2^e: at most 2^(e - bits) an entry; the other messages take r = u - v."""
    modulus = term.modulus
    sign = 1 if c == 1 else -1 if c in (-1, modulus - 1) else 0
    width = range_of(frame.run, rest)
    if (
        not drawn.bits
        or not sign
        or move.modulus != "0"
        or int(move.coefficient) != sign
        or move.divided != "1"
        or move.distance > MAX_BITS
    ):
        raise refuse("(b) it is no integer mask of this message")
    if width is None or (1 << drawn.bits) < width << move.distance:
        raise refuse("what it hides is not shown to be so small")
    rings = {one[2] for f in rest.terms for one in atoms(f) if one[2]}
    if any(modulus == 0 or ring % modulus for ring in rings if modulus != ring):
        raise refuse("what it hides has no value in this ring")
    for number, other in frame.terms.items():
        inside = {f for f in other.terms if any(one[1] == move.draw for one in atoms(f))}
        hidden = any(move.draw in names_in(Sum(0, (), {call: 1})) for f in inside for call in calls(f))
        if (
            number != move.term
            and inside
            and rings
            and (hidden or not other.modulus or any(r % other.modulus for r in rings))
        ):
            raise refuse("another message uses it in a way that needs more than its residue")
    count = prod(dim for dim in term.shape if isinstance(dim, int))
    frame.distance += Fraction(count, 1 << move.distance)
    centred = {f: one - modulus if modulus and 2 * one > modulus else one for f, one in rest.terms.items()}
    whole = Sum(0, term.shape, {f: -one for f, one in centred.items()})
    return lambda seen: times(sign, plus(seen, whole))


def _inverse(x: Factor, name: str) -> Callable[[Sum], Sum] | None:
    """The map from the message's entries back to the draw's: of transposes, reshapes and permutations of an axis only."""
    if x[0] == "atom":
        return lambda value: value
    if x[0] != "map" or x[1][0] not in ("transpose", "reshape"):
        return None
    inner = _inverse(x[2], name)
    before = shape_before(x)
    if inner is None:
        return None
    kind, data = x[1]
    if kind == "reshape":
        return lambda value: inner(mapped(value, ("reshape", value.shape), before))
    back = tuple(data.index(axis) for axis in range(len(data)))
    return lambda value: inner(mapped(value, ("transpose", back), before))
