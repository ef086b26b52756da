"""The text of a whole model: one plan, in the clear at the client, with a stage for prefill and one for decode.

In: a graph and the plan's name. Out: `.pllm` text in the one layout. The text states what the graph states: weights in
the format that the config names, everything between them in single precision, caches as states that decode reads and
writes. What it cannot state yet is refused by name: codes `text.*`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias, TypeVar

import msgspec

from pllm_lang.models.digest import graph_digest
from pllm_lang.models.errors import LoweringError
from pllm_lang.models.graph import ModelGraph, Repeat, Shape, Stage, State, Weight
from pllm_lang.models.text.names import state_names, weight_names
from pllm_lang.models.text.operators import MASKED, MASKED_VALUE, write
from pllm_lang.models.text.runs import Run, runs
from pllm_lang.models.text.writer import LAYER, TURN, Family, Place, Writer
from pllm_lang.syntax.format import format_source
from pllm_lang.syntax.parse import parse
from pllm_lang.text.source import make_source

T = TypeVar("T", Weight, State)
MakeWriter: TypeAlias = Callable[[Place, Mapping[str, str], Repeat], Writer]

DTYPES = {"": "f32", "float32": "f32", "bfloat16": "bf16", "float16": "f16"}
"""The format of the weights by the config's `dtype`; a config that states none stores single precision."""


def model_text(graph: ModelGraph, name: str = "") -> str:
    """The plan of `graph` as text in the one layout. Raises `LoweringError` with a code `text.*` where the text cannot
    say it."""
    return format_source(parse(make_source("model.pllm", unformatted_text(graph, name))))


def unformatted_text(graph: ModelGraph, name: str = "") -> str:
    """The same plan without its layout, for a reader that is no person."""
    _refuse_unsaid(graph)
    return "\n".join(_lines(graph, _plan_name(name or graph.config.family))) + "\n"


def _plan_name(name: str) -> str:
    word = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    return word if word[:1].isalpha() else f"model_{word}"


def _refuse_unsaid(graph: ModelGraph) -> None:
    config = graph.config
    if graph.workload.batch != 1:
        raise LoweringError(
            "text.batch", "the text gives every sequence of a batch the same positions, so it states one sequence only",
            key="batch", help="lower with a batch of 1",
        )  # fmt: skip
    if config.dtype not in DTYPES:
        raise LoweringError(
            "text.dtype", f"weights stored as {config.dtype} have no format in the library", key="dtype"
        )
    if config.quantization:
        raise LoweringError(
            "text.quantization",
            "a quantised checkpoint's stored weights have no form in the text",
            key="quantization_config",
        )
    if graph.transformations:
        raise LoweringError(
            "text.pass", f"the pass {graph.transformations[0].name} has no form in the text", key="passes"
        )
    for stage in (graph.prefill, graph.decode):
        if set(stage.carried) != {"hidden"} or any(set(r.carried) != {"hidden"} for r in stage.layers):
            raise LoweringError(
                "text.carried", "only one value is carried from layer to layer in the text", key="layers"
            )


def _lines(graph: ModelGraph, name: str) -> Iterator[str]:
    dtype = DTYPES[graph.config.dtype]
    weights = _families(graph.weights, weight_names(graph.weights))
    merged = _merge_states(graph.states)
    states = _families(merged, state_names(merged))
    yield "pllm 1"
    yield f"import std.formats [{', '.join(sorted({'f32', 'token', dtype}))}]"
    yield f"const {MASKED} = {MASKED_VALUE}"
    yield from _documentation(graph)
    yield f"plan {name} {{"
    for weight, family in weights:
        yield f"## {weight.name}"
        yield f"weight {family.name}{_members(family)}: {dtype}{_shape(_stacked(weight))} public"
    yield ""
    for state, family in states:
        yield f"state {family.name}{_members(family)}: f32{_shape(state.shape)} @ client"
    for stage in (graph.prefill, graph.decode):
        yield from _stage(graph, stage, weights, states, dtype)
    yield "}"


def _documentation(graph: ModelGraph) -> Iterator[str]:
    work, steps = graph.workload, graph.decode.steps
    yield f"## A decoder of model type `{graph.config.model_type}`, in the clear at the client."
    yield "##"
    yield f"## Lowered for {work.max_input_tokens} input and {work.max_new_tokens} new tokens: prefill once, decode {steps} times."
    yield f"## Config {graph.config.digest}"
    yield f"## Graph  {graph_digest(graph)}"


def _families(members: Iterable[T], names: Iterable[str]) -> list[tuple[T, Family]]:
    return [(one, Family(name, one.layers)) for one, name in zip(members, names, strict=True)]


def _merge_states(states: Iterable[State]) -> list[State]:
    """States of one name and shape as one family over all their layers."""
    layers: dict[State, list[int]] = {}
    for state in states:
        layers.setdefault(msgspec.structs.replace(state, layers=()), []).extend(state.layers)
    return [msgspec.structs.replace(one, layers=tuple(sorted(of))) for one, of in layers.items()]


def _members(family: Family) -> str:
    return f"[0..<{len(family.layers)}]" if family.layers else ""


def _stacked(weight: Weight) -> Shape:
    """All experts of a layer as one tensor, experts first."""
    return (weight.experts, *weight.shape) if weight.experts else weight.shape


def _shape(shape: Shape) -> str:
    return f"[{', '.join(map(str, shape))}]"


def _stage(
    graph: ModelGraph,
    stage: Stage,
    weights: list[tuple[Weight, Family]],
    states: list[tuple[State, Family]],
    dtype: str,
) -> Iterator[str]:
    shapes = {tensor.name: tensor.shape[1:] for tensor in stage.inputs}
    shapes["tokens"] = (1, stage.query)
    first = graph.workload.max_input_tokens + (stage.mode == "decode")
    lengths = (first, max(first, first + stage.steps - 1))

    def writer(place: Place, renamed: Mapping[str, str], repeat: Repeat | None = None) -> Writer:
        written = {} if repeat is None else {op: state for state, op in repeat.writes.items()}
        known = shapes | dict.fromkeys(stage.carried, (1, stage.query, 0))
        return Writer(weights, states, dtype, place, renamed, written, known, lengths)

    yield ""
    yield f"stage {stage.mode} {{"
    last_token, last_position = graph.dimensions.vocab - 1, graph.dimensions.max_positions - 1
    yield f"input tokens: token[1, {stage.query}] from client where tokens in 0..{last_token}"
    yield f"input positions: token[{stage.query}] from client where positions in 0..{last_position}"
    before = writer(Place(), {stage.carried["hidden"]: "hidden"})
    for op in stage.before:
        write(before, op)
    yield from before.lines
    for run in runs(stage.layers):
        yield from _loop(run, writer)
    after = writer(Place(), {})
    for op in stage.after:
        write(after, op)
    yield from after.lines
    for output in stage.outputs:
        yield f"output {after.operand(output)} to client"
    yield "}"


def _loop(run: Run, writer: MakeWriter) -> Iterator[str]:
    variable = LAYER if run.period == 1 else TURN
    yield f"repeat {variable} in {run.low}..<{run.low + run.turns} carrying [hidden] {{"
    for member, repeat in enumerate(run.bodies):
        entering = "hidden" if member == 0 else f"hidden_{member}"
        leaving = "hidden" if member == run.period - 1 else f"hidden_{member + 1}"
        last = repeat.carried["hidden"]
        if repeat.ops[-1].name != last:
            raise LoweringError(
                "text.carried", f"layer {run.first}: the carried value is not the last one made"
            )
        one = writer(Place(run, member), {"hidden": entering, last: leaving}, repeat)
        for op in repeat.ops:
            write(one, op)
        yield from one.lines
    yield "}"
