"""Two locks compared by who has what they begin and end with.

In: two locks. Out: changes as (aspect, what, before, after, weaker): a weight, input or state that more parties hold, under its old
name or another, an output that goes to more, and either in the clear where a party had a piece of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from pllm_lang.artifacts.lock_data import Lock
from pllm_lang.ir.plan import Input, Placement, State, Weight

Told = tuple[Literal["privacy"], str, str, str, bool]
ALL = frozenset({"everybody"})
NONE = "none"
PIECE = "a piece at "
"""Begins what a party has that holds a piece; one that has a value in the clear has this as well."""


def holders(first: Lock, second: Lock) -> Iterator[Told]:
    yield from _held("who begins with", _begun(first), _begun(second))
    yield from _renamed("who begins with", _begun(first), _begun(second))
    yield from _held("who gets", _ended(first), _ended(second))


def _held(what: str, old: dict[str, frozenset[str]], new: dict[str, frozenset[str]]) -> Iterator[Told]:
    for name in sorted(old.keys() & new.keys()):
        a, b = old[name], new[name]
        if a != b:
            more = a != ALL and not b <= a
            yield "privacy", f"{what} `{name}`", _told(a), _told(b), more


def _renamed(what: str, old: dict[str, frozenset[str]], new: dict[str, frozenset[str]]) -> Iterator[Told]:
    """What only one of them has. It may be the other's under another name: then as few should have it as had some of those."""
    lost, gained = sorted(old.keys() - new.keys()), sorted(new.keys() - old.keys())
    for name in lost:
        yield "privacy", f"{what} `{name}`", _told(old[name]), NONE, False
    for name in gained:
        kept = any(old[one] == ALL or new[name] <= old[one] for one in lost)
        yield "privacy", f"{what} `{name}`", NONE, _told(new[name]), bool(lost) and not kept


def _told(parties: frozenset[str]) -> str:
    clear = sorted(party for party in parties if not party.startswith(PIECE))
    pieces = sorted(parties - {*clear, *(PIECE + party for party in clear)})
    return " and ".join((*clear, *pieces)) or "nobody"


def _clear(parties: Iterable[str]) -> frozenset[str]:
    return frozenset(one for party in parties for one in (party, PIECE + party))


def _pieces(parties: Iterable[str]) -> frozenset[str]:
    return frozenset(PIECE + party for party in parties)


def _name(lock: Lock, stage: str, value: int) -> str:
    return (f"{stage}." if stage else "") + lock.documents.names.get(str(value), f"v{value}")


def _given(lock: Lock) -> Iterator[tuple[str, Input | Weight | State]]:
    plan = lock.documents.ir
    for one in (*plan.inputs, *plan.weights, *plan.states):
        yield _name(lock, "", one.value), one
    for stage in plan.stages:
        for one in stage.inputs:
            yield _name(lock, stage.name, one.value), one


def _begun(lock: Lock) -> dict[str, frozenset[str]]:
    """Parties that have a weight, an input or a state, or pieces of it, when a stage begins."""
    policy = lock.documents.policy
    parties = frozenset[str]() if policy is None else frozenset(policy.parties)
    found: dict[str, frozenset[str]] = {}
    for name, one in _given(lock):
        if isinstance(one, Weight):
            found[name] = _clear(parties - set(one.secret_from)) if one.secret_from else ALL
        else:
            found[name] = _at(one.placement)
    return found


def _at(place: Placement) -> frozenset[str]:
    if place.kind == "public":
        return ALL
    return _pieces(place.parties) if place.kind == "shared" else _clear(place.parties)


def _ended(lock: Lock) -> dict[str, frozenset[str]]:
    return {
        _name(lock, stage.name, one.value): _clear(one.to) | _pieces(one.holders)
        for stage in lock.documents.ir.stages
        for one in stage.outputs
    }
