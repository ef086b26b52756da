"""Which values a value depends on, and the types of all values of a plan."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from pllm_lang.ir.plan import Node, Plan, Repeat, StateWrite, Step, TensorType
from pllm_lang.ir.walk import family


def value_types(plan: Plan) -> dict[int, TensorType]:
    """The type of every value that is given or computed; carried values have those of their initial values."""
    types = {one.value: one.type for one in (*plan.inputs, *plan.weights, *plan.states, *plan.constants)}
    for stage in plan.stages:
        types |= {one.value: one.type for one in stage.inputs}
        _collect_types(stage.body, types)
    return types


def _collect_types(body: tuple[Node, ...], types: dict[int, TensorType]) -> None:
    for node in body:
        if isinstance(node, Step):
            types.update(zip(node.results, node.types, strict=True))
        elif isinstance(node, Repeat):
            for carried in node.carried:
                types[carried.inner] = types[carried.final] = types[carried.initial]
            _collect_types(node.body, types)


def cone_of(plan: Plan, target: int) -> frozenset[int]:
    """`target` and every value that it is computed from, through repeats and states."""
    sources: dict[int, set[int]] = {}
    for stage in plan.stages:
        for value, source in _edges(stage.body):
            sources.setdefault(value, set()).add(source)
    found, queue = {target}, [target]
    while queue:
        for source in sources.get(queue.pop(), ()):
            if source not in found:
                found.add(source)
                queue.append(source)
    return frozenset(found)


def only(body: tuple[Node, ...], cone: frozenset[int]) -> tuple[Node, ...]:
    """The steps of `body` that make something in `cone`, with the repeats around them."""
    kept: list[Node] = []
    for node in body:
        if isinstance(node, Step):
            if not cone.isdisjoint(node.results):
                kept.append(node)
        elif isinstance(node, Repeat):
            inner = only(node.body, cone)
            if inner:
                kept.append(msgspec.structs.replace(node, body=inner))
    return tuple(kept)


def _edges(body: tuple[Node, ...]) -> Iterator[tuple[int, int]]:
    for node in body:
        if isinstance(node, Step):
            yield from ((result, family(operand)) for result in node.results for operand in node.operands)
        elif isinstance(node, StateWrite):
            yield family(node.state), node.value
        elif isinstance(node, Repeat):
            for one in node.carried:
                yield from (
                    (one.inner, one.initial),
                    (one.inner, one.next),
                    (one.final, one.next),
                    (one.final, one.initial),
                )
            yield from _edges(node.body)
