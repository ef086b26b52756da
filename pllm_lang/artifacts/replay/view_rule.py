"""Replay: the view of a coalition, proved by the moves of the certificate under the conditions (a) to (f).

Nothing is searched for here: which draw hides which message is evidence, and the conditions of `docs/soundness.md` are looked at
one by one. What the messages then still show is either known to the coalition, or made of draws alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import reduce
from math import gcd, prod
from typing import Any, TypeAlias

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
    evaluate,
    make,
    mapped,
    names_in,
    plus,
    replaced,
    times,
)
from pllm_lang.ir import protocol as p


# ---- the view of a coalition ----
class Frame(msgspec.Struct):
    """What a coalition knows, and what it is sent, by number, less what it can work out. Whatever it does not know and nobody drew
    is a secret. `masks` are the draws that are not used yet, `changed` the changes of names made so far, in order."""

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
    whole = [value for name, value in _learnt(out, frame) if not _solve(frame, name, value)]
    for move in moves:
        _move(frame, move)
    allowed = _allowed(frame, whole)
    for number, one in frame.terms.items():
        left = frame.secrets_of(_without(one, allowed))
        if left:
            text = f"message {number} shows something of `{min(left).strip(HIDDEN)}` to {told(members)}"
            raise ReplayError("certificate.view", text, out.protocol.name)
    return frame.distance


def _frame(out: Run, members: frozenset[str]) -> Frame:
    known = {name for given in out.protocol.inputs for name in _begins_with(given, members)}
    known |= {name for name, one in out.draws.items() if one.holders & members}
    masks = {name: one for name, one in out.draws.items() if name not in known}
    levels = {**out.level, **{name: one.level for name, one in out.draws.items()}}
    received = [x for sender, to, _, x in out.sent if sender not in members and members & {*to}]
    frame = Frame(out, members, known, masks, levels, {}, [])
    frame.terms = {number: _unknown(frame, one) for number, one in enumerate(received)}
    for given in out.protocol.inputs:
        if isinstance(given.holding, p.Shared):
            _tie(frame, given, given.holding)
    return frame


def _begins_with(given: p.Input, members: frozenset[str]) -> list[str]:
    """What the coalition has of an input from the start, by the input's own word: a variable of that name is no input."""
    match given.holding:
        case p.Public():
            return [given.name]
        case p.Clear(parties=parties):
            return [given.name] if members & {*parties} else []
        case p.Shared(pieces=pieces):
            return [f"{given.name}.{one.label}" for one in pieces if members & {*one.holders}]


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
    whole = plus(atom(value, given.type), *others)
    _everywhere(frame, f"{given.name}.{last.label}", times(last.coefficient, whole))


def _everywhere(frame: Frame, name: str, value: Sum) -> None:
    frame.changed.append((name, value))
    frame.terms = {number: _unknown(frame, replaced(x, name, value)) for number, x in frame.terms.items()}


def _unknown(frame: Frame, x: Sum) -> Sum:
    """Without the terms that the coalition can work out and subtract."""
    kept = {f: c for f, c in x.terms.items() if not all(one[1] in frame.known for one in atoms(f))}
    return Sum(x.modulus, x.shape, kept)


def _seen(frame: Frame, name: str, level: int, modulus: int, shape: tuple[Any, ...]) -> Sum:
    """A new value that the coalition knows."""
    frame.known.add(HIDDEN + name)
    frame.levels[HIDDEN + name] = level
    return Sum(modulus, shape, {("atom", HIDDEN + name, modulus, shape): 1})


# ---- what may be learnt ----
def _learnt(out: Run, frame: Frame) -> Iterator[tuple[str, Sum]]:
    """Outputs in the clear to a member, free of draws: what the coalition may learn."""
    for output in out.protocol.outputs:
        if isinstance(output.holding, p.Shared):
            continue
        to = output.holding.parties if isinstance(output.holding, p.Clear) else frame.members
        holders = [q for q in sorted(frame.members & {*to}) if (q, output.name) in out.held]
        if not holders:
            continue
        value = out.get(holders[0], output.name)
        if output.meaning is not None and not output.scale_bits and not output.error:
            value = evaluate(output.meaning, lambda name: out.values[name])
        if not names_in(value) & out.draws.keys():
            yield output.name, value


def _renamed(frame: Frame, x: Sum) -> Sum:
    """In the names that are left after the changes so far."""
    return reduce(lambda one, change: replaced(one, *change), frame.changed, x)


def _solve(frame: Frame, name: str, value: Sum) -> bool:
    """An allowed output with a secret once and alone, a unit before it, gives that secret; whether it does."""
    value = _renamed(frame, value)
    unknown, modulus = _unknown(frame, value), value.modulus
    for factor, c in unknown.terms.items():
        rest = _less(unknown, factor)
        alone = factor[0] == "atom" and factor[1] in frame.secrets_of(unknown) - names_in(rest)
        if modulus and alone and factor[2] == modulus and gcd(c, modulus) == 1:
            level = max(frame.levels[one] for one in names_in(value))
            seen = _seen(frame, f"output {name}", level, modulus, value.shape)
            _everywhere(frame, factor[1], times(pow(c, -1, modulus), plus(seen, times(-1, rest))))
            return True
    return False


def _allowed(frame: Frame, outputs: list[Sum]) -> list[tuple[Factor, Sum]]:
    """Allowed outputs that give no secret alone, in the names of the end and less what is known, each with a factor of it: one with a
    unit before it where there is such a one, so that no later output has it."""
    found: list[tuple[Factor, Sum]] = []
    for output in outputs:
        left = _without(_unknown(frame, _renamed(frame, output)), found)
        if left.modulus and left.terms:
            found.append((min(left.terms, key=lambda f: gcd(left.terms[f], left.modulus)), left))
    return found


def _without(x: Sum, allowed: list[tuple[Factor, Sum]]) -> Sum:
    """Less multiples of allowed outputs, each as often as takes its factor out: whoever has the outputs knows the difference."""
    for factor, value in allowed:
        if factor in x.terms and (x.modulus, x.shape) == (value.modulus, value.shape):
            x = plus(x, times(-_times(x.terms[factor], value.terms[factor], x.modulus), value))
    return x


def _times(c: int, unit: int, modulus: int) -> int:
    """How often `unit` goes into `c` in the ring; 0 where that is not clear."""
    if gcd(unit, modulus) == 1:
        return c * pow(unit, -1, modulus)
    c, unit = _centred(c, modulus), _centred(unit, modulus)
    return c // unit if c % unit == 0 else 0


def _centred(c: int, modulus: int) -> int:
    """The residue nearest to 0; modulus 0 says integers."""
    return c - modulus if modulus and 2 * c > modulus else c


def _less(x: Sum, factor: Factor) -> Sum:
    return Sum(x.modulus, x.shape, {f: c for f, c in x.terms.items() if f != factor})


# ---- the view rule ----
Need: TypeAlias = Callable[[object, str], None]


def _move(frame: Frame, move: Move) -> None:
    """One use of the view rule: the message is g (c r + f), and what is seen of it is u = c r + f, as if r were drawn after it. The
    letters are the conditions."""

    def need(holds: object, why: str) -> None:
        if not holds:
            text = f"`{move.draw}` does not hide message {move.term}: {why}"
            raise ReplayError("certificate.view", text, frame.run.protocol.name)

    need(move.term in frame.terms, "there is no such message, or it was used before")
    if move.draw not in frame.masks and move.draw.partition("[")[0] in frame.masks:
        raise ReplayError(
            "certificate.beyond", f"it cuts a draw into blocks: `{move.draw}`", frame.run.protocol.name
        )
    need(move.draw in frame.masks, "(e) the coalition knows it, or it is no draw")
    term, drawn = frame.terms[move.term], frame.masks[move.draw]
    need(not drawn.blocked, "(e) a function takes its key")
    places = [f for f in term.terms if move.draw in _names(f)]
    need(len(places) == 1, "(d) it does not stand there once")
    back = _way_back(places[0])
    need(back is not None, "(a) its entries are not those of the message, one for one")
    need(
        max(map(frame.levels.__getitem__, names_in(term))) == drawn.level,
        "(f) it does not live as long as it",
    )
    mask = _integer_mask if move.distance else _ring_mask
    inverse, f = mask(frame, move, term.terms[places[0]], _less(term, places[0]), need)
    del frame.terms[move.term], frame.masks[move.draw]
    u = _seen(frame, f"seen {move.term}", drawn.level, f.modulus, f.shape)
    r = times(inverse, plus(u, times(-1, f)))
    _everywhere(frame, move.draw, reduce(lambda x, way: mapped(x, *way), back or (), r))


def _names(x: Factor) -> set[str]:
    return {one[1] for one in atoms(x)}


def _way_back(x: Factor) -> list[tuple[tuple[Any, ...], tuple[Any, ...]]] | None:
    """The maps from the message's entries to those of the one atom in it: of transposes and reshapes only."""
    found: list[tuple[tuple[Any, ...], tuple[Any, ...]]] = []
    while x[0] == "map" and x[2][0] in ("transpose", "reshape"):
        what = x[2]
        if what[0] == "transpose":
            what = "transpose", tuple(what[1].index(axis) for axis in range(len(what[1])))
        found.append((what, x[3]))
        (x,) = x[1]
    return found if x[0] == "atom" else None


def _ring_mask(frame: Frame, move: Move, c: int, rest: Sum, need: Need) -> tuple[int, Sum]:
    """1 / c and f."""
    modulus, g = rest.modulus, int(move.divided)
    uniform = modulus and frame.masks[move.draw].value.modulus == modulus and move.modulus == str(modulus)
    need(uniform, "(b) it is not uniform over the ring of the message")
    divides = g > 0 and not any(one % g for one in (modulus, c, *rest.terms.values()))
    need(divides, "(c) the common factor does not divide it")
    unit = c // g
    stated = unit == int(move.coefficient) and gcd(unit, modulus) == 1
    need(stated, "(c) what stands before it is no unit, or not what is stated")
    return pow(unit, -1, modulus), make(modulus, rest.shape, ((f, one // g) for f, one in rest.terms.items()))


def _integer_mask(frame: Frame, move: Move, c: int, rest: Sum, need: Need) -> tuple[int, Sum]:
    """`v + r`, r uniform below 2^bits and |v| < 2^e: at most 2^(e - bits) an entry; the other messages take r = u - v, u the whole
    number. So v is one too: a polynomial with the centred values of its atoms, of which others may ask residues only."""
    modulus, bits = rest.modulus, frame.masks[move.draw].bits
    sign = 1 if c == 1 else -1 if c in (-1, modulus - 1) else 0
    stated = (move.modulus, move.divided, int(move.coefficient)) == ("0", "1", sign)
    need(bits and sign and stated and move.distance <= MAX_BITS, "(b) it is no integer mask of this message")
    width = range_of(frame.run, rest)
    small = width is not None and width << move.distance <= 1 << bits
    need(small, "what it hides is not shown to be so small")
    rings = {
        one[2] for f in rest.terms for one in atoms(f) if one[2]
    }  # each maps onto this ring, or stands in a call
    for number, other in frame.terms.items():
        inside = [f for f in other.terms if move.draw in _names(f)]
        whole = any(move.draw in _names(one) for f in inside for one in calls(f)) or not other.modulus
        if number != move.term and inside and rings:
            residue = not whole and not any(ring % other.modulus for ring in rings)
            need(residue, "another message uses it in a way that needs more than its residue")
    frame.distance += Fraction(prod(rest.shape), 1 << move.distance)
    centred = {f: _centred(one, modulus) for f, one in rest.terms.items()}
    return sign, Sum(0, rest.shape, centred)
