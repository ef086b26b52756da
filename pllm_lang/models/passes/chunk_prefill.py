"""Prefill in chunks of `size` positions: the stage runs several times and reads the states that it wrote
before.

The first chunk finds empty caches and zero states. Attention in a chunk sees the cached positions and its
own.
"""

from __future__ import annotations

import msgspec

from pllm_lang.models.errors import LoweringError
from pllm_lang.models.graph import ModelGraph, Op, Repeat, Shape, Stage, State, Tensor
from pllm_lang.models.passes.lineage import begin, record
from pllm_lang.models.shapes import result_shape

NAME = "chunk_prefill"

_STATE_FIRST = {
    "kv_cache_append": "",
    "convolution_window": "convolution",
    "gated_delta_scan": "recurrent",
    "selective_scan": "recurrent",
}
"""Operators that take a state before their operands when they continue; a cache is named by its write."""


def chunk_prefill(graph: ModelGraph, size: int) -> ModelGraph:
    """Raises `LoweringError`: `pass.parameter` where `size` does not divide the input, `pass.state` where an
    op needs the whole input at once, `pass.applied_twice`."""
    begin(graph, NAME)
    total = graph.workload.max_input_tokens
    if isinstance(size, bool) or not 1 <= size <= total or total % size:
        raise LoweringError(
            "pass.parameter", f"size is {size}; it must divide the {total} input tokens", key="size"
        )
    for repeat in graph.prefill.layers:
        for op in repeat.ops:
            if op.operator == "attention_importance":
                raise LoweringError(
                    "pass.state",
                    f"layer {repeat.layers[0]}: {op.name} sums over the probabilities of all {total}"
                    " positions, which"
                    " chunks do not have together",
                )
    after = msgspec.structs.replace(graph, prefill=_chunk(graph, size))
    return record(graph, after, NAME, {"size": size})


def _chunk(graph: ModelGraph, size: int) -> Stage:
    batch, stage = graph.workload.batch, graph.prefill
    shapes: dict[str, Shape] = {
        "tokens": (batch, size), "positions": (batch, size), "lengths": (batch,),
    }  # fmt: skip
    before, shapes = _reshape(stage.before, shapes, batch)
    carried = {name: shapes[value] for name, value in stage.carried.items()}
    layers: list[Repeat] = []
    for repeat in stage.layers:
        states = {s.name: s for s in graph.states if set(s.layers) & set(repeat.layers)}
        ops, inner = _reshape(
            _continue(repeat, states, graph, size), shapes | carried | _operand_shapes(states), batch
        )
        carried |= {name: inner[value] for name, value in repeat.carried.items()}
        layers.append(msgspec.structs.replace(repeat, ops=ops))
    after, _ = _reshape(stage.after, shapes | carried, batch)
    inputs = tuple(Tensor(tensor.name, shapes[tensor.name]) for tensor in stage.inputs)
    return msgspec.structs.replace(
        stage,
        steps=graph.workload.max_input_tokens // size,
        query=size,
        inputs=inputs,
        before=before,
        layers=tuple(layers),
        after=after,
    )


def _operand_shapes(states: dict[str, State]) -> dict[str, Shape]:
    return {f"state.{name}": state.shape for name, state in states.items()}


def _continue(repeat: Repeat, states: dict[str, State], graph: ModelGraph, size: int) -> tuple[Op, ...]:
    """The body's ops, reading the states that they wrote in the chunk before."""
    writer = {value: name for name, value in repeat.writes.items()}
    ops: list[Op] = []
    for op in repeat.ops:
        if op.operator not in _STATE_FIRST:
            ops.append(op)
            continue
        state = _STATE_FIRST[op.operator] or writer[op.name]
        shape = op.shape
        if op.operator == "kv_cache_append":
            kept = states[state].shape[2]
            total = graph.workload.max_input_tokens + graph.workload.max_new_tokens - 1
            shape = (*op.shape[:2], min(total, kept + size), op.shape[3])
        ops.append(msgspec.structs.replace(op, inputs=(f"state.{state}", *op.inputs), shape=shape))
    return tuple(ops)


def _reshape(
    ops: tuple[Op, ...], shapes: dict[str, Shape], batch: int
) -> tuple[tuple[Op, ...], dict[str, Shape]]:
    """The ops with the shapes that follow from `shapes`, and the shapes of their results too."""
    shapes = dict(shapes)
    result: list[Op] = []
    for op in ops:
        shapes[op.name] = result_shape(op, tuple(shapes[name] for name in op.inputs), batch)
        result.append(msgspec.structs.replace(op, shape=shapes[op.name]))
    return tuple(result), shapes
