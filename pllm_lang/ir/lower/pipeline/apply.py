"""A plan given to a pipeline: every step that nobody has placed goes to the component that the pipeline names for it.

In: a lowered plan, the slots, the facts files of the experiment. Out: the placed plan, its source map, and findings. The
result is a plan as one could write it; whether it is covered, bounded and private is the verifier's question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

import msgspec

from pllm_lang.catalog.library import Library
from pllm_lang.ir.lower.pipeline.linear import (
    Quantised,
    columns_scaled,
    is_column_scale,
    is_of_reals,
    is_rescaled,
    quantised_linear,
    rescaled,
)
from pllm_lang.ir.lower.pipeline.placing import NOBODY, Placing
from pllm_lang.ir.lower.pipeline.slots import Slots
from pllm_lang.ir.lower.plan import Lowered
from pllm_lang.ir.plan import (
    ComponentUse,
    Node,
    Repeat,
    Requirement,
    Stage,
    StateWrite,
    Step,
    Weight,
)
from pllm_lang.ir.walk import family, nodes, reads
from pllm_lang.resolve.modules import FactsFile

CLEAR = "std.methods.clear"
TRANSPOSE = "std.operators.transpose"


def apply_pipeline(
    lowered: Lowered, slots: Slots, library: Library, facts: tuple[FactsFile, ...] = (), stated: bool = True
) -> Lowered:
    """`stated` is False for a plan that nobody wrote: its steps stand at the client only until a pipeline says else."""
    placing = Placing(lowered.plan, lowered.source_map, slots, library, facts, stated)
    stages = tuple(_stage(placing, stage) for stage in lowered.plan.stages)
    stages = tuple(msgspec.structs.replace(s, body=_without_unread(placing, s.body, stages)) for s in stages)
    plan = msgspec.structs.replace(
        lowered.plan,
        formats=tuple(placing.formats),
        weights=tuple(_weights(placing, stages)),
        stages=stages,
    )
    places = msgspec.structs.replace(lowered.source_map, values=placing.values, parts=placing.parts)
    return Lowered(plan, places, (*lowered.findings, *placing.findings))


def _stage(placing: Placing, stage: Stage) -> Stage:
    layered = any(isinstance(node, Repeat) for node in stage.body)
    body = _body(placing, stage.body, {}, outside=layered)
    for output in stage.outputs:
        if output.value in placing.pending:
            _refuse_exact(placing, output.value, output.value)
    return msgspec.structs.replace(stage, body=body)


def _body(placing: Placing, body: tuple[Node, ...], known: Quantised, *, outside: bool) -> tuple[Node, ...]:
    placed: list[Node] = []
    for node in body:
        match node:
            case Step():
                placed += _step(placing, node, known, outside=outside)
            case Repeat():
                placed.append(_repeat(placing, node, known))
            case StateWrite():
                if node.value in placing.pending:
                    _refuse_exact(placing, node.value, node.value)
                placed.append(node)
            case Requirement():
                placed.append(node)
            case _:
                assert_never(node)
    return tuple(placed)


def _repeat(placing: Placing, repeat: Repeat, known: Quantised) -> Repeat:
    for carried in repeat.carried:
        placing.types[carried.inner] = placing.types[carried.initial]
        placing.homes[carried.inner] = placing.homes[carried.initial]
        if carried.initial in placing.pending:
            _refuse_exact(placing, carried.initial, carried.inner)
    body = _body(placing, repeat.body, dict(known), outside=False)
    for carried in repeat.carried:
        if carried.next in placing.pending:
            _refuse_exact(placing, carried.next, carried.inner)
        placing.types[carried.final] = placing.types[carried.next]
        placing.homes[carried.final] = placing.homes[carried.next]
    return msgspec.structs.replace(repeat, body=body)


# ---- one step ----
def _step(placing: Placing, step: Step, known: Quantised, *, outside: bool) -> Iterable[Step]:
    for value, type_ in zip(step.results, step.types, strict=True):
        placing.types[value] = type_
    if is_rescaled(placing, step) and not _own(placing, step):
        return _met(placing, rescaled(placing, step))
    if is_column_scale(placing, step) and not _own(placing, step):
        return _met(placing, (columns_scaled(placing, step),))
    for operand in step.operands:
        if family(operand) in placing.pending:
            _refuse_exact(placing, family(operand), step.results[0])
    if step.operator == TRANSPOSE and family(step.operands[0]) in placing.weight_of:
        placing.transposed[step.results[0]] = step.operands[0]
    if _own(placing, step):
        return _met(placing, (step,))
    use = _component(placing, step, outside=outside)
    if use is None or use.key == CLEAR:
        return _met(placing, (_in_the_clear(placing, step, covered=use is not None),))
    if is_of_reals(placing, step):
        return _met(placing, quantised_linear(placing, step, use, known))
    return _met(placing, (msgspec.structs.replace(step, use=use, party=""),))


def _own(placing: Placing, step: Step) -> bool:
    """Whether the plan says itself how the step is done."""
    return placing.stated and (step.use is not None or bool(step.party))


def _component(placing: Placing, step: Step, *, outside: bool) -> ComponentUse | None:
    """Which component of the pipeline does the step; None where it only moves entries, or no slot covers it."""
    slots = placing.slots
    if step.structural:
        return None
    if step.operator in slots.methods:
        return slots.outside if outside and slots.outside is not None else slots.methods[step.operator]
    return slots.rest


def _in_the_clear(placing: Placing, step: Step, *, covered: bool) -> Step:
    """At the party that has the operands. A step that no slot covers is left without a party, which coverage reports."""
    party = placing.party_of(step.operands) if covered or step.structural else ""
    return msgspec.structs.replace(step, use=None, party=party)


def _met(placing: Placing, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    for step in steps:
        for position, value in enumerate(step.results):
            placing.types[value] = step.types[position]
            if step.party:
                placing.homes[value] = step.party
            elif step.use is not None:
                placing.homes[value] = placing.made_at(step.use, position, step.operands)
            else:
                placing.homes[value] = placing.party_of(step.operands) or NOBODY
    return steps


def _refuse_exact(placing: Placing, product: int, subject: int) -> None:
    name = placing.name(product)
    text = f"`{name}` is a product of quantised values, and this step reads it without its scale"
    placing.refuse(subject, text, f"put it into a format first: `y = encode({name}, to: f32)`")


# ---- what is left over ----
def _without_unread(placing: Placing, body: tuple[Node, ...], stages: tuple[Stage, ...]) -> tuple[Node, ...]:
    """Without transposes of weights that are stored transposed now."""
    if not placing.transposed:
        return body
    read = set(_read(stages))
    kept: list[Node] = []
    for node in body:
        if isinstance(node, Repeat):
            kept.append(msgspec.structs.replace(node, body=_without_unread(placing, node.body, stages)))
        elif not (isinstance(node, Step) and _is_unread(placing, node, read)):
            kept.append(node)
    return tuple(kept)


def _is_unread(placing: Placing, step: Step, read: set[int]) -> bool:
    return step.results[0] in placing.transposed and step.results[0] not in read


def _read(stages: tuple[Stage, ...]) -> Iterator[int]:
    for stage in stages:
        for node, _ in nodes(stage.body):
            yield from reads(node)
            if isinstance(node, Repeat):
                yield from (carried.next for carried in node.carried)
        yield from (output.value for output in stage.outputs)


def _weights(placing: Placing, stages: tuple[Stage, ...]) -> Iterator[Weight]:
    """Stored weights where the plan had real ones, others as they were with what the facts say of them."""
    read = set(_read(stages))
    before = set(_read(placing.plan.stages))
    stored: dict[int, list[Weight]] = {}
    for (value, _), one in placing.stored.items():
        stored.setdefault(value, []).append(placing.weight_of[one.value])
    for weight in placing.plan.weights:
        yield from stored.get(weight.value, ())
        if weight.value in read or weight.value not in before:
            yield _with_facts(placing, weight)
    placed = {one.value for many in stored.values() for one in many}
    yield from (weight for weight in placing.added if weight.value not in placed)


def _with_facts(placing: Placing, weight: Weight) -> Weight:
    form = placing.formats[weight.type.format] if weight.type.format >= 0 else None
    if not placing.facts or form is None or weight.scale_of >= 0:
        return weight
    known = placing.facts_of(weight, form)
    return msgspec.structs.replace(
        weight,
        bounds=(*weight.bounds, *known.true),
        assumed=(*weight.assumed, *known.seen),
        facts_key=known.checkpoint or weight.facts_key,
    )
