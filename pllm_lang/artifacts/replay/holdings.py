"""Replay: a stage under way: where values lie, who has them, who may know them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from pllm_lang.artifacts.lock_data import Lock, Program
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.artifacts.replay.walked import Walked, form_of, record
from pllm_lang.catalog.expr import Apply, ListOf, MapOf, Num, Ref
from pllm_lang.catalog.records import Holding, Policy
from pllm_lang.ir import protocol as p
from pllm_lang.ir.plan import Operand, Placement, Stage, TensorType

OPAQUE = 1 << 64
"""The ring of a value in the clear whose format has none: a text that takes it has to take it as other numbers."""
BITS = "boolean_shares"
"""The scheme of which the pieces are bits."""
RESERVED = frozenset({"results", "lengths", "stages", "stop", "indices"})


class Held(msgspec.Struct, frozen=True):
    """A value of a stage: its name there, where it lies, who may know it, and, of what a stage begins with, the stated size of
    its numbers and how long it lives. `frac` are the fraction bits of its residues where its format has none."""

    name: str
    type: p.TensorType
    holding: p.Holding
    known: frozenset[str]
    bits: int = 0
    lives: p.Lifetime = "execution"
    frac: int | None = None


class Seated(msgspec.Struct, frozen=True):
    """A protocol with its roles given to parties: what it takes and gives, and where that lies. `parties` are those of the plan."""

    number: int
    component: str
    text: p.Protocol
    roles: dict[str, str]
    parties: frozenset[str]
    takes: tuple[tuple[p.Input, p.Holding], ...]
    gives: tuple[tuple[p.Output, p.Holding], ...]


class At(msgspec.Struct):
    """A stage under way: `seats` are its uses' protocols (None: no text), `next` counts the uses taken; `root` leads from an embedded
    or shown value to the plan's; `members` are those of a family that it begins with; `shown` the parties to which a value was shown
    for the next step. `done` are the steps whose protocol was held against them; `alone` gives the types of what parties compute
    by themselves; `written` are the states that values in the clear go into, with the names of these; `younger` are values that
    live less long than a text takes them to live, which has no proof of its own then."""

    walked: Walked
    policy: Policy
    program: Program
    stage: Stage
    seats: list[Seated | None]
    names: dict[str, Held] = {}
    values: dict[int | tuple[int, int], Held] = {}
    root: dict[str, str] = {}
    loops: dict[int, int] = {}
    shown: dict[str, frozenset[str]] = {}
    public: dict[str, list[str]] = {}
    begun: set[str] = set()
    members: dict[str, set[int]] = {}
    alone: dict[tuple[int, tuple[str, ...]], tuple[p.TensorType, ...]] = {}
    done: dict[tuple[Any, ...], tuple[bool, list[int | None]]] = {}
    times: int = 1
    folds: list[tuple[str, str]] = []
    next: int = 0
    written: list[tuple[int, str]] = []
    younger: list[str] = []
    assumed: set[str] = set()

    def refuse(self, message: str) -> ReplayError:
        return ReplayError("certificate.program", message, f"stage `{self.stage.name}`, use {self.next}")


def documents_policy(lock: Lock) -> str:
    """The key of the policy that the experiment, or else the plan, is under."""
    experiment = lock.documents.experiment
    return (experiment.policy if experiment is not None else "") or lock.documents.ir.policy


def everything_at_one(holding: p.Holding) -> bool:
    """Whether one party holds every piece."""
    if not isinstance(holding, p.Shared):
        return False
    parties = {party for piece in holding.pieces for party in piece.holders}
    return any(all(party in piece.holders for piece in holding.pieces) for party in parties)


def in_the_clear(at: At, type_: TensorType) -> p.TensorType:
    """The type of a value in the clear: residues where its format is in a ring, else one that nothing but calls compute with."""
    modulus = form_of(at.walked.lock, type_).modulus
    return p.TensorType(p.Ring(int(modulus) if modulus else OPAQUE), type_.shape)


def name_of(at: At, value: int) -> str:
    return at.walked.lock.documents.names.get(str(value), "") or f"v{value}"


def unchanged(text: p.Protocol) -> bool:
    """Whether the one result is meant to be the one operand, and nobody but parties of the plan takes part."""
    if len(text.inputs) != 1 or len(text.outputs) != 1 or any(one.ideal is not None for one in text.parties):
        return False
    output = text.outputs[0]
    return output.meaning == p.Ref(text.inputs[0].name) and not output.scale_bits and not output.error


def holding_of(at: At, place: Placement) -> p.Holding:
    """Where a placement puts a value: the pieces of a sharing are those of its record."""
    if place.kind == "public":
        return p.Public()
    if place.kind == "party":
        return p.Clear(place.parties)
    found = record(at.walked, place.holding)
    if place.kind != "shared" or not isinstance(found, Holding) or len({*place.parties}) < len(place.parties):
        raise at.refuse("nothing says who has a value, or one has two places of it")
    pieces, value = found.fields.get("pieces"), found.fields.get("value")
    if not isinstance(pieces, MapOf):
        if not _is_sum(value) and found.name != BITS:
            raise at.refuse(f"`{found.name}` does not say how its pieces make the value")
        return p.Shared(found.name, tuple(p.Piece(party, (party,)) for party in place.parties))
    signs = _signs(value, 1)
    if signs is None or signs.keys() != dict(pieces.entries).keys():
        raise at.refuse(f"`{found.name}` does not say how its pieces make the value")
    out: list[p.Piece] = []
    for label, places in pieces.entries:
        indices = [
            int(one.value)
            for one in (places.items if isinstance(places, ListOf) else (places,))
            if isinstance(one, Num)
        ]
        out.append(p.Piece(label, tuple(place.parties[i] for i in indices), signs[label]))
    return p.Shared(found.name, tuple(out))


def _is_sum(value: Any) -> bool:
    """`sum(pieces)`."""
    match value:
        case Apply(fn=fn, args=(Ref(name="pieces"),), named=()):
            return fn.rpartition(".")[2] == "sum"
        case _:
            return False


def _signs(value: Any, sign: int) -> dict[str, int] | None:
    """Of a sum of pieces, each of them once; None for anything else."""
    match value:
        case Ref(name=name):
            return {name: sign}
        case Apply(fn="+" | "-" as fn, args=(left, right)):
            one, other = _signs(left, sign), _signs(right, sign if fn == "+" else -sign)
            return None if one is None or other is None or one.keys() & other else {**one, **other}
        case _:
            return None


def held_in(at: At, operand: Operand) -> Held:
    place = operand if isinstance(operand, int) else (operand.family, index_in(at, operand.index))
    found = at.values.get(place)
    if found is None:
        raise at.refuse("a step reads a value that is not there")
    return found


def index_in(at: At, expr: Any) -> int:
    match expr:
        case Num():
            return int(expr.value)
        case Ref(name=name):
            return at.loops[int(name[1:])]
        case Apply(fn=fn, args=(left, right)) if fn in ("+", "-", "*"):
            x, y = index_in(at, left), index_in(at, right)
            return x + y if fn == "+" else x - y if fn == "-" else x * y
        case _:
            raise at.refuse("the member that a step reads is not known")


def is_boolean(holding: p.Holding) -> bool:
    return isinstance(holding, p.Shared) and holding.scheme == BITS


def lies(wanted: p.Holding, have: p.Holding) -> bool:
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


def placed_at(holding: p.Holding, roles: dict[str, str]) -> p.Holding:
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


def has_whole(held: Held, party: str) -> bool:
    match held.holding:
        case p.Public():
            return True
        case p.Clear():
            return party in held.holding.parties
        case p.Shared():
            return all(party in piece.holders for piece in held.holding.pieces)


def who_knows(at: At, operands: Iterable[Held]) -> frozenset[str]:
    """Who may know whatever follows from these."""
    known = frozenset(at.policy.parties)
    for held in operands:
        known &= known if type(held.holding) is p.Public else held.known
    return known
