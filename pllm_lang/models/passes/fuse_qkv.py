"""One linear layer for q, k and v: their weights one below the other, and slices of the result."""

from __future__ import annotations

import msgspec

from pllm_lang.models.errors import LoweringError
from pllm_lang.models.graph import ModelGraph, Op, Repeat, Stage, Weight
from pllm_lang.models.passes.lineage import begin, record

NAME = "fuse_qkv"
PARTS = ("q_proj", "k_proj", "v_proj")
FUSED = "qkv_proj"


def fuse_qkv(graph: ModelGraph) -> ModelGraph:
    """Fuses every layer that has separate projections of one input; refuses (`pass.not_applicable`) where
    none has."""
    begin(graph, NAME)
    fused_names = _fused_weights(graph.prefill)
    if not fused_names:
        raise LoweringError(
            "pass.not_applicable", "no layer has q_proj, k_proj and v_proj of one input with equal biases"
        )
    after = msgspec.structs.replace(
        graph,
        prefill=_fuse_stage(graph.prefill),
        decode=_fuse_stage(graph.decode),
        weights=_fuse_families(graph.weights, fused_names),
    )
    return record(graph, after, NAME, {})


def _parts(repeat: Repeat) -> tuple[Op, ...]:
    """The three projections, where they can be fused."""
    by_name = {op.name: op for op in repeat.ops}
    parts = tuple(by_name[name] for name in PARTS if name in by_name)
    one_input = len({op.inputs for op in parts}) == 1
    alike = len({(op.operator, tuple(op.weights), tuple(op.attributes.items())) for op in parts}) == 1
    return parts if len(parts) == len(PARTS) and one_input and alike else ()


def _fused_weights(stage: Stage) -> dict[str, tuple[str, ...]]:
    """Each fused weight's name with those of its parts."""
    fused: dict[str, tuple[str, ...]] = {}
    for repeat in stage.layers:
        parts = _parts(repeat)
        for role in parts[0].weights if parts else ():
            names = tuple(op.weights[role] for op in parts)
            fused[_fused_name(names[0])] = names
    return fused


def _fused_name(query: str) -> str:
    module, _, kind = query.rpartition(".")
    return f"{module.rpartition('.')[0]}.{FUSED}.{kind}"


def _fuse_stage(stage: Stage) -> Stage:
    return msgspec.structs.replace(stage, layers=tuple(_fuse_body(repeat) for repeat in stage.layers))


def _fuse_body(repeat: Repeat) -> Repeat:
    parts = _parts(repeat)
    if not parts:
        return repeat
    widths = [op.shape[-1] for op in parts]
    weights = {role: _fused_name(name) for role, name in parts[0].weights.items()}
    shape = (*parts[0].shape[:-1], sum(widths))
    new = [Op(FUSED, "linear", parts[0].inputs, shape, weights, parts[0].attributes)]
    start = 0
    for op, width in zip(parts, widths, strict=True):
        new.append(Op(op.name, "slice", (FUSED,), op.shape, {}, {"start": start, "stop": start + width}))
        start += width
    first = repeat.ops.index(parts[0])
    kept = [op for op in repeat.ops if op.name not in PARTS]
    return msgspec.structs.replace(repeat, ops=(*kept[:first], *new, *kept[first:]))


def _fuse_families(weights: tuple[Weight, ...], fused: dict[str, tuple[str, ...]]) -> tuple[Weight, ...]:
    """Families of parts replaced, at the place of the query's, by the fused family of the same layers."""
    by_name: dict[str, list[Weight]] = {}
    for weight in weights:
        by_name.setdefault(weight.name, []).append(weight)
    gone = {part for parts in fused.values() for part in parts[1:]}
    queries = {parts[0]: name for name, parts in fused.items()}
    result: list[Weight] = []
    for weight in weights:
        if weight.name in queries:
            parts = fused[queries[weight.name]]
            rows = sum(_shape_for(by_name[part], weight.layers)[0] for part in parts)
            result.append(
                msgspec.structs.replace(
                    weight, name=queries[weight.name], shape=(rows, *weight.shape[1:]), parts=parts
                )
            )
        elif weight.name not in gone:
            result.append(weight)
    return tuple(result)


def _shape_for(families: list[Weight], layers: tuple[int, ...]) -> tuple[int, ...]:
    return next(family.shape for family in families if set(layers) & set(family.layers))
