"""Operations that several families write the same way.

In: ids, shapes, weight paths. Out: one operation each. Weight paths are given without their `.weight` ending.
"""

from __future__ import annotations

from typing import Any

import msgspec

from pllm_lang.interchange.decoder.plan import (
    CACHE_DESCRIPTOR,
    KV_CACHE,
    POSITIONS,
    Operation,
    Phase,
    Shape,
    State,
    operation,
)


class DenseSizes(msgspec.Struct, frozen=True, kw_only=True):
    """What the graph of every dense decoder depends on. `epsilon` is decimal text, `theta` the rotary base."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocabulary: int
    epsilon: str
    theta: int


def token_lookup(p: DenseSizes, phase: Phase) -> Operation:
    """The embedding of the input tokens."""
    shape = (phase.batch, phase.query, p.hidden)
    return operation(
        "token_lookup", "token_lookup", ("input.tokens",), shape, weight="model.embed_tokens.weight"
    )


def kv_states(p: DenseSizes, phase: Phase, capacity: int, name: str) -> tuple[State, ...]:
    """A key and a value cache of `capacity` positions for each layer; `name` takes layer and kind."""
    shape = (phase.batch, p.kv_heads, capacity, p.head_dim)
    return tuple(
        State(name.format(layer, kind), layer, kind, shape, capacity)
        for layer in range(p.layers)
        for kind in ("key", "value")
    )


def linear(id: str, source: str, shape: Shape, weight: str, *, bias: bool = False) -> Operation:
    """A projection, with the bias beside the weight if it has one."""
    bias_path = f"{weight}.bias" if bias else None
    return operation(id, "linear", (source,), shape, weight=f"{weight}.weight", bias=bias_path)


def rms_norm(id: str, source: str, shape: Shape, epsilon: str, weight: str, *, offset: int = 0) -> Operation:
    """A root-mean-square norm that multiplies by `weight + offset`; `epsilon` is decimal text."""
    return operation(
        id, "rms_norm", (source,), shape, epsilon=epsilon, weight=f"{weight}.weight", weight_offset=offset
    )


def slice_features(id: str, source: str, leading: Shape, start: int, end: int) -> Operation:
    """Features `start` to `end` of the last axis."""
    shape = (*leading, end - start)
    return operation(id, "slice", (source,), shape, axis=-1, start=start, end=end, squeeze=False)


def append_to_state(layer: int, kind: str, prefix: str, source: str, shape: Shape) -> Operation:
    """A cache append that names its state and says no more."""
    state = f"state.layer.{layer}.{kind}"
    return operation(f"{prefix}{kind}_append", "kv_cache_append", (state, source), shape, kind, state=state)


def cache_attributes(state: str, phase: Phase, capacity: int, keys: int, domain: str) -> dict[str, Any]:
    """Attributes of a cache append that says where it writes and which keys attention may see."""
    return {
        "state": state,
        "mode": "initialize" if phase.mode == "prefill" else "append",
        "state_capacity": capacity,
        "state_layout": KV_CACHE,
        "attention_domain": {"layout": domain, "maximum_sequence": keys, "includes_current": True},
        **CACHE_DESCRIPTOR,
    }


def attention_core(
    n: str, cache: str, query: Shape, keys: int, group: int, *, layout: str
) -> list[Operation]:
    """Scores to merged heads of one layer with prefix `n`, for a query `[B, heads, Q, head_dim]` and `keys`
    keys.

    Keys and values are read from `<n>key_<cache>` and `<n>value_<cache>`; `group` query heads share a key
    head.
    """
    batch, heads, rows, head_dim = query
    scores, merged = (batch, heads, rows, keys), (batch, rows, heads * head_dim)
    read, weighed = (n + "rope_q", f"{n}key_{cache}"), (n + "softmax", f"{n}value_{cache}")
    return [
        operation(n + "attention_scores", "attention_scores", read, scores, group_size=group),
        operation(
            n + "attention_scale", "attention_scale", (n + "attention_scores",), scores, head_dim=head_dim
        ),
        operation(n + "causal_mask", "causal_mask", (n + "attention_scale", POSITIONS), scores),
        operation(n + "softmax", "softmax", (n + "causal_mask",), scores, axis=-1),
        operation(n + "attention_values", "attention_values", weighed, query, group_size=group),
        operation(n + "attention_hidden", "reshape", (n + "attention_values",), merged, layout=layout),
    ]
