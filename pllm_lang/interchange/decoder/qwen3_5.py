"""Qwen3.5 text decoders (linear attention mixed with full attention) as `pllm.decoder_plan.v1` graphs.

In: sizes, the kind of each layer, and a phase. Out: the graph as the SDK writes it, including its flat
split of query and output gate (see `faithful.py`).
"""

from __future__ import annotations

from typing import Any

import msgspec

from pllm_lang.interchange.decoder.parts import append_to_state, linear, rms_norm, slice_features
from pllm_lang.interchange.decoder.plan import LENGTHS, POSITIONS, Graph, Operation, Phase, State, operation

EPSILON = "0.000001"
DELTA_CHUNK = 64
DECAY_FORMULA = "-exp(A_log)*softplus(a+dt_bias)"
STATE_UPDATE = "S'=exp(g)*S+k*(v-S^T*k)*beta"


class QwenHybrid(msgspec.Struct, frozen=True):
    """What the graph depends on. `full_attention[n]` says which mixer layer n has; `partial` is decimal
    text.
    """

    full_attention: tuple[bool, ...]
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocabulary: int
    kernel: int
    key_heads: int
    key_dim: int
    value_heads: int
    value_dim: int
    theta: int
    partial: str
    rotary_dimensions: int
    mrope_section: tuple[int, ...]

    @property
    def key_width(self) -> int:
        """Features of all linear-attention keys."""
        return self.key_heads * self.key_dim

    @property
    def value_width(self) -> int:
        """Features of all linear-attention values."""
        return self.value_heads * self.value_dim

    @property
    def convolution_width(self) -> int:
        """Features that pass the causal convolution: queries, keys and values."""
        return 2 * self.key_width + self.value_width


def hybrid_graph(p: QwenHybrid, phase: Phase) -> Graph:
    """The graph of one phase."""
    outer = (phase.batch, phase.query, p.hidden)
    embed = operation(
        "token_lookup", "token_lookup", ("input.tokens",), outer, weight="model.embed_tokens.weight"
    )
    operations, hidden = [embed], embed.id
    for layer, is_full in enumerate(p.full_attention):
        n, w = f"layer.{layer}.", f"model.layers.{layer}."
        operations.append(rms_norm(n + "input_norm", hidden, outer, EPSILON, w + "input_layernorm", offset=1))
        operations += _full_attention(p, phase, layer) if is_full else _linear_attention(p, phase, layer)
        mixed = operations[-1].id
        operations.append(operation(n + "attention_residual", "residual_add", (hidden, mixed), outer))
        operations += _feed_forward(p, phase, n, w)
        hidden = operations[-1].id
    return Graph(
        mode=phase.mode,
        batch=phase.batch,
        query_sequence=phase.query,
        maximum_key_sequence=_keys(phase),
        operations=(*operations, *_tail(p, phase, hidden)),
        state_inputs=_states(p, phase, "state.layer.{0}.{1}", "state.layer.{0}.{1}"),
        state_outputs=_states(
            p, phase, "layer.{0}.linear_attention.{1}_state", "layer.{0}.self_attention.{1}_append"
        ),
    )


def _keys(phase: Phase) -> int:
    return phase.max_input_tokens + phase.max_new_tokens


def _linear_attention(p: QwenHybrid, phase: Phase, layer: int) -> list[Operation]:
    n, w, rows = (
        f"layer.{layer}.linear_attention.",
        f"model.layers.{layer}.linear_attn.",
        (phase.batch, phase.query),
    )
    normed, width = f"layer.{layer}.input_norm", p.convolution_width
    widths = {"qkv": width, "z": p.value_width, "b": p.value_heads, "a": p.value_heads}
    cuts = {
        "query": (0, p.key_width),
        "key": (p.key_width, 2 * p.key_width),
        "value": (2 * p.key_width, width),
    }
    convolved = (n + "qkv_projection", f"state.layer.{layer}.convolution")
    convolution: dict[str, Any] = {
        "weight": w + "conv1d.weight",
        "bias": None,
        "kernel_size": p.kernel,
        "groups": width,
        "activation": "silu",
        "mode": "chunk" if phase.mode == "prefill" else "recurrent",
    }
    gates = (*rows, p.value_heads)
    return [
        *(
            linear(n + f"{x}_projection", normed, (*rows, size), f"{w}in_proj_{x}")
            for x, size in widths.items()
        ),
        operation(
            n + "convolution_state",
            "convolution_state_update",
            convolved,
            (phase.batch, width, p.kernel),
            "convolution",
            **convolution,
        ),
        operation(n + "causal_convolution", "causal_convolution", convolved, (*rows, width), **convolution),
        *(slice_features(n + x, n + "causal_convolution", rows, *cut) for x, cut in cuts.items()),
        operation(n + "beta", "sigmoid", (n + "b_projection",), gates),
        operation(
            n + "decay",
            "gated_delta_decay",
            (n + "a_projection",),
            gates,
            a_log=w + "A_log",
            dt_bias=w + "dt_bias",
            formula=DECAY_FORMULA,
            compute_dtype="float32",
        ),
        *_delta_rule(p, phase, layer, n),
        *_gated_output(p, rows, n, w),
    ]


def _delta_rule(p: QwenHybrid, phase: Phase, layer: int, n: str) -> list[Operation]:
    inputs = (*(n + x for x in ("query", "key", "value", "decay", "beta")), f"state.layer.{layer}.recurrent")
    rule: dict[str, Any] = {
        "mode": "chunked" if phase.mode == "prefill" else "recurrent",
        "chunk_size": DELTA_CHUNK,
        "key_head_repeats": p.value_heads // p.key_heads,
        "qk_l2_normalize": True,
        "normalization_epsilon": EPSILON,
        "query_scale": {"numerator": 1, "sqrt_denominator": p.key_dim},
        "state_update": STATE_UPDATE,
    }
    state_shape = (phase.batch, p.value_heads, p.key_dim, p.value_dim)
    values = (phase.batch, phase.query, p.value_heads, p.value_dim)
    return [
        operation(
            n + "recurrent_state", "gated_delta_state_update", inputs, state_shape, "recurrent", **rule
        ),
        operation(n + "gated_delta_rule", "gated_delta_rule", inputs, values, **rule),
    ]


def _gated_output(p: QwenHybrid, rows: tuple[int, int], n: str, w: str) -> list[Operation]:
    heads = (*rows, p.value_heads, p.value_dim)
    return [
        operation(n + "z_heads", "reshape", (n + "z_projection",), heads),
        operation(
            n + "gated_norm",
            "rms_norm_gated",
            (n + "gated_delta_rule", n + "z_heads"),
            heads,
            epsilon=EPSILON,
            weight=w + "norm.weight",
            weight_offset=0,
            norm_before_gate=True,
            activation="silu",
        ),
        operation(n + "merged", "reshape", (n + "gated_norm",), (*rows, p.value_width)),
        linear(n + "output", n + "merged", (*rows, p.hidden), w + "out_proj"),
    ]


def _full_attention(p: QwenHybrid, phase: Phase, layer: int) -> list[Operation]:
    n, w, rows = (
        f"layer.{layer}.self_attention.",
        f"model.layers.{layer}.self_attn.",
        (phase.batch, phase.query),
    )
    normed, flat, kv_width = f"layer.{layer}.input_norm", p.heads * p.head_dim, p.kv_heads * p.head_dim
    query, kv = (
        (phase.batch, p.heads, phase.query, p.head_dim),
        (phase.batch, p.kv_heads, phase.query, p.head_dim),
    )
    cache = (phase.batch, p.kv_heads, _keys(phase), p.head_dim)
    rotary: dict[str, Any] = {
        "theta": p.theta,
        "rotary_dimensions": p.rotary_dimensions,
        "partial_rotary_factor": p.partial,
        "rope_type": "default",
        "mrope_interleaved": True,
        "mrope_section": p.mrope_section,
    }
    return [
        linear(n + "q_projection", normed, (*rows, 2 * flat), w + "q_proj"),
        linear(n + "k_projection", normed, (*rows, kv_width), w + "k_proj"),
        linear(n + "v_projection", normed, (*rows, kv_width), w + "v_proj"),
        slice_features(n + "query_flat", n + "q_projection", rows, 0, flat),
        slice_features(n + "output_gate", n + "q_projection", rows, flat, 2 * flat),
        operation(n + "query_heads", "reshape", (n + "query_flat",), query),
        operation(n + "key_heads", "reshape", (n + "k_projection",), kv),
        operation(n + "value_heads", "reshape", (n + "v_projection",), kv),
        rms_norm(n + "q_norm", n + "query_heads", query, EPSILON, w + "q_norm", offset=1),
        rms_norm(n + "k_norm", n + "key_heads", kv, EPSILON, w + "k_norm", offset=1),
        operation(n + "q_rope", "rotary_embedding", (n + "q_norm", POSITIONS), query, **rotary),
        operation(n + "k_rope", "rotary_embedding", (n + "k_norm", POSITIONS), kv, **rotary),
        append_to_state(layer, "key", n, n + "k_rope", cache),
        append_to_state(layer, "value", n, n + "value_heads", cache),
        *_attend(p, phase, n),
        operation(n + "merged", "reshape", (n + "values",), (*rows, flat)),
        operation(n + "sigmoid_gate", "sigmoid", (n + "output_gate",), (*rows, flat)),
        operation(n + "gated", "multiply", (n + "merged", n + "sigmoid_gate"), (*rows, flat)),
        linear(n + "output", n + "gated", (*rows, p.hidden), w + "o_proj"),
    ]


def _attend(p: QwenHybrid, phase: Phase, n: str) -> list[Operation]:
    keys, group = _keys(phase), p.heads // p.kv_heads
    scores, values = (
        (phase.batch, p.heads, phase.query, keys),
        (phase.batch, p.heads, phase.query, p.head_dim),
    )
    return [
        operation(
            n + "scores", "attention_scores", (n + "q_rope", n + "key_append"), scores, group_size=group
        ),
        operation(n + "scaled", "attention_scale", (n + "scores",), scores, head_dim=p.head_dim),
        operation(n + "masked", "causal_mask", (n + "scaled", POSITIONS), scores, maximum_key_sequence=keys),
        operation(n + "probabilities", "softmax", (n + "masked",), scores, axis=-1, compute_dtype="float32"),
        operation(
            n + "values",
            "attention_values",
            (n + "probabilities", n + "value_append"),
            values,
            group_size=group,
        ),
    ]


def _feed_forward(p: QwenHybrid, phase: Phase, n: str, w: str) -> list[Operation]:
    outer, inner = (phase.batch, phase.query, p.hidden), (phase.batch, phase.query, p.intermediate)
    residual, norm = n + "attention_residual", n + "post_attention_norm"
    return [
        rms_norm(norm, residual, outer, EPSILON, w + "post_attention_layernorm", offset=1),
        linear(n + "gate", norm, inner, w + "mlp.gate_proj"),
        linear(n + "up", norm, inner, w + "mlp.up_proj"),
        operation(n + "silu", "silu", (n + "gate",), inner),
        operation(n + "gated", "multiply", (n + "silu", n + "up"), inner),
        linear(n + "down", n + "gated", outer, w + "mlp.down_proj"),
        operation(n + "output", "residual_add", (residual, n + "down"), outer),
    ]


def _tail(p: QwenHybrid, phase: Phase, hidden: str) -> list[Operation]:
    batch, last, rows = phase.batch, "final_norm", (phase.batch, phase.query)
    found = [rms_norm(last, hidden, (*rows, p.hidden), EPSILON, "model.norm", offset=1)]
    if phase.mode == "prefill":
        attributes: dict[str, Any] = {"axis": 1, "selection": "last_valid", "valid_lengths_input": LENGTHS}
        found.append(operation("last_token", "last_token", (last, LENGTHS), (batch, p.hidden), **attributes))
        last, rows = "last_token", (batch,)
    return [
        *found,
        operation(
            "output_head",
            "output_head",
            (last,),
            (*rows, p.vocabulary),
            tied=True,
            weight="model.embed_tokens.weight",
        ),
        operation("greedy_token", "greedy_token_selection", ("output_head",), rows, axis=-1),
        operation("token_feedback", "token_feedback", ("greedy_token",), (batch, 1), target="input.tokens"),
    ]


def _states(p: QwenHybrid, phase: Phase, linear_name: str, full_name: str) -> tuple[State, ...]:
    recurrent = (phase.batch, p.value_heads, p.key_dim, p.value_dim)
    cache = (phase.batch, p.kv_heads, _keys(phase), p.head_dim)
    of_linear = (
        ("convolution", (phase.batch, p.convolution_width, p.kernel), p.kernel),
        ("recurrent", recurrent, 1),
    )
    of_full = (("key", cache, _keys(phase)), ("value", cache, _keys(phase)))
    return tuple(
        State((full_name if is_full else linear_name).format(layer, kind), layer, kind, shape, maximum)
        for layer, is_full in enumerate(p.full_attention)
        for kind, shape, maximum in (of_full if is_full else of_linear)
    )
