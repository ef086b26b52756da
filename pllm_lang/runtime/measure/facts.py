"""A checkpoint to the facts of its weights, under the names that a plan gives them.

In: a checkpoint, the graph of its config where there is one, and the bits to which linear layers are quantised (0: as
stored). Out: facts by name. With a graph the names are those of `pllm lower`; without one each tensor keeps its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec
import numpy as np

from pllm_lang.models.graph import ModelGraph, Repeat, Weight
from pllm_lang.models.text.names import weight_names
from pllm_lang.resolve.limits import MAX_FACTS
from pllm_lang.resolve.modules import Measured
from pllm_lang.runtime.checkpoint.errors import CheckpointError
from pllm_lang.runtime.checkpoint.header import Stored, shown
from pllm_lang.runtime.checkpoint.open import Checkpoint
from pllm_lang.runtime.checkpoint.tensors import Array, blocks
from pllm_lang.runtime.checkpoint.weights import matrices
from pllm_lang.runtime.measure.norms import Overflow, measure
from pllm_lang.runtime.measure.quantized import quantized_rows

PROTECTED = ("linear", "expert_linear")
"""Operators whose weights are quantised, inside the layers: those that pipelines protect."""


class Found(msgspec.Struct, frozen=True):
    """Facts by name, and of which names they are those of quantised integers."""

    facts: dict[str, Measured]
    quantized: dict[str, int]


class Named(msgspec.Struct, frozen=True):
    """A tensor to be measured: its blocks of rows, how many rows one matrix has (0: a vector), and its bits."""

    name: str
    blocks: Callable[[], Iterable[Array]]
    rows: int
    bits: int


def facts_of_checkpoint(checkpoint: Checkpoint, graph: ModelGraph | None, bits: int) -> Found:
    """Raises CheckpointError."""
    named = _of_tensors(checkpoint, bits) if graph is None else _of_graph(checkpoint, graph, bits)
    facts: dict[str, Measured] = {}
    quantized: dict[str, int] = {}
    for one in named:
        if len(facts) == MAX_FACTS:
            raise CheckpointError("checkpoint.too_large", f"more than {MAX_FACTS} weights")
        found = _measured(one)
        if found is not None:
            facts[one.name] = found
            quantized |= {one.name: one.bits} if one.bits else {}
    return Found(facts, quantized)


def _measured(one: Named) -> Measured | None:
    try:
        return measure(one.blocks(), one.rows)
    except Overflow:
        message = f"the sums of {shown(one.name)} are beyond double precision"
        raise CheckpointError("checkpoint.too_large", message, "no weight is as large as this") from None


def _of_tensors(checkpoint: Checkpoint, bits: int) -> Iterator[Named]:
    for name, stored in checkpoint.tensors.items():
        rows = stored.shape[-2] if len(stored.shape) > 1 else 0
        used = bits if rows else 0
        yield Named(name, _reading(name, stored, used), rows, used)


def _reading(name: str, stored: Stored, bits: int) -> Callable[[], Iterable[Array]]:
    def read() -> Iterator[Array]:
        if 0 in stored.shape:
            return iter(())
        return quantized_rows(name, blocks(name, stored), bits) if bits else blocks(name, stored)

    return read


def _of_graph(checkpoint: Checkpoint, graph: ModelGraph, bits: int) -> Iterator[Named]:
    protected = _protected(graph)
    for weight, name in zip(graph.weights, weight_names(graph.weights), strict=True):
        used = bits if weight.name in protected else 0
        for index, layer in enumerate(weight.layers or (None,)):
            rows = weight.shape[-2] if len(weight.shape) > 1 else weight.experts
            member = name if layer is None else f"{name}[{index}]"
            yield Named(member, _member(checkpoint, weight, layer, used), rows, used)


def _member(
    checkpoint: Checkpoint, weight: Weight, layer: int | None, bits: int
) -> Callable[[], Iterable[Array]]:
    def read() -> Iterator[Array]:
        found = matrices(checkpoint.tensors, weight, layer)
        if len(weight.shape) < 2 and weight.experts:
            return iter((np.concatenate(list(found)),))
        return quantized_rows(weight.name, found, bits) if bits else found

    return read


def _protected(graph: ModelGraph) -> set[str]:
    """Weights of the protected operators in the layers whose rows are output channels: quantised by columns, the integers
    would be others than those of a format with a scale for each row."""
    found: set[str] = set()
    bodies: Iterable[Repeat] = (repeat for stage in (graph.prefill, graph.decode) for repeat in stage.layers)
    for repeat in bodies:
        for op in repeat.ops:
            by_outputs = op.attributes.get("stored") != "in_out"
            if op.operator in PROTECTED and "weight" in op.weights and by_outputs:
                found.add(op.weights["weight"])
    return found
