"""A plan as a picture: who does what, in which order, and who sends what to whom.

In: a report on a plan, and the library with the policy where there is one. Out: `Graph`: lanes (parties) and rows from top to
bottom. Repeats stay folded. Messages come from the narrations that the plan's proof is made of; a plan under no policy, or with
components without a text, has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from pllm_lang.catalog.library import Library
from pllm_lang.ir import protocol as p
from pllm_lang.ir.plan import (
    Input,
    Member,
    Node,
    Operand,
    Output,
    Placement,
    Repeat,
    Requirement,
    Stage,
    StateWrite,
    Step,
)
from pllm_lang.ir.show import show_type
from pllm_lang.ir.walk import family
from pllm_lang.ir.words import show_expr
from pllm_lang.verify.check import PlanReport, plan_view
from pllm_lang.verify.narrations.composing import Composed
from pllm_lang.verify.protocol.compose import Instance
from pllm_lang.verify.proving import proof_of

MAX_ROWS = 1_500
"""Rows of a picture; the steps that are left are counted in a last row."""


MAX_INNER = 120
"""Characters of a call that is told inside another."""


class Row(msgspec.Struct, frozen=True):
    """`lanes` are where it stands: one for what a party does, several for what they do together; a message has its sender first.

    `kind`: `stage` and `repeat` open a group that `end` closes; `value` is an input, weight or state; `step` is one operation;
    `message` goes from the first lane to the others, `detail` says in which phase; `output` leaves the plan.
    """

    kind: Literal["stage", "repeat", "end", "value", "step", "message", "output", "note"]
    text: str
    lanes: tuple[str, ...] = ()
    detail: str = ""
    accent: bool = False


class Graph(msgspec.Struct, frozen=True):
    """`refused` says that the plan is not accepted, so that the picture is of what could be read."""

    name: str
    policy: str
    lanes: tuple[str, ...]
    rows: tuple[Row, ...]
    n_steps: int
    n_messages: int
    refused: bool


def graph_of(report: PlanReport, library: Library, policy: str = "") -> Graph:
    """The picture of a plan, or of an experiment's plan under the `policy` of this key."""
    view = plan_view(report.plan, report.source_map, library, policy or report.plan.policy)
    proof = proof_of(view, report.flow) if report.flow is not None else None
    stages: dict[str, Composed] = {} if proof is None else {stage.stage: stage for stage in proof.composed}
    maker = _Maker(report, stages, () if view.policy is None else tuple(view.policy.parties))
    rows = tuple(maker.rows())
    steps = sum(row.kind == "step" for row in rows)
    if len(rows) > MAX_ROWS:
        rows = (*rows[:MAX_ROWS], Row("note", f"and {len(rows) - MAX_ROWS} more rows"))
    used = {lane for row in rows for lane in row.lanes}
    lanes = tuple(lane for lane in dict.fromkeys((*maker.parties, *sorted(used))) if lane in used)
    return Graph(
        report.name,
        (policy or report.plan.policy).rsplit(".", 1)[-1],
        lanes,
        rows,
        steps,
        sum(row.kind == "message" for row in rows),
        not report.accepted,
    )


class _Maker:
    """Rows of one plan; `instances` are the protocols of the stage under way, by the value that a step makes first."""

    def __init__(self, report: PlanReport, stages: dict[str, Composed], parties: tuple[str, ...]) -> None:
        self.report, self.plan, self.stages, self.parties = report, report.plan, stages, parties
        self.names = {value: name for value, (name, _) in report.source_map.values.items()}
        self.instances: dict[int, Instance] = {}
        self.kept = {state.value: _placed(state.placement) for state in self.plan.states}

    def rows(self) -> Iterator[Row]:
        yield from (self._input(one) for one in self.plan.inputs)
        for weight in self.plan.weights:
            if weight.scale_of < 0:
                many = f"[0..<{weight.count}]" if weight.count else ""
                secret = (
                    f", secret from {', '.join(weight.secret_from)}" if weight.secret_from else ", public"
                )
                text = f"weight {self._name(weight.value)}{many}: {show_type(self.plan, weight.type)}{secret}"
                yield Row("value", text)
        for state in self.plan.states:
            many = f"[0..<{state.count}]" if state.count else ""
            text = f"state {self._name(state.value)}{many}: {show_type(self.plan, state.type)}"
            yield Row("value", text, _placed(state.placement))
        for stage in self.plan.stages:
            yield from self._stage(stage)

    def _stage(self, stage: Stage) -> Iterator[Row]:
        composed = self.stages.get(stage.name)
        pairs = () if composed is None else zip(composed.whole.instances, composed.made, strict=True)
        self.instances = {}
        for instance, made in pairs:
            if made.key:
                self.instances.setdefault(made.subject, instance)
        if stage.name:
            yield Row("stage", f"stage {stage.name}")
        yield from (self._input(one) for one in stage.inputs)
        yield from self._body(stage.body)
        yield from (self._output(one) for one in stage.outputs)
        if stage.name:
            yield Row("end", "")

    def _body(self, body: tuple[Node, ...]) -> Iterator[Row]:
        for node in body:
            match node:
                case Step():
                    yield from self._step(node)
                case Repeat():
                    times = node.high - node.low
                    turns = f"{times} time{'' if times == 1 else 's'}"
                    yield Row("repeat", f"repeat {node.low}..<{node.high}", detail=turns)
                    yield from self._body(node.body)
                    yield Row("end", "")
                case StateWrite():
                    text = f"{self._operand(node.state)} = {self._name(node.value)}"
                    yield Row("note", text, self.kept.get(family(node.state), ()))
                case Requirement():
                    pass

    def _step(self, step: Step) -> Iterator[Row]:
        given = ", ".join(self._operand(operand) for operand in step.operands)
        call = f"{_short(step.operator)}({given})"
        if len(step.results) == 1 and not self.names.get(step.results[0]) and len(call) <= MAX_INNER:
            self.names[step.results[0]] = call  # a call in operand position: told where it is used
            return
        text = f"{', '.join(self._name(value) for value in step.results)} = {call}"
        instance = self.instances.get(step.results[0]) if step.results else None
        using = "" if step.use is None or step.party else f"using {_short(step.use.key)}"
        if step.party:
            yield Row("step", text, (step.party,))
            return
        if instance is None:
            yield Row("step", text, tuple(party for _, party in step.use.roles) if step.use else (), using)
            return
        roles = dict(instance.roles)
        sends = [one for one in instance.protocol.body if isinstance(one, p.Send)]
        busy = [lane for lane in self.parties if lane in roles.values()] or list(roles.values())
        who = f"{using}: {', '.join(busy)}" if len(busy) > 1 else using
        yield Row("step", text, tuple(dict.fromkeys(busy)), who, accent=bool(sends))
        for send in sends:
            lanes = tuple(roles.get(role, role) for role in (send.sender, *send.receivers))
            if len(set(lanes)) > 1:
                yield Row("message", _told(send.name, instance), tuple(dict.fromkeys(lanes)), send.phase)

    def _input(self, one: Input) -> Row:
        text = f"input {self._name(one.value)}: {show_type(self.plan, one.type)}"
        lanes = _placed(one.placement) or ((one.owner,) if one.owner else ())
        return Row("value", text, lanes, _held(one.placement))

    def _output(self, one: Output) -> Row:
        held = f"as {_short(one.holding)}" if one.holding else ""
        return Row("output", f"output {self._name(one.value)}", one.to or one.holders, held)

    def _name(self, value: int) -> str:
        return self.names.get(value, "") or f"%{value}"

    def _operand(self, operand: Operand) -> str:
        if isinstance(operand, Member):
            return f"{self._name(operand.family)}[{show_expr(operand.index).replace('%', 'i')}]"
        return self._name(operand)


def _told(variable: str, instance: Instance) -> str:
    """A variable of a protocol by the plan's name of what it is, where it is an operand or a result."""
    names = {**dict(instance.inputs), **dict(instance.outputs)}
    value, dot, piece = variable.partition(".")
    name = names.get(value, value).partition("'")[0]  # the second `x` of a composition is `x'2`
    return f"{name}{dot}{piece}"


def _placed(placement: Placement) -> tuple[str, ...]:
    return placement.parties if placement.kind in ("party", "shared") else ()


def _held(placement: Placement) -> str:
    return f"as {_short(placement.holding)}" if placement.kind == "shared" else ""


def _short(key: str) -> str:
    return key.rsplit(".", 1)[-1]
