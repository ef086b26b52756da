"""Dense Qwen2 and Qwen3 decoders as `pllm.decoder_plan.v1` graphs.

In: the sizes and switches of one model (from its configuration, or from a semantic graph) and a phase. Out:
the graph. Qwen3 differs by two norms per layer and by having no bias.
"""

from __future__ import annotations

from pllm_lang.interchange.decoder.parts import (
    DenseSizes,
    attention_core,
    cache_attributes,
    kv_states,
    linear,
    rms_norm,
    token_lookup,
)
from pllm_lang.interchange.decoder.plan import (
    CACHE_DESCRIPTOR,
    CACHE_INPUTS,
    GREEDY,
    HEADS_FIRST,
    KV_CACHE,
    LENGTHS,
    POSITIONS,
    Graph,
    Operation,
    Phase,
    operation,
)


class DenseQwen(DenseSizes, frozen=True, kw_only=True):
    """What the graph of a dense Qwen decoder depends on."""

    tied: bool
    qkv_bias: bool
    qk_norm: bool


def dense_qwen_graph(p: DenseQwen, phase: Phase) -> Graph:
    """The graph of one phase: 28 operations a layer for Qwen2, 30 for Qwen3, and 6 around them."""
    embed = token_lookup(p, phase)
    operations, hidden = [embed], embed.id
    for layer in range(p.layers):
        operations += _attention(p, phase, layer, hidden) + _feed_forward(p, phase, layer)
        hidden = operations[-1].id
    operations += _tail(p, phase, hidden)
    return Graph(
        mode=phase.mode,
        batch=phase.batch,
        query_sequence=phase.query,
        maximum_key_sequence=_keys(phase),
        operations=tuple(operations),
        state_inputs=kv_states(p, phase, phase.cache_capacity, "state.layer.{}.{}")
        if phase.mode == "decode"
        else (),
        state_outputs=kv_states(p, phase, phase.cache_capacity, "layer.{}.{}_append"),
    )


def _keys(phase: Phase) -> int:
    return phase.max_input_tokens if phase.mode == "prefill" else phase.cache_capacity


def _attention(p: DenseQwen, phase: Phase, layer: int, hidden: str) -> list[Operation]:
    n, outer = f"layer.{layer}.", (phase.batch, phase.query, p.hidden)
    query = (phase.batch, p.heads, phase.query, p.head_dim)
    weight = f"model.layers.{layer}.self_attn.o_proj"
    return [
        *_heads(p, phase, layer, hidden),
        *_cache(p, phase, layer),
        *attention_core(
            n, "view", query, _keys(phase), p.heads // p.kv_heads, layout="batch_sequence_hidden"
        ),
        linear(n + "o_proj", n + "attention_hidden", outer, weight),
        operation(n + "attention_residual", "residual_add", (hidden, n + "o_proj"), outer),
    ]


def _heads(p: DenseQwen, phase: Phase, layer: int, hidden: str) -> list[Operation]:
    n, w, rows = f"layer.{layer}.", f"model.layers.{layer}.", (phase.batch, phase.query)
    counts = {"q": p.heads, "k": p.kv_heads, "v": p.kv_heads}
    shapes = {name: (phase.batch, count, phase.query, p.head_dim) for name, count in counts.items()}
    found = [rms_norm(n + "input_norm", hidden, (*rows, p.hidden), p.epsilon, w + "input_layernorm")]
    for name, count in counts.items():
        width, weight = (*rows, count * p.head_dim), f"{w}self_attn.{name}_proj"
        found.append(linear(f"{n}{name}_linear", n + "input_norm", width, weight, bias=p.qkv_bias))
    for name, shape in shapes.items():
        found.append(
            operation(f"{n}{name}_heads", "reshape", (f"{n}{name}_linear",), shape, layout=HEADS_FIRST)
        )
    for name in ("q", "k") if p.qk_norm else ():
        weight = f"{w}self_attn.{name}_norm"
        found.append(rms_norm(f"{n}{name}_norm", f"{n}{name}_heads", shapes[name], p.epsilon, weight))
    turned = "norm" if p.qk_norm else "heads"
    return found + [_rotate(p, f"{n}rope_{name}", f"{n}{name}_{turned}", shapes[name]) for name in ("q", "k")]


def _cache(p: DenseQwen, phase: Phase, layer: int) -> list[Operation]:
    n, keys, capacity = f"layer.{layer}.", _keys(phase), phase.cache_capacity
    found: list[Operation] = []
    for kind, source in (("key", n + "rope_k"), ("value", n + "v_heads")):
        state = f"state.layer.{layer}.{kind}"
        found.append(
            operation(
                n + f"{kind}_append",
                "kv_cache_append",
                (*((state,) if phase.mode == "decode" else ()), source, *CACHE_INPUTS),
                (phase.batch, p.kv_heads, capacity, p.head_dim),
                kind,
                **cache_attributes(state, phase, capacity, keys, KV_CACHE),
            )
        )
    for kind in ("key", "value"):
        found.append(
            operation(
                n + f"{kind}_view",
                "cache_suffix",
                (n + f"{kind}_append", *CACHE_INPUTS),
                (phase.batch, p.kv_heads, keys, p.head_dim),
                kind,
                axis=2,
                maximum_sequence=keys,
                semantics="visible_valid_prefix",
                **CACHE_DESCRIPTOR,
            )
        )
    return found


def _feed_forward(p: DenseQwen, phase: Phase, layer: int) -> list[Operation]:
    n, w = f"layer.{layer}.", f"model.layers.{layer}."
    outer, inner = (phase.batch, phase.query, p.hidden), (phase.batch, phase.query, p.intermediate)
    return [
        rms_norm(n + "post_norm", n + "attention_residual", outer, p.epsilon, w + "post_attention_layernorm"),
        linear(n + "gate_proj", n + "post_norm", inner, w + "mlp.gate_proj"),
        linear(n + "up_proj", n + "post_norm", inner, w + "mlp.up_proj"),
        operation(n + "silu", "silu", (n + "gate_proj",), inner),
        operation(n + "gated_multiply", "multiply", (n + "silu", n + "up_proj"), inner),
        linear(n + "down_proj", n + "gated_multiply", outer, w + "mlp.down_proj"),
        operation(n + "mlp_residual", "residual_add", (n + "attention_residual", n + "down_proj"), outer),
    ]


def _tail(p: DenseQwen, phase: Phase, hidden: str) -> list[Operation]:
    batch, prefill = phase.batch, phase.mode == "prefill"
    last = {"selection": "last_valid", "valid_lengths_input": LENGTHS} if prefill else {}
    weight = "model.embed_tokens.weight" if p.tied else "lm_head.weight"
    return [
        rms_norm("final_norm", hidden, (batch, phase.query, p.hidden), p.epsilon, "model.norm"),
        operation(
            "last_hidden",
            "last_token",
            ("final_norm", *((LENGTHS,) if prefill else ())),
            (batch, p.hidden),
            axis=1,
            **last,
        ),
        operation(
            "output_head",
            "output_head",
            ("last_hidden",),
            (batch, p.vocabulary),
            weight=weight,
            tied=p.tied,
            input_layout="batch_hidden",
            output_layout="batch_vocabulary",
            compute_dtype="model_native",
            output_dtype="model_native",
        ),
        operation("token_selection", "greedy_token_selection", ("output_head",), (batch,), **GREEDY),
        operation("token_feedback", "token_feedback", ("token_selection",), (batch, 1), **GREEDY),
    ]


def _rotate(p: DenseQwen, id: str, source: str, shape: tuple[int, ...]) -> Operation:
    return operation(
        id,
        "rotary_embedding",
        (source, POSITIONS),
        shape,
        theta=p.theta,
        rotary_dimensions=p.head_dim,
        pairing="split_half",
        position_policy="sequential_absolute",
        coefficient_profile="pllm.numeric.rope.q30.libm.v1",
        input_layout=HEADS_FIRST,
        output_layout=HEADS_FIRST,
        tail_policy="unchanged",
    )
