"""What a proof attempt about a protocol ends in: verdicts with their evidence. Data only.

Evidence is meant to be replayed by code that shares nothing with the prover but these types: the substitution
steps in order, each with the data of its side conditions, and for each view term how it ended.
"""

from __future__ import annotations

import msgspec

from pllm_lang.ir.protocol import Assumption
from pllm_lang.text.finding import Verdict


class Finding(msgspec.Struct, frozen=True, array_like=True):
    """Something that is wrong or unknown, and the statements behind it."""

    code: str
    message: str
    origins: tuple[int, ...] = ()
    verdict: Verdict = Verdict.REFUTED


# ---- views ----
class Step(msgspec.Struct, frozen=True, array_like=True):
    """`draw` was replaced through a term: the term is fresh and uniform from here on.

    `term` counts what the coalition is sent by others, from 0, in the order of the text; `part` the blocks
    that the term was cut into. A draw that was cut is named with its block: `r[0:2]`, `r[,1:3]` for the
    second axis.

    The term, after subtracting what the coalition knows and dividing by `divided`, reads
    `coefficient * draw[map] + rest` modulo `modulus` (0: integers, `distance` bits as in `statistical`).
    `map` gives each axis of the draw as an index expression over the entry of the term (rendered).
    """

    term: int
    draw: str
    coefficient: int
    divided: int
    modulus: int
    map: tuple[str, ...] = ()
    distance: int = 0
    part: int = 0


class Learnt(msgspec.Struct, frozen=True, array_like=True):
    """`secret` was expressed through an allowed output, which the coalition learns anyway."""

    output: str
    secret: str


class Ended(msgspec.Struct, frozen=True, array_like=True):
    """How a view term ended: `fresh` (by a step), or `free` of secrets once the steps and outputs were
    used."""

    term: int
    message: str
    how: str
    part: int = 0


class Statistical(msgspec.Struct, frozen=True, array_like=True):
    """An integer mask: distance at most `entries` * 2^-`exponent`; sizes that are symbols stay in
    `entries`."""

    message: str
    draw: str
    exponent: int
    entries: str


class Leak(msgspec.Struct, frozen=True, array_like=True):
    """A distinguisher, executed before it was reported.

    `combination` of received messages equals `secret`, an expression without draws; with the two inputs it
    takes `values`, while every allowed output is the same. `setting` says at which sizes (and ring) it was
    executed.
    """

    combination: str
    secret: str
    origins: tuple[int, ...]
    inputs: tuple[tuple[str, ...], tuple[str, ...]]
    values: tuple[int, int]
    setting: str = ""


class View(msgspec.Struct, frozen=True):
    """What one coalition sees. `stuck` are the terms that keep a secret, over received messages."""

    coalition: tuple[str, ...]
    verdict: Verdict
    learnt: tuple[Learnt, ...] = ()
    steps: tuple[Step, ...] = ()
    ended: tuple[Ended, ...] = ()
    statistical: tuple[Statistical, ...] = ()
    stuck: tuple[str, ...] = ()
    origins: tuple[int, ...] = ()
    leak: Leak | None = None
    fresh: tuple[str, ...] = ()
    reason: str = ""


# ---- correctness ----
class Correctness(msgspec.Struct, frozen=True):
    """Whether an output is its meaning. `point` is an input where it is not."""

    output: str
    verdict: Verdict
    how: str = ""
    point: tuple[str, ...] = ()
    failure: int = 0
    error: int = 0
    rests_on: tuple[str, ...] = ()
    origins: tuple[int, ...] = ()


# ---- cost ----
class LinkCost(msgspec.Struct, frozen=True, array_like=True):
    """Messages and bits on one link in one phase; `bits` maps a product of symbols ("" for none) to a
    count."""

    sender: str
    receiver: str
    phase: str
    messages: int
    bits: tuple[tuple[str, int], ...]


class MaterialNeed(msgspec.Struct, frozen=True, array_like=True):
    """One-use units that one execution burns: count[symbols] as in `LinkCost.bits`."""

    bundle: str
    unit: str
    count: tuple[tuple[str, int], ...]


class Cost(msgspec.Struct, frozen=True):
    links: tuple[LinkCost, ...]
    rounds: tuple[tuple[str, int], ...]
    material: tuple[MaterialNeed, ...]


class Pattern(msgspec.Struct, frozen=True, array_like=True):
    """What the shapes of its messages tell a party: the symbols (lengths) that occur in them."""

    party: str
    lengths: tuple[str, ...]
    messages: int


class ProtocolReport(msgspec.Struct, frozen=True):
    """`verdict` is the worst of findings, correctness and views. `assumptions` is everything a proof rests
    on."""

    protocol: str
    verdict: Verdict
    findings: tuple[Finding, ...]
    correctness: tuple[Correctness, ...]
    views: tuple[View, ...]
    cost: Cost
    pattern: tuple[Pattern, ...]
    assumptions: tuple[Assumption, ...]
