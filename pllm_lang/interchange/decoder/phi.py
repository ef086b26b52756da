"""Phi-4-mini decoders as `pllm.decoder_plan.v1` graphs.

In: sizes, LongRoPE factors and a phase. Out: the graph, exactly as the SDK writes it, with what is wrong in
it (see `faithful.py`): a prefill cache of another size than the decode cache, and a mislabelled layout.
"""

from __future__ import annotations

from pllm_lang.interchange.decoder.parts import (
    DenseSizes,
    append_to_state,
    attention_core,
    kv_states,
    linear,
    rms_norm,
    slice_features,
    token_lookup,
)
from pllm_lang.interchange.decoder.plan import (
    HEADS_FIRST,
    POSITIONS,
    Graph,
    Operation,
    Phase,
    operation,
)


class PhiMini(DenseSizes, frozen=True, kw_only=True):
    """What the graph depends on. `rotary_dimensions` of each head turn."""

    rotary_dimensions: int
    maximum_positions: int
    original_positions: int
    long_factor: tuple[int | float, ...]
    short_factor: tuple[int | float, ...]


def phi_graph(p: PhiMini, phase: Phase) -> Graph:
    """The graph of one phase: 28 operations a layer and 6 around them."""
    outer = (phase.batch, phase.query, p.hidden)
    embed = token_lookup(p, phase)
    operations, hidden = [embed], embed.id
    for layer in range(p.layers):
        operations += _attention(p, phase, layer, hidden) + _feed_forward(p, phase, layer)
        hidden = operations[-1].id
    operations += [
        rms_norm("final_norm", hidden, outer, p.epsilon, "model.norm"),
        operation("last_hidden", "last_token", ("final_norm",), (phase.batch, p.hidden), axis=1),
        operation(
            "output_head",
            "output_head",
            ("last_hidden",),
            (phase.batch, p.vocabulary),
            bias=None,
            tied=True,
            weight="model.embed_tokens.weight",
        ),
        operation("token_selection", "greedy_token_selection", ("output_head",), (phase.batch,)),
        operation("token_feedback", "token_feedback", ("token_selection",), (phase.batch, 1)),
    ]
    return Graph(
        mode=phase.mode,
        batch=phase.batch,
        query_sequence=phase.query,
        maximum_key_sequence=_keys(phase),
        operations=tuple(operations),
        state_inputs=kv_states(p, phase, _keys(phase), "state.layer.{}.{}"),
        state_outputs=kv_states(p, phase, _keys(phase), "layer.{}.{}_append"),
    )


def _keys(phase: Phase) -> int:
    return phase.max_input_tokens + (phase.max_new_tokens if phase.mode == "decode" else 0)


def _attention(p: PhiMini, phase: Phase, layer: int, hidden: str) -> list[Operation]:
    n, w = f"layer.{layer}.", f"model.layers.{layer}."
    batch, query, keys = phase.batch, phase.query, _keys(phase)
    outer = (batch, query, p.hidden)
    heads = {"q": p.heads, "k": p.kv_heads, "v": p.kv_heads}
    group = p.heads // p.kv_heads
    width = sum(heads.values()) * p.head_dim
    found = [
        rms_norm(n + "input_norm", hidden, outer, p.epsilon, w + "input_layernorm"),
        linear(n + "qkv_linear", n + "input_norm", (batch, query, width), w + "self_attn.qkv_proj"),
    ]
    start = 0
    for name, count in heads.items():
        end = start + count * p.head_dim
        found.append(slice_features(n + f"{name}_slice", n + "qkv_linear", (batch, query), start, end))
        start = end
    shapes = {name: (batch, count, query, p.head_dim) for name, count in heads.items()}
    for name, shape in shapes.items():
        found.append(
            operation(n + f"{name}_heads", "reshape", (n + f"{name}_slice",), shape, layout=HEADS_FIRST)
        )
    found += [_rotate(p, n + f"rope_{name}", n + f"{name}_heads", shapes[name]) for name in ("q", "k")]
    for kind, source in (("key", n + "rope_k"), ("value", n + "v_heads")):
        found.append(append_to_state(layer, kind, n, source, (batch, p.kv_heads, keys, p.head_dim)))
    return [
        *found,
        *attention_core(n, "append", shapes["q"], keys, group, layout=HEADS_FIRST),
        linear(n + "o_proj", n + "attention_hidden", outer, w + "self_attn.o_proj"),
        operation(n + "attention_residual", "residual_add", (hidden, n + "o_proj"), outer),
    ]


def _feed_forward(p: PhiMini, phase: Phase, layer: int) -> list[Operation]:
    n, w = f"layer.{layer}.", f"model.layers.{layer}."
    batch, query = phase.batch, phase.query
    outer, inner = (batch, query, p.hidden), (batch, query, p.intermediate)
    return [
        rms_norm(n + "post_norm", n + "attention_residual", outer, p.epsilon, w + "post_attention_layernorm"),
        linear(
            n + "gate_up_proj", n + "post_norm", (batch, query, 2 * p.intermediate), w + "mlp.gate_up_proj"
        ),
        slice_features(n + "gate", n + "gate_up_proj", (batch, query), 0, p.intermediate),
        slice_features(n + "up", n + "gate_up_proj", (batch, query), p.intermediate, 2 * p.intermediate),
        operation(n + "silu", "silu", (n + "gate",), inner),
        operation(n + "gated_multiply", "multiply", (n + "silu", n + "up"), inner),
        linear(n + "down_proj", n + "gated_multiply", outer, w + "mlp.down_proj"),
        operation(n + "mlp_residual", "residual_add", (n + "attention_residual", n + "down_proj"), outer),
    ]


def _rotate(p: PhiMini, id: str, source: str, shape: tuple[int, ...]) -> Operation:
    return operation(
        id,
        "rotary_embedding",
        (source, POSITIONS),
        shape,
        theta=p.theta,
        rotary_dimensions=p.rotary_dimensions,
        rope_type="longrope",
        original_max_position_embeddings=p.original_positions,
        factor=p.maximum_positions // p.original_positions,
        long_factor=p.long_factor,
        short_factor=p.short_factor,
    )
