"""The whole graph of a decoder: embedding, each distinct layer once, head, for prefill and for decode."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from pllm_lang.models.build.body import Body, Geometry
from pllm_lang.models.build.layer import build_layer
from pllm_lang.models.decoder import Attention, Decoder, DenseAndExperts, Experts, LatentAttention, Layer
from pllm_lang.models.graph import (
    GRAPH_SCHEMA,
    ConfigIdentity,
    Dimensions,
    ModelGraph,
    Repeat,
    Stage,
    State,
    Tensor,
    Weight,
    Workload,
)


class BuiltStage(msgspec.Struct, frozen=True):
    stage: Stage
    weights: tuple[Weight, ...]
    states: tuple[State, ...]


def build_graph(decoder: Decoder, config: ConfigIdentity, workload: Workload) -> ModelGraph:
    groups = group_layers(decoder.layers)
    prefill = _build_stage(decoder, workload, groups, decode=False)
    decode = _build_stage(decoder, workload, groups, decode=True)
    return ModelGraph(
        schema=GRAPH_SCHEMA,
        config=config,
        dimensions=dimensions(decoder),
        workload=workload,
        prefill=prefill.stage,
        decode=decode.stage,
        weights=prefill.weights,
        states=prefill.states,
    )


def group_layers(layers: Iterable[Layer]) -> dict[Layer, tuple[int, ...]]:
    """The distinct layers, in the order of their first index, each with its indices."""
    groups: dict[Layer, list[int]] = {}
    for index, layer in enumerate(layers):
        groups.setdefault(layer, []).append(index)
    return {layer: tuple(indices) for layer, indices in groups.items()}


def _build_stage(
    decoder: Decoder, workload: Workload, groups: Mapping[Layer, tuple[int, ...]], *, decode: bool
) -> BuiltStage:
    query = 1 if decode else workload.max_input_tokens
    total = workload.max_input_tokens + workload.max_new_tokens - 1
    geometry = Geometry(decode, workload.batch, query, total)
    before = Body(geometry, decoder.names)
    carried = _embed(before, decoder)
    bodies: list[tuple[Layer, Body]] = []
    for layer, indices in groups.items():
        body = Body(geometry, decoder.names, indices)
        body.declare("hidden", (workload.batch, query, decoder.hidden))
        build_layer(body, layer)
        bodies.append((layer, body))
    after = Body(geometry, decoder.names)
    after.declare("hidden", (workload.batch, query, decoder.hidden))
    logits = _predict(after, decoder)
    repeats = tuple(
        Repeat(layer.kind, body.layers, tuple(body.ops), body.carried, body.writes) for layer, body in bodies
    )
    stage = Stage(
        mode="decode" if decode else "prefill",
        steps=workload.max_new_tokens - 1 if decode else 1,
        query=query,
        inputs=(
            Tensor("tokens", (workload.batch, query)),
            Tensor("positions", (workload.batch, query)),
            Tensor("lengths", (workload.batch,)),
        ),
        before=tuple(before.ops),
        carried={"hidden": carried},
        layers=repeats,
        after=tuple(after.ops),
        outputs=(logits, "next_token"),
    )
    inner = [body for _, body in bodies]
    states = tuple(state for body in inner for state in body.states)
    return BuiltStage(stage, _merge_weights([before, *inner, after]), states)


def _embed(body: Body, decoder: Decoder) -> str:
    geometry = body.geometry
    shape = (geometry.batch, geometry.query, decoder.hidden)
    weight = body.weight(f"{body.path('embedding')}.weight", (decoder.vocab, decoder.hidden))
    hidden = body.op("embedding", "embedding", ("tokens",), shape, {"weight": weight})
    hidden = body.scale("embedding_scale", decoder.embedding_scale, hidden)
    if decoder.positions:
        rows = decoder.positions + decoder.position_offset
        table = body.weight(f"{body.path('positions')}.weight", (rows, decoder.hidden))
        learned = body.op(
            "position_embedding",
            "embedding",
            ("positions",),
            shape,
            {"weight": table},
            offset=decoder.position_offset,
        )
        hidden = body.binary("embedding_sum", "add", hidden, learned)
    return hidden


def _predict(body: Body, decoder: Decoder) -> str:
    """Norm, the last position of each sequence, head, and the greedy next token `[B]`; gives the name of the
    logits `[B, vocab]`."""
    batch = body.geometry.batch
    hidden = body.norm("final_norm", "final_norm", decoder.final_norm, "hidden")
    last = body.op("last_token", "last_token", (hidden, "lengths"), (batch, decoder.hidden))
    role = "embedding" if decoder.tied else "head"
    weights = {"weight": f"{body.path(role)}.weight"}
    if not decoder.tied:
        body.weight(weights["weight"], (decoder.vocab, decoder.hidden))
    if decoder.head_bias:
        weights["bias"] = body.weight(f"{body.path('head')}.bias", (decoder.vocab,))
    shape = (batch, decoder.vocab)
    head_norm = {"unit_rows": True} if decoder.head_norm else {}
    logits = body.op("lm_head", "linear", (last,), shape, weights, given=head_norm)
    logits = body.scale("logit_scale", decoder.logit_scale, logits)
    if decoder.logit_softcap:
        logits = body.op("logit_softcap", "softcap", (logits,), shape, cap=decoder.logit_softcap)
    body.op("next_token", "argmax", (logits,), (batch,))
    return logits


def _merge_weights(bodies: Iterable[Body]) -> tuple[Weight, ...]:
    merged: dict[tuple[str, tuple[int, ...], int], list[int]] = {}
    for body in bodies:
        for weight in body.weights:
            merged.setdefault((weight.name, weight.shape, weight.experts), []).extend(weight.layers)
    return tuple(Weight(*key[:2], tuple(sorted(layers)), key[2]) for key, layers in merged.items())


def dimensions(decoder: Decoder) -> Dimensions:
    mixers = [layer.mixer for layer in decoder.layers]
    attention = next((m for m in mixers if isinstance(m, Attention)), None)
    latent = next((m for m in mixers if isinstance(m, LatentAttention)), None)
    blocks = [layer.block for layer in decoder.layers]
    inner = [b.experts if isinstance(b, DenseAndExperts) else b for b in blocks]
    experts = next((b for b in inner if isinstance(b, Experts)), None)
    if latent is not None:
        heads, kv_heads, head_dim = latent.heads, latent.heads, latent.nope_dim + latent.rope_dim
    elif attention is not None:
        heads, kv_heads, head_dim = attention.heads, attention.kv_heads, attention.head_dim
    else:
        heads = kv_heads = head_dim = 0
    return Dimensions(
        hidden=decoder.hidden,
        layers=len(decoder.layers),
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        intermediate=decoder.intermediate,
        vocab=decoder.vocab,
        experts=experts.count if experts else 0,
        experts_per_token=experts.router.top_k if experts else 0,
        max_positions=decoder.max_positions,
        tied=decoder.tied,
        layer_kinds=tuple(layer.kind for layer in decoder.layers),
    )
