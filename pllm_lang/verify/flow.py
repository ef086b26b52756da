"""Facts flow forward through a plan: every value gets what is known of it, every step is judged once.

In: a plan and a judge. Out: the facts of every value, the obligations of all steps, and the steps as met.
A `repeat` is walked index by index, but a body met again with equal incoming facts is not walked again, and
a step met again with equal operands costs one lookup. So equal layers cost once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, assert_never

import msgspec

from pllm_lang.catalog.facts import Facts
from pllm_lang.ir.plan import (
    UNKNOWN,
    Node,
    Placement,
    Repeat,
    Requirement,
    StateWrite,
    Step,
    TensorType,
)
from pllm_lang.ir.walk import family
from pllm_lang.verify.initial import constant_facts, given_facts
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.view import Judged, Met, PlanView

MAX_WALKED = 100_000
"""Steps that one check walks at most, after equal bodies are counted once."""

JudgeStep = Callable[[PlanView, Step, list[Facts], list[TensorType], list[Placement]], Judged]
JudgeNode = Callable[[PlanView, StateWrite | Requirement, dict[int, Facts]], Iterable[Obligation]]


MAX_WALKED_AGAIN = 8_000
"""Of these, steps in turns of a repeat that no earlier turn stands for: their facts grow from turn to turn."""


class TooLongError(Exception):
    """The plan needs more than MAX_WALKED steps to be walked."""


class Flow(msgspec.Struct):
    """`facts` and `places` of a value are those of its last meeting; `met` lists steps with how often they run."""

    facts: dict[int, Facts]
    places: dict[int, Placement]
    obligations: list[Obligation]
    met: list[Met]


class Judgements(msgspec.Struct):
    """Steps judged before, with the facts by whose numbers they are known. An editor keeps them from walk to walk: they
    hold for one library, one policy and one table of formats. `tick` is called before a step is judged; it may raise.
    """

    interned: dict[Facts, int] = {}
    by_number: list[Facts] = []
    judged: dict[Any, Judged] = {}
    tick: Callable[[], None] | None = None


class _Captured(msgspec.Struct):
    """What a stretch of nodes gave, each with its number of runs."""

    obligations: list[tuple[Obligation, int]]
    met: list[Met]


class _Walk(msgspec.Struct):
    plan: PlanView
    judge_step: JudgeStep
    judge_node: JudgeNode
    types: dict[int, TensorType]
    places: dict[int, Placement]
    numbers: dict[int, int]
    interned: dict[Facts, int]
    by_number: list[Facts]
    judged: dict[Any, Judged]
    tick: Callable[[], None] | None = None
    steps: int = 0
    steps_again: int = 0
    turn: int = 0


def flow(
    plan: PlanView, judge_step: JudgeStep, judge_node: JudgeNode, kept: Judgements | None = None
) -> Flow:
    """Walk all stages of the plan in order; raises TooLongError. What is judged on the way is added to `kept`."""
    known = Judgements() if kept is None else kept
    walk = _Walk(
        plan,
        judge_step,
        judge_node,
        {},
        {},
        {},
        known.interned,
        known.by_number,
        known.judged,
        tick=known.tick,
    )
    _start(walk)
    captured = _Captured([], [])
    for stage in plan.plan.stages:
        for given in stage.inputs:
            _give(walk, given.value, given.type, _stated(walk, given), given.placement)
        _nodes(walk, stage.body, captured)
    facts = {value: walk.by_number[number] for value, number in walk.numbers.items()}
    obligations = [
        msgspec.structs.replace(o, count=o.count * n) if n > 1 else o for o, n in captured.obligations
    ]
    return Flow(facts, walk.places, obligations, captured.met)


def _start(walk: _Walk) -> None:
    plan = walk.plan.plan
    public, unplaced = Placement("public"), Placement()
    for weight in plan.weights:
        _give(
            walk, weight.value, weight.type, _stated(walk, weight), unplaced if weight.secret_from else public
        )
    for constant in plan.constants:
        _give(walk, constant.value, constant.type, constant_facts(constant), public)
    for given in (*plan.inputs, *plan.states):
        _give(walk, given.value, given.type, _stated(walk, given), given.placement)


def _stated(walk: _Walk, given: Any) -> Facts:
    if given.type == UNKNOWN:
        return Facts()
    return given_facts(walk.plan.format_of(given.type), given)


def _give(walk: _Walk, value: int, type_: TensorType, facts: Facts, place: Placement) -> None:
    walk.types[value] = type_
    walk.places[value] = place
    walk.numbers[value] = _number(walk, facts)


def _number(walk: _Walk, facts: Facts) -> int:
    number = walk.interned.setdefault(facts, len(walk.by_number))
    if number == len(walk.by_number):
        walk.by_number.append(facts)
    return number


def _nodes(walk: _Walk, body: tuple[Node, ...], captured: _Captured) -> None:
    for node in body:
        match node:
            case Step():
                _step(walk, node, captured)
            case Repeat():
                _repeat(walk, node, captured)
            case StateWrite() | Requirement():
                facts = {value: walk.by_number[walk.numbers[value]] for value in _mentioned(walk, node)}
                captured.obligations += [(o, 1) for o in walk.judge_node(walk.plan, node, facts)]
            case _:
                assert_never(node)


def _mentioned(walk: _Walk, node: StateWrite | Requirement) -> Iterable[int]:
    return (node.value,) if isinstance(node, StateWrite) else walk.numbers


def _step(walk: _Walk, step: Step, captured: _Captured) -> None:
    walk.steps += 1
    walk.steps_again += walk.turn > 0
    if walk.steps > MAX_WALKED or walk.steps_again > MAX_WALKED_AGAIN:
        raise TooLongError
    values = [family(operand) for operand in step.operands]
    numbers, types, places = walk.numbers, walk.types, walk.places
    incoming = tuple([(numbers[v], types[v], places[v]) for v in values])
    how = (step.operator, step.params, step.use, step.party, step.types, step.assumes, step.stated_holding)
    judged = walk.judged.get((how, incoming))
    if judged is None:
        if walk.tick is not None:
            walk.tick()
        judged = walk.judge_step(
            walk.plan,
            step,
            [walk.by_number[numbers[v]] for v in values],
            [types[v] for v in values],
            [places[v] for v in values],
        )
        walk.judged[how, incoming] = judged
    for value, type_, facts, place in zip(
        step.results, step.types, judged.results, judged.places, strict=True
    ):
        _give(walk, value, type_, facts, place)
    captured.met.append(Met(step, judged, 1))
    if judged.obligations:
        subject = step.results[0] if step.results else -1
        captured.obligations += [(_about(o, step, subject), 1) for o in judged.obligations]


def _about(obligation: Obligation, step: Step, first: int) -> Obligation:
    """`subject` of a judged obligation is the position of a result; here it becomes the value itself."""
    position = obligation.subject
    subject = step.results[position] if 0 <= position < len(step.results) else first
    return msgspec.structs.replace(obligation, subject=subject)


# ---- repeats -----------------------------------------------------------------------------------------


def _repeat(walk: _Walk, repeat: Repeat, captured: _Captured) -> None:
    """Walk the body for each index until the incoming facts repeat; from there on count only."""
    for carried in repeat.carried:
        _copy(walk, carried.initial, carried.inner)
    runs: dict[tuple[Any, ...], tuple[_Captured, int]] = {}
    index = repeat.low
    while index < repeat.high:
        key = tuple(
            [(walk.numbers[c.inner], walk.types[c.inner], walk.places[c.inner]) for c in repeat.carried]
        )
        if key in runs:
            break
        body = _Captured([], [])
        again = index > repeat.low
        walk.turn += again
        _nodes(walk, repeat.body, body)
        walk.turn -= again
        runs[key] = (body, 1)
        for carried in repeat.carried:
            _copy(walk, carried.next, carried.inner)
        index += 1
    _count_rest(walk, repeat, runs, index)
    for body, times in runs.values():
        captured.obligations += [(o, n * times) for o, n in body.obligations]
        captured.met += [Met(m.step, m.judged, m.times * times) for m in body.met]
    for carried in repeat.carried:
        _copy(walk, carried.inner, carried.final)


def _count_rest(
    walk: _Walk, repeat: Repeat, runs: dict[tuple[Any, ...], tuple[_Captured, int]], index: int
) -> None:
    """The facts at `index` were met before, so the runs from there on cycle through known bodies."""
    rest = repeat.high - index
    if rest <= 0:
        return
    key = tuple([(walk.numbers[c.inner], walk.types[c.inner], walk.places[c.inner]) for c in repeat.carried])
    keys = list(runs)
    cycle = keys[keys.index(key) :]
    whole, part = divmod(rest, len(cycle))
    for position, member in enumerate(cycle):
        body, times = runs[member]
        runs[member] = (body, times + whole + (1 if position < part else 0))
    last = cycle[part % len(cycle)]
    for carried, (number, type_, place) in zip(repeat.carried, last, strict=True):
        walk.numbers[carried.inner], walk.types[carried.inner] = number, type_
        walk.places[carried.inner] = place


def _copy(walk: _Walk, source: int, target: int) -> None:
    walk.numbers[target] = walk.numbers[source]
    walk.types[target] = walk.types[source]
    walk.places[target] = walk.places[source]
