"""Replay: the plan under way, as data: values with what is known of them, steps as they ran, records as steps use them."""

from __future__ import annotations

from math import prod
from typing import Any

import msgspec

from pllm_lang.artifacts.lock_data import Lock
from pllm_lang.artifacts.replay.facts import Fact
from pllm_lang.artifacts.replay.numbers import Range, Size
from pllm_lang.artifacts.replay.reading import record_of
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.artifacts.replay.stated import Stated
from pllm_lang.artifacts.replay.terms import Names
from pllm_lang.catalog.expr import Expr
from pllm_lang.catalog.records import Component, Format, Operator
from pllm_lang.ir.experiment import Experiment
from pllm_lang.ir.plan import Node, Operand, Placement, Repeat, Step, TensorType

CLEAR = "std.methods.clear"
MAX_STEPS = 120_000
"""Steps, and turns of repeats, that are followed."""
Found = tuple[str, int, str]
"""Code, value, and what tells several of all of the plan (-1) apart."""


class Value(msgspec.Struct, frozen=True):
    type: TensorType
    fact: Fact
    place: Placement


class Claim(msgspec.Struct, frozen=True):
    """`slot(result) op limit`, as a record ensures it."""

    slot: str
    result: str
    op: str
    limit: Expr


class Said(msgspec.Struct, frozen=True):
    """What the records of a step say: of each result what it means and what is claimed; with each requirement the code under
    which it is owed. `moves`: entries only move. `rounds` are the results of which the component says how far they may be off,
    `rests_on` what both take for granted."""

    operator: Operator
    component: Component | None
    moves: bool
    means: dict[str, Expr]
    claims: dict[str, list[Claim]]
    requires: list[tuple[Expr, str, str]]
    rounds: frozenset[str]
    rests_on: tuple[str, ...]


class Judged(msgspec.Struct):
    """A step on certain operands: its results, and what it owes and takes for granted, each about a result by position.

    `modulus` is that of the ring it computes in; `errors` are how far results may be off; `failing` the chance that one run
    fails; `shown` is what was worked out of the results, `used` the place of the statement that it goes on with. `clear`: a
    party computes on values that it knows, or entries only move.
    """

    said: Said
    values: list[Value]
    names: Names
    clear: bool
    forms: list[Format]
    modulus: int | None = None
    results: list[Value] = []
    errors: list[Size] = []
    owed: set[tuple[str, int]] = set()
    told: set[tuple[str, int, str]] = set()
    failing: list[Size] = []
    shown: list[Fact] = []
    used: int = -1


class Walked(msgspec.Struct):
    """`owed` is every obligation met; `told` what has to be listed as assumed, by obligation. By the number of a step: `stated`
    is what the certificate says of its results, `reach` bounds operands and results over all its turns, `errors` how far
    results may be off, `names` what its records speak of. `every` are the steps as written, `ran` as they ran; `texts` gives a
    step the protocol of its component.

    `alike` and `judged` remember: equal values are one, and a step on equal operands was judged before.
    """

    lock: Lock
    every: list[Step]
    number: dict[int, int]
    stated: dict[int, Stated]
    used: set[tuple[int, int]] = set()
    values: dict[int, Value] = {}
    owed: set[tuple[str, int]] = set()
    told: set[Found] = set()
    reach: dict[int, list[Range]] = {}
    errors: dict[int, list[Size]] = {}
    names: dict[int, Names] = {}
    failures: list[tuple[Size, int]] = []
    ran: list[tuple[Step, Judged]] = []
    texts: dict[int, int] = {}
    records: dict[str, Any] = {}
    said: dict[tuple[str, str], Said] = {}
    alike: dict[Value, Value] = {}
    judged: dict[tuple[str | int, ...], list[tuple[tuple[object, ...], Judged]]] = {}
    turns: int = 0


def steps_of(body: tuple[Node, ...]) -> list[Step]:
    found: list[Step] = []
    for node in body:
        if isinstance(node, Step):
            found.append(node)
        elif isinstance(node, Repeat):
            found += steps_of(node.body)
    return found


def form_of(lock: Lock, type_: TensorType) -> Format:
    formats = lock.documents.ir.formats
    if not 0 <= type_.format < len(formats):
        raise ReplayError("certificate.plan", "a value has no format")
    return formats[type_.format]


def counted_turn(walked: Walked) -> None:
    """A repeat that does nothing takes time as well."""
    walked.turns += 1
    if walked.turns > 2 * MAX_STEPS:
        raise ReplayError("certificate.beyond", f"the plan has more than {MAX_STEPS} turns to follow")


def number_of(operand: Operand) -> int:
    """The value, or the family that stands for its members."""
    return operand if isinstance(operand, int) else operand.family


def value_of(walked: Walked, operand: Operand) -> Value:
    found = walked.values.get(number_of(operand))
    if found is None:
        raise ReplayError("certificate.plan", "a step reads a value that nothing makes")
    return found


def record(walked: Walked, key: str) -> Any:
    if key not in walked.records:
        walked.records[key] = record_of(walked.lock, key)
    return walked.records[key]


def component_key(step: Step) -> str:
    return step.use.key if step.use is not None else CLEAR if step.party else ""


def component_at(walked: Walked, key: str) -> Component:
    found = record(walked, key)
    if not isinstance(found, Component):
        raise ReplayError("certificate.plan", f"the lock holds no component `{key}`")
    return found


def component_of(walked: Walked, step: Step) -> Component | None:
    key = component_key(step)
    return component_at(walked, key) if key else None


def most_runs(experiment: Experiment | None) -> int:
    """How often a stage runs at most over a budget: once a new token of each request; once where there is no budget."""
    budget = {} if experiment is None else dict(experiment.budget)
    return prod(max(1, int(budget.get(what, "1"))) for what in ("requests", "max_new_tokens"))
