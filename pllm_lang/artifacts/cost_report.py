"""What a plan costs, as data and as a document (`pllm.lang.cost.v1`, schema in `schemas/`).

Counts are exact and those of the plan's own sizes: the largest input, every token of the budget. Bytes are those of the
values sent, without what a transport adds; rounds are an upper bound, one protocol after the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from pllm_lang.text.json_text import json_text

SCHEMA = "pllm.lang.cost.v1"


class Link(msgspec.Struct, frozen=True, order=True):
    phase: str
    sender: str
    receiver: str
    messages: int
    bytes: int


class Rounds(msgspec.Struct, frozen=True, order=True):
    phase: str
    rounds: int


class Material(msgspec.Struct, frozen=True, order=True):
    """One-use material that is burnt: `count` units of a component's bundle, one each `unit` (entry, row or call)."""

    component: str
    bundle: str
    unit: str
    count: int


class Work(msgspec.Struct, frozen=True, order=True):
    """Multiply-accumulates of matrix products at a party."""

    phase: str
    party: str
    macs: int


class Amount(msgspec.Struct, frozen=True):
    links: tuple[Link, ...] = ()
    rounds: tuple[Rounds, ...] = ()
    material: tuple[Material, ...] = ()
    work: tuple[Work, ...] = ()


class StageCost(msgspec.Struct, frozen=True):
    """`cost` is that of one run; `runs` how often the stage runs in one request."""

    stage: str
    runs: int
    cost: Amount


class Memory(msgspec.Struct, frozen=True):
    """Bytes at a party: weights and states that it uses, and the operands, results and workspace of its largest call.
    `available` is its machine's, None where no deployment says."""

    party: str
    weights: int
    states: int
    largest_call: int
    available: int | None = None


class CostReport(msgspec.Struct, frozen=True):
    """`per_token` is one run of the last stage, `total` all requests of the budget (one where there is none)."""

    schema: str
    plan: str
    accepted: bool
    budget: dict[str, int]
    stages: tuple[StageCost, ...]
    per_token: Amount
    per_request: Amount
    total: Amount
    memory: tuple[Memory, ...]


def summed(parts: Iterable[tuple[Amount, int]]) -> Amount:
    """The sum of amounts, each so many times."""
    links: Counter[tuple[str, str, str]] = Counter()
    sizes: Counter[tuple[str, str, str]] = Counter()
    rounds: Counter[str] = Counter()
    material: Counter[tuple[str, str, str]] = Counter()
    work: Counter[tuple[str, str]] = Counter()
    for amount, times in parts:
        for link in amount.links:
            links[link.phase, link.sender, link.receiver] += link.messages * times
            sizes[link.phase, link.sender, link.receiver] += link.bytes * times
        for one in amount.rounds:
            rounds[one.phase] += one.rounds * times
        for need in amount.material:
            material[need.component, need.bundle, need.unit] += need.count * times
        for done in amount.work:
            work[done.phase, done.party] += done.macs * times
    return Amount(
        tuple(Link(*key, count, sizes[key]) for key, count in sorted(links.items())),
        tuple(Rounds(*item) for item in sorted(rounds.items())),
        tuple(Material(*key, count) for key, count in sorted(material.items())),
        tuple(Work(*key, count) for key, count in sorted(work.items()) if count),
    )


def document(report: CostReport) -> bytes:
    """The report as indented JSON."""
    return json_text(report).encode()
