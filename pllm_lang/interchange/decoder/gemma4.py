"""Gemma 4 E2B and E4B text decoders as `pllm.decoder_plan.v1` graphs.

In: one of the two published geometries and a phase. Out: the graph as the SDK writes it, including the norm
offset that it gives every norm (see `faithful.py`).
"""

from __future__ import annotations

from typing import Any

from pllm_lang.interchange.decoder.gemma4_attention import attention, key_domain
from pllm_lang.interchange.decoder.gemma4_parts import (
    BFLOAT,
    ROOT,
    Gemma4,
    Layer,
    gelu,
    norm,
    rounding,
    scale,
)
from pllm_lang.interchange.decoder.parts import linear
from pllm_lang.interchange.decoder.plan import (
    GREEDY,
    LENGTHS,
    Graph,
    Operation,
    Phase,
    State,
    operation,
)


def gemma4_graph(p: Gemma4, phase: Phase) -> Graph:
    """The graph of one phase."""
    layers = [_layer(p, number) for number in range(p.layers)]
    operations, hidden = _front(p, phase), "main_embedding_scaled"
    for layer in layers:
        operations += attention(p, phase, layer, hidden)
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


def _layer(p: Gemma4, number: int) -> Layer:
    is_full = number % p.full_every == p.full_every - 1
    owners = range(p.layers - p.shared_kv)
    owns = number in owners
    same_kind = [n for n in owners if (n % p.full_every == p.full_every - 1) == is_full]
    wide = p.wide_shared and not owns
    return Layer(
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
        scale("main_embedding_scaled", "main_embedding", outer, "sqrt", p.hidden, held_as="float32_buffer"),
        operation(
            "ple_token_embedding",
            "token_lookup",
            ("input.tokens",),
            packed,
            weight=f"{ROOT}embed_tokens_per_layer.weight",
        ),
        scale(
            "ple_token_scaled", "ple_token_embedding", packed, "sqrt", p.per_layer, held_as="float32_buffer"
        ),
        operation("ple_token_reshape", "reshape", ("ple_token_scaled",), split, **layout),
        linear(
            "ple_context_projection", "main_embedding_scaled", packed, f"{ROOT}per_layer_model_projection"
        ),
        scale(
            "ple_context_scaled",
            "ple_context_projection",
            packed,
            "inverse_sqrt",
            p.hidden,
            held_as="python_float64",
        ),
        operation("ple_context_reshape", "reshape", ("ple_context_scaled",), split, **layout),
        norm("ple_context_norm", "ple_context_reshape", split, f"{ROOT}per_layer_projection_norm"),
        operation(
            "ple_combined",
            "residual_add",
            ("ple_token_reshape", "ple_context_norm"),
            split,
            semantics="ple_token_plus_context",
        ),
        scale("ple_combined_scaled", "ple_combined", split, "inverse_sqrt", 2, held_as="python_float64"),
    ]


def _feed_forward(p: Gemma4, phase: Phase, layer: Layer) -> list[Operation]:
    n, w = f"layer.{layer.number}.", f"{ROOT}layers.{layer.number}."
    outer, inner = (phase.batch, phase.query, p.hidden), (phase.batch, phase.query, layer.intermediate)
    return [
        norm(n + "pre_feedforward_norm", n + "attention_residual", outer, w + "pre_feedforward_layernorm"),
        linear(n + "gate_proj", n + "pre_feedforward_norm", inner, w + "mlp.gate_proj"),
        linear(n + "up_proj", n + "pre_feedforward_norm", inner, w + "mlp.up_proj"),
        gelu(n + "gelu_tanh", n + "gate_proj", inner),
        operation(n + "gated_multiply", "multiply", (n + "gelu_tanh", n + "up_proj"), inner),
        linear(n + "down_proj", n + "gated_multiply", outer, w + "mlp.down_proj"),
        norm(n + "post_feedforward_norm", n + "down_proj", outer, w + "post_feedforward_layernorm"),
        operation(
            n + "feedforward_residual",
            "residual_add",
            (n + "attention_residual", n + "post_feedforward_norm"),
            outer,
        ),
    ]


def _per_layer_input(p: Gemma4, phase: Phase, layer: Layer) -> list[Operation]:
    number, n, w = layer.number, f"layer.{layer.number}.", f"{ROOT}layers.{layer.number}."
    outer, inner = (phase.batch, phase.query, p.hidden), (phase.batch, phase.query, p.per_layer)
    learned = {"kind": "learned", "weight": w + "layer_scalar", **rounding("bfloat16")}
    cut: dict[str, Any] = {"axis": 2, "start": number, "end": number + 1, "squeeze": True}
    return [
        operation(n + "ple_slice", "slice", ("ple_combined_scaled",), inner, **cut),
        linear(n + "ple_gate", n + "feedforward_residual", inner, w + "per_layer_input_gate"),
        gelu(n + "ple_gelu_tanh", n + "ple_gate", inner),
        operation(n + "ple_multiply", "multiply", (n + "ple_gelu_tanh", n + "ple_slice"), inner),
        linear(n + "ple_projection", n + "ple_multiply", outer, w + "per_layer_projection"),
        norm(n + "ple_norm", n + "ple_projection", outer, w + "post_per_layer_input_norm"),
        operation(n + "ple_residual", "residual_add", (n + "feedforward_residual", n + "ple_norm"), outer),
        operation(n + "layer_scalar", "scale", (n + "ple_residual",), outer, factor=learned),
    ]


def _tail(p: Gemma4, phase: Phase, hidden: str) -> list[Operation]:
    batch, logits = phase.batch, (phase.batch, p.vocabulary)
    last: dict[str, Any] = {"axis": 1, "selection": "last_valid", "valid_lengths_input": LENGTHS}
    return [
        norm("final_norm", hidden, (batch, phase.query, p.hidden), f"{ROOT}norm"),
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


def _states(p: Gemma4, phase: Phase, layers: list[Layer], *, is_input: bool) -> tuple[State, ...]:
    found: list[State] = []
    for layer in layers:
        _, capacity, _ = key_domain(p, phase, layer)
        shape = (phase.batch, p.kv_heads, capacity, layer.head_dim)
        written = "append" if layer.is_full else "suffix"
        for kind in ("key", "value") if layer.owns_kv else ():
            name = (
                f"state.layer.{layer.number}.{kind}" if is_input else f"layer.{layer.number}.{kind}_{written}"
            )
            found.append(State(name, layer.number, kind, shape, capacity))
    return tuple(found)
