"""Replay: the plan under way, as data: values with what is known of them, steps as they ran, records by key."""

from __future__ import annotations

from typing import Any

import msgspec

from pllm_lang.artifacts.lock_data import Lock, Row
from pllm_lang.artifacts.replay import numbers as n
from pllm_lang.artifacts.replay.facts import Fact
from pllm_lang.artifacts.replay.numbers import Range, Size
from pllm_lang.artifacts.replay.reading import record_of
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.artifacts.replay.terms import Names
from pllm_lang.catalog.records import Component, Format, Operator
from pllm_lang.ir.plan import Member, Node, Operand, Placement, Repeat, Step, TensorType

CLEAR = "std.methods.clear"
MAX_STEPS = 120_000
"""Steps, and turns of repeats, that are followed."""
Owed = tuple[str, int]
"""Code, and the value that it is about."""
Found = tuple[str, int, str]
"""Code, value, and what tells several of all of the plan (-1) apart."""


class Value(msgspec.Struct, frozen=True):
    type: TensorType
    fact: Fact
    place: Placement


class Walked(msgspec.Struct):
    """`owed` is every obligation met; `reach` bounds the operands and results of each step, over all its turns, by number.
    `errors` are how far results may be off, by step and position; `told` is what has to be listed as assumed, by obligation.
    `every` are the steps as written, `ran` as they ran; `texts` gives a step the protocol of its component."""

    lock: Lock
    stated: dict[int, list[tuple[Row, ...]]]
    used: set[tuple[int, int]]
    number: dict[int, int]
    values: dict[int, Value]
    owed: set[Owed]
    reach: dict[int, list[Range]]
    failures: list[tuple[Size, int]]
    records: dict[str, Any]
    every: list[Step]
    ran: list[View] = []
    texts: dict[int, int] = {}
    errors: dict[tuple[int, int], Size] = {}
    told: set[tuple[str, int, str]] = set()
    turns: int = 0
    first: int = -1
    steps: int = 0


def steps_of(body: tuple[Node, ...]) -> list[Step]:
    found: list[Step] = []
    for node in body:
        found += steps_of(node.body) if isinstance(node, Repeat) else [node] if isinstance(node, Step) else []
    return found


def form_of(lock: Lock, type_: TensorType) -> Format:
    if not 0 <= type_.format < len(lock.documents.ir.formats):
        raise ReplayError("certificate.plan", "a value has no format")
    form = lock.documents.ir.formats[type_.format]
    if abs(form.frac) > n.MAX_BITS:
        raise ReplayError("certificate.plan", f"`{form.name}` has more fraction bits than are followed")
    return form


def counted_turn(walked: Walked) -> None:
    """A repeat that does nothing takes time as well."""
    walked.turns += 1
    if walked.turns > 2 * MAX_STEPS:
        raise ReplayError("certificate.beyond", f"the plan has more than {MAX_STEPS} turns to follow")


def value_of(walked: Walked, operand: Operand) -> Value:
    found = walked.values.get(operand.family if isinstance(operand, Member) else operand)
    if found is None:
        raise ReplayError("certificate.plan", "a step reads a value that nothing makes")
    return found


# ---- one step ----
def record(walked: Walked, key: str) -> Any:
    if key not in walked.records:
        walked.records[key] = record_of(walked.lock, key)
    return walked.records[key]


def component_of(walked: Walked, step: Step) -> Component | None:
    key = step.use.key if step.use is not None else CLEAR if step.party else ""
    found = record(walked, key) if key else None
    if key and not isinstance(found, Component):
        raise ReplayError("certificate.plan", f"the lock holds no component `{key}`")
    return found


class View(msgspec.Struct):
    walked: Walked
    step: Step
    operator: Operator
    component: Component | None
    values: list[Value]
    names: Names

    def clear(self) -> bool:
        """Whether a party computes on values that it knows, or entries only move."""
        use, moves = self.step.use, self.step.structural or "structural" in self.operator.fields
        return moves or (self.component is not None and (use is None or use.key == CLEAR))

    def form(self, position: int) -> Format:
        return form_of(self.walked.lock, self.step.types[position])
