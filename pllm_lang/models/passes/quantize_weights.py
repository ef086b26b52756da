"""Linear weights as signed integers of `bits` bits, with one scale for each output row.

A weight w of a row becomes s * round(w / s) with s = max|row| / (2^(bits-1) - 1), ties to even. Embeddings,
norms, biases and a head that is tied to the embedding stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from pllm_lang.models.errors import LoweringError
from pllm_lang.models.graph import ModelGraph, Op, Repeat, Stage
from pllm_lang.models.passes.lineage import begin, record

NAME = "quantize_weights"
OPERATORS = ("linear", "expert_linear")
MIN_BITS, MAX_BITS = 2, 16


def quantize_weights(graph: ModelGraph, bits: int) -> ModelGraph:
    """Raises `LoweringError`: `pass.parameter`, `pass.applied_twice`, or `pass.quantized` for a quantised
    checkpoint."""
    begin(graph, NAME)
    if isinstance(bits, bool) or not MIN_BITS <= bits <= MAX_BITS:
        raise LoweringError(
            "pass.parameter", f"bits is {bits}; it must be in {MIN_BITS}..{MAX_BITS}", key="bits"
        )
    if graph.config.quantization:
        method = graph.config.quantization.get("method", "")
        raise LoweringError("pass.quantized", f"the checkpoint's weights are quantised already ({method})")
    kept = _used_elsewhere(graph.prefill)
    chosen = {
        op.weights["weight"]
        for op in _ops(graph.prefill)
        if op.operator in OPERATORS and op.weights["weight"] not in kept
    }
    weights = tuple(
        msgspec.structs.replace(weight, bits=bits) if weight.name in chosen else weight
        for weight in graph.weights
    )
    after = msgspec.structs.replace(
        graph,
        prefill=_mark(graph.prefill, chosen, bits),
        decode=_mark(graph.decode, chosen, bits),
        weights=weights,
    )
    return record(graph, after, NAME, {"bits": bits})


def _ops(stage: Stage) -> Iterable[Op]:
    yield from stage.before
    for repeat in stage.layers:
        yield from repeat.ops
    yield from stage.after


def _used_elsewhere(stage: Stage) -> set[str]:
    return {name for op in _ops(stage) if op.operator not in OPERATORS for name in op.weights.values()}


def _mark(stage: Stage, chosen: set[str], bits: int) -> Stage:
    def mark(ops: tuple[Op, ...]) -> tuple[Op, ...]:
        return tuple(
            msgspec.structs.replace(op, attributes={**op.attributes, "weight_bits": bits})
            if op.operator in OPERATORS and op.weights["weight"] in chosen
            else op
            for op in ops
        )

    layers: tuple[Repeat, ...] = tuple(
        msgspec.structs.replace(repeat, ops=mark(repeat.ops)) for repeat in stage.layers
    )
    return msgspec.structs.replace(stage, before=mark(stage.before), layers=layers, after=mark(stage.after))
