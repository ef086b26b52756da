"""A plain reference for the semantic graph: runs prefill and decode in float64, op by op, as the graph says.

In: a graph, a source of weights and token ids. Out: the logits of every step. It is slow and meant for tiny
models: it exists so that the graph's meaning can be compared with another implementation. All sequences have
equal length.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pllm_lang.models.graph import ModelGraph, Op, Repeat, Stage
from pllm_lang.runtime.semantic.call import Array, Call
from pllm_lang.runtime.semantic.table import OPERATORS

WeightSource: TypeAlias = Callable[[str, int | None], Array]
"""A weight by its name in the graph and its layer; an expert family comes stacked, experts first."""

States: TypeAlias = dict[tuple[str, int], Array]

Watch: TypeAlias = Callable[[Stage, "int | None", Op, Array], None]
"""Called with every value as it is made: its stage, layer (None outside of the layers) and op."""

_See: TypeAlias = Callable[["int | None", Op, Array], None]


def generate(
    graph: ModelGraph,
    weights: WeightSource,
    tokens: NDArray[np.int64],
    steps: NDArray[np.int64],
    watch: Watch | None = None,
) -> list[Array]:
    """Logits `[B, vocab]` after prefill of `tokens` `[B, T]`, and after each decode step fed with `steps[:,
    i]`."""
    source = with_parts(graph, weights)
    states = empty_states(graph)
    every = np.concatenate([tokens, steps], axis=1)
    logits: list[Array] = []
    start = 0
    for stage, runs in ((graph.prefill, graph.prefill.steps), (graph.decode, steps.shape[1])):
        for _ in range(runs):
            end = start + stage.query
            positions = np.broadcast_to(np.arange(start, end), (every.shape[0], stage.query))
            lengths = np.full(every.shape[0], end)
            logits.append(run_stage(stage, source, states, every[:, start:end], positions, lengths, watch))
            start = end
    return logits[graph.prefill.steps - 1 :]


def empty_states(graph: ModelGraph) -> States:
    """Caches without positions, and zeros elsewhere."""
    states: States = {}
    for state in graph.states:
        shape = (*state.shape[:2], 0, *state.shape[3:]) if state.kind == "cache" else state.shape
        states |= {(state.name, layer): np.zeros(shape) for layer in state.layers}
    return states


def with_parts(graph: ModelGraph, weights: WeightSource) -> WeightSource:
    """A source that also knows weights which a pass put together from rows of others."""
    parts = {weight.name: weight.parts for weight in graph.weights if weight.parts}

    def source(name: str, layer: int | None) -> Array:
        if name in parts:
            return np.concatenate([weights(part, layer) for part in parts[name]])
        return weights(name, layer)

    return source


def run_stage(
    stage: Stage,
    weights: WeightSource,
    states: States,
    tokens: NDArray[np.int64],
    positions: NDArray[np.int64],
    lengths: NDArray[np.int64],
    watch: Watch | None = None,
) -> Array:
    """One run of a stage; `states` is read and updated. Returns the logits."""

    def see(layer: int | None, op: Op, value: Array) -> None:
        if watch is not None:
            watch(stage, layer, op, value)

    inputs: dict[str, Array] = {"tokens": tokens, "positions": positions, "lengths": lengths}  # type: ignore[dict-item]
    before = _run(stage.before, dict(inputs), weights, None, see)
    carried = {name: before[value] for name, value in stage.carried.items()}
    bodies = {layer: repeat for repeat in stage.layers for layer in repeat.layers}
    for layer in sorted(bodies):
        carried |= _run_layer(bodies[layer], layer, inputs | carried, weights, states, see)
    return _run(stage.after, inputs | carried, weights, None, see)[stage.outputs[0]]


def _run_layer(
    repeat: Repeat, layer: int, scope: dict[str, Array], weights: WeightSource, states: States, see: _See
) -> dict[str, Array]:
    scope = scope | {f"state.{name}": value for (name, at), value in states.items() if at == layer}
    values = _run(repeat.ops, scope, weights, layer, see)
    ops = {op.name: op for op in repeat.ops}
    for state, name in repeat.writes.items():
        states[state, layer] = _kept(ops[name], values[name])
    return {name: values[value] for name, value in repeat.carried.items()}


def _kept(op: Op, value: Array) -> Array:
    """What a state keeps of the op that writes it: the last positions of a cache or of a convolution's
    window."""
    if op.operator == "kv_cache_append":
        return value[:, :, max(0, value.shape[2] - int(str(op.attributes["capacity"]))) :]
    if op.operator == "convolution_window":
        return value[:, value.shape[1] - int(str(op.attributes["kernel"])) + 1 :]
    return value


def _run(
    ops: tuple[Op, ...], scope: dict[str, Array], weights: WeightSource, layer: int | None, see: _See
) -> dict[str, Array]:
    for op in ops:
        given: Mapping[str, Array] = {role: weights(name, layer) for role, name in op.weights.items()}
        scope[op.name] = OPERATORS[op.operator](Call(op, tuple(scope[name] for name in op.inputs), given))
        see(layer, op, scope[op.name])
    return scope
