"""The text of a whole model: one plan, in the clear at the client, with a stage for prefill and one for decode.

In: a graph and the plan's name. Out: `.pllm` text in the one layout. The text states what the graph states: weights in
the format that the config names, everything between them in single precision, caches as states that decode reads and
writes. What it cannot state yet is refused by name: codes `text.*`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from math import prod
from typing import TypeVar

import msgspec

from pllm_lang.models.digest import graph_digest
from pllm_lang.models.errors import LoweringError
from pllm_lang.models.graph import ModelGraph, Shape, State, Weight
from pllm_lang.models.limits import MAX_TENSOR_ENTRIES, MAX_TEXT_OPS
from pllm_lang.models.text.attention import MASKED, MASKED_VALUE
from pllm_lang.models.text.names import state_names, weight_names
from pllm_lang.models.text.stages import Declared, stage_lines, written_ops
from pllm_lang.models.text.writer import Family
from pllm_lang.syntax.format import format_source
from pllm_lang.syntax.parse import parse
from pllm_lang.text.source import make_source

T = TypeVar("T", Weight, State)

DTYPES = {"": "f32", "float32": "f32", "bfloat16": "bf16", "float16": "f16"}
"""The format of the weights by the config's `dtype`; a config that states none stores single precision."""
STORED = {8: "weight8", 4: "weight4"}
"""The library's formats of integers with a scale for each row; others are declared in the text."""
PASSES = ("quantize_weights", "fuse_qkv", "chunk_prefill")
"""Passes whose result the text can say."""


def model_text(graph: ModelGraph, name: str = "") -> str:
    """The plan of `graph` as text in the one layout. Raises `LoweringError` with a code `text.*` where the text cannot
    say it."""
    return format_source(parse(make_source("model.pllm", _documented_text(graph, name))))


def unformatted_text(graph: ModelGraph, name: str = "") -> str:
    """The same plan without its layout and its documentation, for a reader that is no person."""
    _refuse_unsaid(graph)
    return "\n".join(_lines(graph, _plan_name(name or graph.config.family), documented=False)) + "\n"


def _documented_text(graph: ModelGraph, name: str) -> str:
    _refuse_unsaid(graph)
    return "\n".join(_lines(graph, _plan_name(name or graph.config.family))) + "\n"


def _plan_name(name: str) -> str:
    word = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    return word if word[:1].isalpha() else f"model_{word}"


def _refuse_unsaid(graph: ModelGraph) -> None:
    if graph.config.dtype not in DTYPES:
        raise LoweringError(
            "text.dtype", f"weights stored as {graph.config.dtype} have no format in the library", key="dtype"
        )
    size = sum(map(written_ops, (graph.prefill, graph.decode)))
    if size > MAX_TEXT_OPS:
        raise LoweringError(
            "text.size",
            f"{graph.dimensions.layers} layers of which so few are alike make a text of {size} operations; it may have"
            f" {MAX_TEXT_OPS}",
            key="layers",
        )
    for name, shape in _tensors(graph):
        if prod(shape) > MAX_TENSOR_ENTRIES:
            raise LoweringError(
                "text.size",
                f"{name} has {prod(shape)} entries; a tensor of a plan has at most {MAX_TENSOR_ENTRIES}",
                key=name,
            )
    for done in graph.transformations:
        if done.name not in PASSES:
            raise LoweringError(
                "text.pass",
                f"`{done.name}` picks cache entries by values of the run, and the library has no operator that does",
                key="passes",
                help="check the model without it; `pllm export` writes the model with it for the pllm.run SDK",
            )


def _tensors(graph: ModelGraph) -> Iterator[tuple[str, Shape]]:
    for weight in graph.weights:
        yield weight.name, (max(weight.experts, 1), *weight.shape)
    for stage in (graph.prefill, graph.decode):
        for ops in (stage.before, *(repeat.ops for repeat in stage.layers), stage.after):
            for op in ops:
                yield op.name, op.shape


def _lines(graph: ModelGraph, name: str, *, documented: bool = True) -> Iterator[str]:
    dtype = "f32" if graph.config.quantization else DTYPES[graph.config.dtype]
    weights = _families(graph.weights, weight_names(graph.weights))
    merged = _merge_states(graph.states)
    states = _families(merged, state_names(merged))
    integers = {weight.bits for weight, _ in weights if weight.bits}
    known = {STORED[bits] for bits in integers if bits in STORED}
    yield "pllm 1"
    yield f"import std.formats [{', '.join(sorted({'f32', 'token', dtype} | known))}]"
    yield f"const {MASKED} = {MASKED_VALUE}"
    for bits in sorted(integers - set(STORED)):
        yield f"## Symmetric integers of {bits} bits, with one stored scale a row."
        yield f"format {_integers(bits)} = int({1 - 2 ** (bits - 1)}, {2 ** (bits - 1) - 1}) {{ scale: row }}"
    if documented:
        yield from _documentation(graph)
    yield f"plan {name} {{"
    turned = _stored_turned(graph)
    for weight, family in weights:
        yield from _weight(weight, family, dtype, turned=weight.name in turned)
    yield ""
    for state, family in states:
        yield f"state {family.name}{_members(family)}: f32{_shape(state.shape)} @ client"
    for stage in (graph.prefill, graph.decode):
        yield ""
        yield from stage_lines(graph, stage, Declared(weights, states, dtype))
    yield "}"


def _weight(weight: Weight, family: Family, dtype: str, *, turned: bool) -> Iterator[str]:
    """A declaration under the checkpoint's name; of integers, rows are what shares a scale."""
    shape = (weight.experts, *weight.shape) if weight.experts else weight.shape
    note = ""
    if weight.bits and turned:
        shape, note = (*shape[:-2], shape[-1], shape[-2]), ", transposed"
    for part in weight.parts:
        yield f"## {part}"
    yield f"## {weight.name}{note}" if not weight.parts else f"## one below the other: {weight.name}{note}"
    format_ = _integers(weight.bits) if weight.bits else dtype
    yield f"weight {family.name}{_members(family)}: {format_}{_shape(shape)} public"


def _integers(bits: int) -> str:
    return STORED.get(bits, f"weight{bits}")


def _stored_turned(graph: ModelGraph) -> frozenset[str]:
    """Weights that the checkpoint stores as [in, out]."""
    bodies = [graph.prefill.before, graph.prefill.after, *(repeat.ops for repeat in graph.prefill.layers)]
    return frozenset(
        op.weights["weight"] for ops in bodies for op in ops if op.attributes.get("stored") == "in_out"
    )


def _documentation(graph: ModelGraph) -> Iterator[str]:
    work, steps, runs = graph.workload, graph.decode.steps, graph.prefill.steps
    several = f" for {work.batch} sequences of equal length," if work.batch > 1 else ""
    prefill = "once" if runs == 1 else f"{runs} times, {graph.prefill.query} tokens each"
    yield f"## A decoder of model type `{graph.config.model_type}`, in the clear at the client."
    yield "##"
    yield (
        f"## Lowered{several} for {work.max_input_tokens} input and {work.max_new_tokens} new tokens:"
        f" prefill {prefill}, decode {steps} times."
    )
    if graph.config.quantization:
        stored = ", ".join(graph.config.quantization.values())
        yield f"## The checkpoint stores quantised weights ({stored}). Here they are what its numbers stand for,"
        yield "## in single precision; activations are not quantised."
    for done in graph.transformations:
        given = ", ".join(f"{key}: {value}" for key, value in done.parameters.items())
        yield f"## Pass {done.name}({given})"
    yield f"## Config {graph.config.digest}"
    yield f"## Graph  {graph_digest(graph)}"


def _families(members: Iterable[T], names: Iterable[str]) -> list[tuple[T, Family]]:
    return [(one, Family(name, one.layers)) for one, name in zip(members, names, strict=True)]


def _merge_states(states: Iterable[State]) -> list[State]:
    """States of one name and shape as one family over all their layers; those that hold nothing are left out."""
    layers: dict[State, list[int]] = {}
    for state in states:
        if 0 in state.shape:
            continue
        layers.setdefault(msgspec.structs.replace(state, layers=()), []).extend(state.layers)
    return [msgspec.structs.replace(one, layers=tuple(sorted(of))) for one, of in layers.items()]


def _members(family: Family) -> str:
    return f"[0..<{len(family.layers)}]" if family.layers else ""


def _shape(shape: Shape) -> str:
    return f"[{', '.join(map(str, shape))}]"
