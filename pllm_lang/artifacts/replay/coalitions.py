"""Replay: for each coalition and stage the view is proved, by its parts or of the whole stage as one text."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb

import msgspec

from pllm_lang.artifacts.lock_data import Alone, AnyUse, Lock, Move, Use
from pllm_lang.artifacts.replay import numbers as n
from pllm_lang.artifacts.replay.holdings import At, Seated
from pllm_lang.artifacts.replay.one_text import one_text
from pllm_lang.artifacts.replay.refusal import ReplayError, told
from pllm_lang.artifacts.replay.run import Run, run
from pllm_lang.artifacts.replay.states import nothing_rounded_is_learnt
from pllm_lang.artifacts.replay.view_rule import proves_view
from pllm_lang.artifacts.replay.walked import most_runs
from pllm_lang.catalog.records import Policy
from pllm_lang.ir import protocol as p

STATISTICAL = 40
MAX_USES_AS_ONE_TEXT = 120
MAX_COALITIONS = 4096


# ---- views ----
def coalitions(policy: Policy) -> list[tuple[str, ...]]:
    """Every set of parties that an adversary of the policy may corrupt."""
    found: dict[tuple[str, ...], None] = {}
    for rule in policy.adversaries:
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


class Proofs(msgspec.Struct):
    """The evidence by (whole, where, members), what of it was used, and the distances that it showed of protocols by themselves."""

    runs: list[Run]
    moves: dict[tuple[bool, int, tuple[str, ...]], tuple[Move, ...]]
    used: set[tuple[bool, int, tuple[str, ...]]] = set()
    shown: dict[tuple[int, tuple[str, ...]], Fraction] = {}

    def take(self, whole: bool, where: int, members: tuple[str, ...], name: str) -> tuple[Move, ...]:
        key = whole, where, members
        if key not in self.moves:
            text = f"it has no proof of what {told(members)} sees"
            raise ReplayError("certificate.view", text, name)
        self.used.add(key)
        return self.moves[key]


def views_of_stages(lock: Lock, policy: Policy, runs: list[Run], stages: list[At]) -> dict[str, Fraction]:
    """How far the view of each coalition is from one that says nothing, over all stages."""
    evidence = lock.documents.certificate
    proofs = Proofs(runs, {(one.whole, one.where, one.members): one.moves for one in evidence.seen})
    if len(proofs.moves) < len(evidence.seen) or len(set(evidence.parts)) < len(evidence.parts):
        raise ReplayError("certificate.view", "it has two proofs of one view")
    flows = [
        [(use, seat, *_flow(use, seat)) for use, seat in zip(at.program.uses, at.seats, strict=True)]
        for at in stages
    ]
    made = [
        [(takes, {name for name, _ in makes}, _rounds(seat)) for _, seat, takes, makes in one]
        for one in flows
    ]
    distances: dict[str, Fraction] = {}
    parts: set[tuple[int, tuple[str, ...]]] = set()
    for members in coalitions(policy):
        total = Fraction(0)
        nothing_rounded_is_learnt(stages, made, members)
        for place, at in enumerate(stages):
            if (place, members) in evidence.parts:
                parts.add((place, members))
                total += _by_parts(at, flows[place], members, proofs)
            else:
                total += _as_one_text(at, place, members, proofs)
        distances[told(members)] = total
    if proofs.used != proofs.moves.keys() or parts != set(evidence.parts):
        raise ReplayError("certificate.view", "it has proofs of views that the policy does not ask for")
    _distances(lock, policy, distances)
    return distances


Step = tuple[AnyUse, Seated | None, set[str], list[tuple[str, p.Holding]]]
"""A use with its protocol, the values that it takes, and those that it makes with the place where each lies."""


def _flow(use: AnyUse, seat: Seated | None) -> tuple[set[str], list[tuple[str, p.Holding]]]:
    if type(use) is Use:
        gives = {} if seat is None else {one.name: holding for one, holding in seat.gives}
        return {name for _, name in use.inputs}, [(name, gives[output]) for output, name in use.outputs]
    there = p.Clear(use.parties)
    if isinstance(use, Alone):
        return set(use.inputs), [(name, there) for name in use.results]
    return {use.value}, [(use.name, there)]


def _by_parts(at: At, flow: list[Step], members: tuple[str, ...], proofs: Proofs) -> Fraction:
    """Every protocol by its own proof, each result exact, and nothing in the clear on the way but what is known or allowed."""
    coalition, total = set(members), Fraction(0)
    if at.younger:
        text = (
            f"a protocol takes `{at.younger[0]}` to live longer than it does, and is no proof by itself here"
        )
        raise ReplayError("certificate.view", text, at.stage.name)
    known = {one.name for one in at.program.inputs if _gets(one.holding, coalition)}
    final = {one.name for one in at.program.outputs if _gets(one.holding, coalition)}
    distances: dict[int, Fraction] = {}
    for use, seat, takes, makes in flow:
        if seat is not None:
            distance = distances.get(id(seat))
            if distance is None:
                distance = distances[id(seat)] = _sees(seat, coalition, proofs)
            if distance:
                total += distance * use.times
        if takes <= known:
            known.update([name for name, _ in makes])
            continue
        if type(use) is not Use and coalition.isdisjoint(use.parties):
            continue
        for name, holding in makes:
            if not _gets(holding, coalition):
                continue
            if name in final:
                known.add(name)
            else:
                text = f"{told(members)} gets `{name}` on the way, and replay does not see why it may"
                raise ReplayError("certificate.beyond", text)
    if any(before in known and after not in known for before, after in at.folds):
        text = "later turns of a repeat begin with less known than the turn that stands for them"
        raise ReplayError("certificate.beyond", text)
    return total


def _sees(seat: Seated, coalition: set[str], proofs: Proofs) -> Fraction:
    """The distance of what the coalition sees of a protocol of which every result is exact, by the proof of its roles."""
    if _rounds(seat):
        text = "a result that rounds is handed on in a proof by parts"
        raise ReplayError("certificate.view", text, seat.text.name)
    roles = tuple(sorted(role for role, party in seat.roles.items() if party in coalition))
    if roles and (seat.number, roles) not in proofs.shown:
        moves = proofs.take(False, seat.number, roles, seat.text.name)
        proofs.shown[seat.number, roles] = _proved(proofs.runs[seat.number], roles, moves)
    return proofs.shown.get((seat.number, roles), Fraction(0))


def _proved(run: Run, roles: tuple[str, ...], moves: tuple[Move, ...]) -> Fraction:
    """Of pieces that are taken for fresh, what is left may be no secret; that they are is not followed here."""
    try:
        return proves_view(run, roles, moves)
    except ReplayError as problem:
        fresh = next((given.name for given in run.protocol.inputs if given.fresh), None)
        if fresh is None or problem.code != "certificate.view":
            raise
        text = f"{problem.message}, unless the pieces of `{fresh}` are fresh, which replay does not follow"
        raise ReplayError("certificate.beyond", text, run.protocol.name) from None


def _rounds(seat: Seated | None) -> bool:
    return seat is not None and any(o.meaning is None or o.scale_bits or o.error for o, _ in seat.gives)


def _gets(holding: p.Holding, coalition: set[str]) -> bool:
    if isinstance(holding, p.Clear):
        return not coalition.isdisjoint(holding.parties)
    return isinstance(holding, p.Public) or all(coalition & set(piece.holders) for piece in holding.pieces)


def _as_one_text(at: At, place: int, members: tuple[str, ...], proofs: Proofs) -> Fraction:
    program = at.program
    moves = proofs.take(True, place, members, f"stage `{program.stage}`")
    if len(program.uses) > MAX_USES_AS_ONE_TEXT or program.folded:
        raise ReplayError("certificate.beyond", "the stage is too long to be followed as one text")
    return proves_view(run(one_text(at)), members, moves)


def _distances(lock: Lock, policy: Policy, distances: dict[str, Fraction]) -> None:
    """Statistical distances, over the budget where there is one, within what the policy asks."""
    asked = int(policy.security.get("statistical", STATISTICAL))
    runs = most_runs(lock.documents.experiment)
    for who, distance in distances.items():
        if not 0 <= asked <= n.MAX_BITS or distance * runs > Fraction(1, 1 << asked):
            raise ReplayError("certificate.view", f"what {who} sees is hidden by less than 2^-{asked}")
