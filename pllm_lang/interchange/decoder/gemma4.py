"""Gemma 4 E2B and E4B text decoders as `pllm.decoder_plan.v1` graphs.

In: one of the two published geometries and a phase. Out: the graph as the SDK writes it, including the norm offset
that it gives every norm (see `faithful.py`).
"""

from __future__ import annotations

from typing import Any

import msgspec

from pllm_lang.interchange.decoder.parts import cache_attributes, linear
from pllm_lang.interchange.decoder.plan import (
    CACHE_DESCRIPTOR,
    CACHE_INPUTS,
    GREEDY,
    KV_CACHE,
    LENGTHS,
    MASK,
    POSITIONS,
    Graph,
    Operation,
    Phase,
    Shape,
    State,
    operation,
)

ROOT = "model.language_model."
BFLOAT = {"compute_dtype": "bfloat16", "output_dtype": "bfloat16"}
FLOAT32_INSIDE = {"compute_dtype": "float32", "output_dtype": "bfloat16"}
WINDOW_CACHE = "batch_kv_heads_query_window_feature"
PERMUTE = (0, 2, 1, 3)


class Gemma4(msgspec.Struct, frozen=True):
    """One published geometry. Every `full_every`-th layer attends to all positions, the others to a window.

    The last `shared_kv` layers reuse the keys and values of the last layer of their kind that has its own;
    `wide_shared` doubles the feed-forward width of those.
    """

    layers: int
    full_every: int
    shared_kv: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    global_head_dim: int
    intermediate: int
    wide_shared: bool
    vocabulary: int
    per_layer: int
    window: int
    maximum_positions: int
    revision: str


class _Layer(msgspec.Struct, frozen=True):
    """What differs between layers: number, whether it attends to all, whose keys it reads, its sizes."""

    number: int
    is_full: bool
    source: int
    owns_kv: bool
    head_dim: int
    intermediate: int


def gemma4_graph(p: Gemma4, phase: Phase) -> Graph:
    """The graph of one phase."""
    layers = [_layer(p, number) for number in range(p.layers)]
    operations, hidden = _front(p, phase), "main_embedding_scaled"
    for layer in layers:
        operations += _attention(p, phase, layer, hidden)
        operations += _feed_forward(p, phase, layer)
        operations += _per_layer_input(p, phase, layer)
        hidden = operations[-1].id
    return Graph(
        mode=phase.mode,
        batch=phase.batch,
        query_sequence=phase.query,
        maximum_key_sequence=phase.cache_capacity,
        operations=(*operations, *_tail(p, phase, hidden)),
        state_inputs=_states(p, phase, layers, is_input=True) if phase.mode == "decode" else (),
        state_outputs=_states(p, phase, layers, is_input=False),
    )


def _layer(p: Gemma4, number: int) -> _Layer:
    is_full = number % p.full_every == p.full_every - 1
    owners = range(p.layers - p.shared_kv)
    owns = number in owners
    same_kind = [n for n in owners if (n % p.full_every == p.full_every - 1) == is_full]
    wide = p.wide_shared and not owns
    return _Layer(
        number=number,
        is_full=is_full,
        source=number if owns else same_kind[-1],
        owns_kv=owns,
        head_dim=p.global_head_dim if is_full else p.head_dim,
        intermediate=p.intermediate * (2 if wide else 1),
    )


def _front(p: Gemma4, phase: Phase) -> list[Operation]:
    rows = (phase.batch, phase.query)
    outer, packed, split = (*rows, p.hidden), (*rows, p.layers * p.per_layer), (*rows, p.layers, p.per_layer)
    layout = {"layout": "batch_sequence_layer_feature"}
    return [
        operation(
            "main_embedding",
            "token_lookup",
            ("input.tokens",),
            outer,
            weight=f"{ROOT}embed_tokens.weight",
            checkpoint_layout="conditional_generation",
            adapter_reference_revision=p.revision,
        ),
        _scale("main_embedding_scaled", "main_embedding", outer, "sqrt", p.hidden, held_as="float32_buffer"),
        operation(
            "ple_token_embedding",
            "token_lookup",
            ("input.tokens",),
            packed,
            weight=f"{ROOT}embed_tokens_per_layer.weight",
        ),
        _scale(
            "ple_token_scaled", "ple_token_embedding", packed, "sqrt", p.per_layer, held_as="float32_buffer"
        ),
        operation("ple_token_reshape", "reshape", ("ple_token_scaled",), split, **layout),
        linear(
            "ple_context_projection", "main_embedding_scaled", packed, f"{ROOT}per_layer_model_projection"
        ),
        _scale(
            "ple_context_scaled",
            "ple_context_projection",
            packed,
            "inverse_sqrt",
            p.hidden,
            held_as="python_float64",
        ),
        operation("ple_context_reshape", "reshape", ("ple_context_scaled",), split, **layout),
        _norm("ple_context_norm", "ple_context_reshape", split, f"{ROOT}per_layer_projection_norm"),
        operation(
            "ple_combined",
            "residual_add",
            ("ple_token_reshape", "ple_context_norm"),
            split,
            semantics="ple_token_plus_context",
        ),
        _scale("ple_combined_scaled", "ple_combined", split, "inverse_sqrt", 2, held_as="python_float64"),
    ]


def _attention(p: Gemma4, phase: Phase, layer: _Layer, hidden: str) -> list[Operation]:
    n, w, rows = f"layer.{layer.number}.", f"{ROOT}layers.{layer.number}.", (phase.batch, phase.query)
    flat = p.heads * layer.head_dim
    split = (*rows, p.heads, layer.head_dim)
    return [
        _norm(n + "input_norm", hidden, (*rows, p.hidden), w + "input_layernorm"),
        linear(n + "q_linear", n + "input_norm", (*rows, flat), w + "self_attn.q_proj"),
        operation(n + "q_heads", "reshape", (n + "q_linear",), split, layout="batch_sequence_heads_feature"),
        _norm(n + "q_norm", n + "q_heads", split, w + "self_attn.q_norm"),
        _rotate(layer, n + "rope_q", n + "q_norm", split),
        _heads_first(n + "q_permute", n + "rope_q", split),
        *(_own_keys_and_values(p, phase, layer) if layer.owns_kv else ()),
        *_attend(p, phase, layer),
        _heads_first(
            n + "attention_permute",
            n + "attention_values",
            (phase.batch, p.heads, phase.query, layer.head_dim),
        ),
        operation(
            n + "attention_hidden",
            "reshape",
            (n + "attention_permute",),
            (*rows, flat),
            layout="batch_sequence_hidden",
        ),
        linear(n + "o_proj", n + "attention_hidden", (*rows, p.hidden), w + "self_attn.o_proj"),
        _norm(n + "post_attention_norm", n + "o_proj", (*rows, p.hidden), w + "post_attention_layernorm"),
        operation(
            n + "attention_residual", "residual_add", (hidden, n + "post_attention_norm"), (*rows, p.hidden)
        ),
    ]


def _own_keys_and_values(p: Gemma4, phase: Phase, layer: _Layer) -> list[Operation]:
    n, w, rows = (
        f"layer.{layer.number}.",
        f"{ROOT}layers.{layer.number}.self_attn.",
        (phase.batch, phase.query),
    )
    flat, split = (*rows, p.kv_heads * layer.head_dim), (*rows, p.kv_heads, layer.head_dim)
    layout = {"layout": "batch_sequence_heads_feature"}
    found = [
        linear(n + "k_linear", n + "input_norm", flat, w + "k_proj"),
        linear(n + "v_linear", n + "input_norm", flat, w + "v_proj"),
        operation(n + "k_heads", "reshape", (n + "k_linear",), split, **layout),
        operation(n + "v_heads", "reshape", (n + "v_linear",), split, **layout),
        _norm(n + "k_norm", n + "k_heads", split, w + "k_norm"),
        _norm(n + "v_norm", n + "v_heads", split, None),
        _rotate(layer, n + "rope_k", n + "k_norm", split),
        _heads_first(n + "k_permute", n + "rope_k", split),
        _heads_first(n + "v_permute", n + "v_norm", split),
        *(_append(p, phase, layer, kind) for kind in ("key", "value")),
    ]
    if layer.is_full:
        return found
    past = p.window - 1
    return found + [
        operation(
            n + f"{kind}_suffix",
            "cache_suffix",
            (n + f"{kind}_append", *CACHE_INPUTS),
            (phase.batch, p.kv_heads, past, layer.head_dim),
            kind,
            axis=3,
            output_axis=2,
            maximum_sequence=past,
            semantics="persist_last_valid_past_tokens",
            **CACHE_DESCRIPTOR,
        )
        for kind in ("key", "value")
    ]


def _append(p: Gemma4, phase: Phase, layer: _Layer, kind: str) -> Operation:
    n, state = f"layer.{layer.number}.", f"state.layer.{layer.number}.{kind}"
    carried = (state,) if phase.mode == "decode" else ()
    seen, capacity, domain = _domain(p, phase, layer)
    rows = (seen,) if layer.is_full else (phase.query, seen)
    return operation(
        n + f"{kind}_append",
        "kv_cache_append",
        (*carried, n + f"{kind[0]}_permute", *CACHE_INPUTS),
        (phase.batch, p.kv_heads, *rows, layer.head_dim),
        kind,
        **cache_attributes(state, phase, capacity, seen, domain),
    )


def _domain(p: Gemma4, phase: Phase, layer: _Layer) -> tuple[int, int, str]:
    """Keys that one query sees, positions that the state keeps, layout of the keys."""
    if layer.is_full:
        return phase.cache_capacity, phase.cache_capacity, KV_CACHE
    return p.window, p.window - 1, WINDOW_CACHE


def _attend(p: Gemma4, phase: Phase, layer: _Layer) -> list[Operation]:
    n, source, group = f"layer.{layer.number}.", f"layer.{layer.source}.", p.heads // p.kv_heads
    seen, _, layout = _domain(p, phase, layer)
    scores = (phase.batch, p.heads, phase.query, seen)
    one: dict[str, Any] = {"kind": "rational", "numerator": 1, "denominator": 1, **_rounding("exact_integer")}
    return [
        operation(
            n + "attention_scores",
            "attention_scores",
            (n + "q_permute", source + "key_append"),
            scores,
            group_size=group,
            key_layout=layout,
            key_value_source_layer=layer.source,
        ),
        operation(n + "attention_scale", "attention_scale", (n + "attention_scores",), scores, factor=one),
        operation(
            n + "causal_mask",
            "causal_mask",
            (n + "attention_scale", *CACHE_INPUTS),
            scores,
            **_mask(p, layer),
        ),
        operation(n + "softmax", "softmax", (n + "causal_mask",), scores, axis=-1, **FLOAT32_INSIDE),
        operation(
            n + "attention_values",
            "attention_values",
            (n + "softmax", source + "value_append"),
            (phase.batch, p.heads, phase.query, layer.head_dim),
            group_size=group,
            value_layout=layout,
        ),
    ]


def _mask(p: Gemma4, layer: _Layer) -> dict[str, Any]:
    inputs = {
        "absolute_positions_input": POSITIONS,
        "padding_mask_input": MASK,
        "valid_lengths_input": LENGTHS,
    }
    if layer.is_full:
        return {
            **inputs,
            "kind": "full_causal",
            "key_domain": "fixed_capacity",
            "cache_validity": "valid_lengths_fixed_capacity",
            "maximum_position_embeddings": p.maximum_positions,
        }
    return {
        **inputs,
        "kind": "sliding_causal",
        "key_domain": "query_relative_window",
        "cache_validity": "valid_lengths_bounded_suffix",
        "sliding_window": p.window,
        "left_context": p.window - 1,
        "includes_current": True,
    }


def _feed_forward(p: Gemma4, phase: Phase, layer: _Layer) -> list[Operation]:
    n, w = f"layer.{layer.number}.", f"{ROOT}layers.{layer.number}."
    outer, inner = (phase.batch, phase.query, p.hidden), (phase.batch, phase.query, layer.intermediate)
    return [
        _norm(n + "pre_feedforward_norm", n + "attention_residual", outer, w + "pre_feedforward_layernorm"),
        linear(n + "gate_proj", n + "pre_feedforward_norm", inner, w + "mlp.gate_proj"),
        linear(n + "up_proj", n + "pre_feedforward_norm", inner, w + "mlp.up_proj"),
        _gelu(n + "gelu_tanh", n + "gate_proj", inner),
        operation(n + "gated_multiply", "multiply", (n + "gelu_tanh", n + "up_proj"), inner),
        linear(n + "down_proj", n + "gated_multiply", outer, w + "mlp.down_proj"),
        _norm(n + "post_feedforward_norm", n + "down_proj", outer, w + "post_feedforward_layernorm"),
        operation(
            n + "feedforward_residual",
            "residual_add",
            (n + "attention_residual", n + "post_feedforward_norm"),
            outer,
        ),
    ]


def _per_layer_input(p: Gemma4, phase: Phase, layer: _Layer) -> list[Operation]:
    number, n, w = layer.number, f"layer.{layer.number}.", f"{ROOT}layers.{layer.number}."
    outer, inner = (phase.batch, phase.query, p.hidden), (phase.batch, phase.query, p.per_layer)
    learned = {"kind": "learned", "weight": w + "layer_scalar", **_rounding("bfloat16")}
    cut = {"axis": 2, "start": number, "end": number + 1, "squeeze": True}
    return [
        operation(n + "ple_slice", "slice", ("ple_combined_scaled",), inner, **cut),
        linear(n + "ple_gate", n + "feedforward_residual", inner, w + "per_layer_input_gate"),
        _gelu(n + "ple_gelu_tanh", n + "ple_gate", inner),
        operation(n + "ple_multiply", "multiply", (n + "ple_gelu_tanh", n + "ple_slice"), inner),
        linear(n + "ple_projection", n + "ple_multiply", outer, w + "per_layer_projection"),
        _norm(n + "ple_norm", n + "ple_projection", outer, w + "post_per_layer_input_norm"),
        operation(n + "ple_residual", "residual_add", (n + "feedforward_residual", n + "ple_norm"), outer),
        operation(n + "layer_scalar", "scale", (n + "ple_residual",), outer, factor=learned),
    ]


def _tail(p: Gemma4, phase: Phase, hidden: str) -> list[Operation]:
    batch, logits = phase.batch, (phase.batch, p.vocabulary)
    last = {"axis": 1, "selection": "last_valid", "valid_lengths_input": LENGTHS}
    return [
        _norm("final_norm", hidden, (batch, phase.query, p.hidden), f"{ROOT}norm"),
        operation("last_hidden", "last_token", ("final_norm", LENGTHS), (batch, p.hidden), **last),
        operation(
            "output_head",
            "output_head",
            ("last_hidden",),
            logits,
            tied=True,
            weight=f"{ROOT}embed_tokens.weight",
        ),
        operation(
            "logit_softcap",
            "softcap",
            ("output_head",),
            logits,
            cap=30,
            formula="cap*tanh(input/cap)",
            **BFLOAT,
        ),
        operation("token_selection", "greedy_token_selection", ("logit_softcap",), (batch,), **GREEDY),
        operation("token_feedback", "token_feedback", ("token_selection",), (batch, 1), **GREEDY),
    ]


def _states(p: Gemma4, phase: Phase, layers: list[_Layer], *, is_input: bool) -> tuple[State, ...]:
    found: list[State] = []
    for layer in layers:
        _, capacity, _ = _domain(p, phase, layer)
        shape = (phase.batch, p.kv_heads, capacity, layer.head_dim)
        written = "append" if layer.is_full else "suffix"
        for kind in ("key", "value") if layer.owns_kv else ():
            name = (
                f"state.layer.{layer.number}.{kind}" if is_input else f"layer.{layer.number}.{kind}_{written}"
            )
            found.append(State(name, layer.number, kind, shape, capacity))
    return tuple(found)


def _norm(id: str, source: str, shape: Shape, weight: str | None) -> Operation:
    path = None if weight is None else f"{weight}.weight"
    scale = {"weight": path, "weight_offset": 1, "with_scale": path is not None}
    return operation(id, "rms_norm", (source,), shape, epsilon="1/1000000", **scale, **FLOAT32_INSIDE)


def _scale(id: str, source: str, shape: Shape, kind: str, radicand: int, *, held_as: str) -> Operation:
    return operation(
        id, "scale", (source,), shape, factor={"kind": kind, "radicand": radicand, **_rounding(held_as)}
    )


def _rounding(held_as: str) -> dict[str, str]:
    return {"factor_source_dtype": held_as, "factor_rounding_dtype": "bfloat16", **BFLOAT}


def _gelu(id: str, source: str, shape: Shape) -> Operation:
    return operation(id, "gelu_tanh", (source,), shape, approximation="tanh", **BFLOAT)


def _heads_first(id: str, source: str, shape: Shape) -> Operation:
    moved = (shape[0], shape[2], shape[1], shape[3])
    return operation(id, "permute", (source,), moved, permutation=PERMUTE)


def _rotate(layer: _Layer, id: str, source: str, shape: Shape) -> Operation:
    return operation(
        id,
        "rotary_embedding",
        (source, POSITIONS),
        shape,
        theta=1_000_000 if layer.is_full else 10_000,
        head_dim=layer.head_dim,
        rope_type="proportional" if layer.is_full else "default",
        partial_rotary_factor={"numerator": 1, "denominator": 4 if layer.is_full else 1},
        attention_scaling={"numerator": 1, "denominator": 1},
        frequency_compute_dtype="float32",
        output_dtype="bfloat16",
    )
