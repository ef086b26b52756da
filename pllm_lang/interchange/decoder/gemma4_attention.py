"""The attention block of Gemma 4: full or windowed, with own keys and values or those of an earlier layer.

In: a geometry, a phase, a layer. Out: its operations.
"""

from __future__ import annotations

from typing import Any

from pllm_lang.interchange.decoder.gemma4_parts import (
    FLOAT32_INSIDE,
    ROOT,
    Gemma4,
    Layer,
    heads_first,
    norm,
    rotate,
    rounding,
)
from pllm_lang.interchange.decoder.parts import cache_attributes, linear
from pllm_lang.interchange.decoder.plan import (
    CACHE_DESCRIPTOR,
    CACHE_INPUTS,
    KV_CACHE,
    LENGTHS,
    MASK,
    POSITIONS,
    Operation,
    Phase,
    operation,
)

WINDOW_CACHE = "batch_kv_heads_query_window_feature"


def attention(p: Gemma4, phase: Phase, layer: Layer, hidden: str) -> list[Operation]:
    """The attention block of one layer, up to its residual."""
    n, w, rows = f"layer.{layer.number}.", f"{ROOT}layers.{layer.number}.", (phase.batch, phase.query)
    flat = p.heads * layer.head_dim
    split = (*rows, p.heads, layer.head_dim)
    return [
        norm(n + "input_norm", hidden, (*rows, p.hidden), w + "input_layernorm"),
        linear(n + "q_linear", n + "input_norm", (*rows, flat), w + "self_attn.q_proj"),
        operation(n + "q_heads", "reshape", (n + "q_linear",), split, layout="batch_sequence_heads_feature"),
        norm(n + "q_norm", n + "q_heads", split, w + "self_attn.q_norm"),
        rotate(layer, n + "rope_q", n + "q_norm", split),
        heads_first(n + "q_permute", n + "rope_q", split),
        *(_own_keys_and_values(p, phase, layer) if layer.owns_kv else ()),
        *_attend(p, phase, layer),
        heads_first(
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
        norm(n + "post_attention_norm", n + "o_proj", (*rows, p.hidden), w + "post_attention_layernorm"),
        operation(
            n + "attention_residual", "residual_add", (hidden, n + "post_attention_norm"), (*rows, p.hidden)
        ),
    ]


def _own_keys_and_values(p: Gemma4, phase: Phase, layer: Layer) -> list[Operation]:
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
        norm(n + "k_norm", n + "k_heads", split, w + "k_norm"),
        norm(n + "v_norm", n + "v_heads", split, None),
        rotate(layer, n + "rope_k", n + "k_norm", split),
        heads_first(n + "k_permute", n + "rope_k", split),
        heads_first(n + "v_permute", n + "v_norm", split),
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


def _append(p: Gemma4, phase: Phase, layer: Layer, kind: str) -> Operation:
    n, state = f"layer.{layer.number}.", f"state.layer.{layer.number}.{kind}"
    carried = (state,) if phase.mode == "decode" else ()
    seen, capacity, domain = key_domain(p, phase, layer)
    rows = (seen,) if layer.is_full else (phase.query, seen)
    return operation(
        n + f"{kind}_append",
        "kv_cache_append",
        (*carried, n + f"{kind[0]}_permute", *CACHE_INPUTS),
        (phase.batch, p.kv_heads, *rows, layer.head_dim),
        kind,
        **cache_attributes(state, phase, capacity, seen, domain),
    )


def key_domain(p: Gemma4, phase: Phase, layer: Layer) -> tuple[int, int, str]:
    """Keys that one query sees, positions that the state keeps, layout of the keys."""
    if layer.is_full:
        return phase.cache_capacity, phase.cache_capacity, KV_CACHE
    return p.window, p.window - 1, WINDOW_CACHE


def _attend(p: Gemma4, phase: Phase, layer: Layer) -> list[Operation]:
    n, source, group = f"layer.{layer.number}.", f"layer.{layer.source}.", p.heads // p.kv_heads
    seen, _, layout = key_domain(p, phase, layer)
    scores = (phase.batch, p.heads, phase.query, seen)
    one: dict[str, Any] = {"kind": "rational", "numerator": 1, "denominator": 1, **rounding("exact_integer")}
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


def _mask(p: Gemma4, layer: Layer) -> dict[str, Any]:
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
