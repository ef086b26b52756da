"""Two locks compared by who has what they begin and end with, and by what they ask of it.

In: two locks. Out: changes as (aspect, what, before, after, weaker): a weight, input or state that more parties hold, under its old
name or another, an output that goes to more, a range that an input is promised to keep and that is narrower, so that less is proved.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pllm_lang.artifacts.lock_data import Lock
from pllm_lang.exact.number import exact
from pllm_lang.ir.plan import Bound, Input, Placement, State, Weight
from pllm_lang.verify.numbers import shown

Told = tuple[Literal["privacy", "bounds"], str, str, str, bool]
ALL = frozenset({"everybody"})
NONE = "none"


def holders(first: Lock, second: Lock) -> Iterator[Told]:
    yield from _held("who begins with", _begun(first), _begun(second))
    yield from _renamed("who begins with", _begun(first), _begun(second))
    yield from _held("who gets", _ended(first), _ended(second))
    old, new = _promised(first), _promised(second)
    for name in sorted(old.keys() & new.keys()):
        yield from _asked(name, old[name], new[name])


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
    return " and ".join(sorted(parties)) or "nobody"


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
            found[name] = parties - set(one.secret_from) if one.secret_from else ALL
        else:
            found[name] = _at(one.placement)
    return found


def _at(place: Placement) -> frozenset[str]:
    return ALL if place.kind == "public" else frozenset(place.parties)


def _ended(lock: Lock) -> dict[str, frozenset[str]]:
    return {
        _name(lock, stage.name, one.value): frozenset((*one.to, *one.holders))
        for stage in lock.documents.ir.stages
        for one in stage.outputs
    }


# ---- what inputs and weights are promised to keep ----
def _promised(lock: Lock) -> dict[str, dict[str, str]]:
    """The tightest limit of each slot, which every proof rests on."""
    return {name: _limits(one.bounds) for name, one in _given(lock)}


def _limits(bounds: tuple[Bound, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for bound in bounds:
        before = found.get(bound.slot)
        if before is None or _tighter(bound.slot, bound.limit, before):
            found[bound.slot] = bound.limit
    return found


def _tighter(slot: str, limit: str, other: str) -> bool:
    return exact(limit) > exact(other) if slot == "min" else exact(limit) < exact(other)


def _asked(name: str, old: dict[str, str], new: dict[str, str]) -> Iterator[Told]:
    for slot in sorted(old.keys() | new.keys()):
        a, b = old.get(slot), new.get(slot)
        if a != b:
            tighter = b is not None and (a is None or _tighter(slot, b, a))
            yield "bounds", f"{slot} that `{name}` has to keep", _limit(a), _limit(b), tighter


def _limit(text: str | None) -> str:
    return "none" if text is None else shown(exact(text))
