"""Softmax attention: projections, positions, cache, scores, mask, values, output projection."""

from __future__ import annotations

from fractions import Fraction

from pllm_lang.models.build.body import Body, norm_attributes
from pllm_lang.models.decoder import Attention, Norm, Rotary
from pllm_lang.models.graph import Attribute


def build_attention(body: Body, spec: Attention, source: str) -> str:
    """`source` `[B, Q, hidden]` to the mixer's result `[B, Q, hidden]`."""
    hidden = body.shape(source)[-1]
    query, key, value, gate = _project(body, spec, source)
    query, key = _positions(body, spec, query, key)
    value = _value(body, spec, value)
    if spec.temperature is not None:
        t = spec.temperature
        query = body.op(
            "q_temperature", "position_scale", (query, "positions"), body.shape(query),
            scale=t.scale, floor=t.floor, shift=t.shift,
        )  # fmt: skip
    window = spec.window or spec.chunk
    keys = body.append("key_append", "key", key, window)
    values = body.append("value_append", "value", value, window)
    probabilities = _probabilities(body, spec, query, keys)
    shape = (*body.shape(query)[:3], spec.value_dim)
    attended = body.op(
        "attention_values",
        "attention_values",
        (probabilities, values),
        shape,
        groups=spec.heads // spec.kv_heads,
    )
    merged = body.merge_heads("attention_merged", attended)
    if gate:
        opened = body.op("gate_sigmoid", "sigmoid", (gate,), body.shape(gate))
        merged = body.binary("attention_gated", "mul", merged, opened)
    merged = body.norm("attention_norm", "output_norm", spec.output_norm, merged)
    return body.linear("o_proj", "o", merged, hidden, bias=spec.out_bias, stored=spec.stored)


def _project(body: Body, spec: Attention, source: str) -> tuple[str, str, str, str]:
    if spec.fused:
        return (*_project_fused(body, spec, source), "")
    query = body.linear(
        "q_proj", "q", source, spec.heads * spec.head_dim * (1 + spec.output_gate), bias=spec.qkv_bias
    )
    key = body.linear("k_proj", "k", source, spec.kv_heads * spec.head_dim, bias=spec.qkv_bias)
    value = key
    if not spec.value_from_key:
        value = body.linear("v_proj", "v", source, spec.kv_heads * spec.value_dim, bias=spec.qkv_bias)
    query, key, value = (
        _clip(body, f"{name}_clip", spec, one) for name, one in zip("qkv", (query, key, value), strict=True)
    )
    query, key = _norm_projections(body, spec, query, key)
    heads = body.split_heads("q_heads", query, spec.heads)
    gate = ""
    if spec.output_gate:
        gate = body.merge_heads("gate", body.slice("gate_heads", heads, spec.head_dim, 2 * spec.head_dim))
        heads = body.slice("query", heads, 0, spec.head_dim)
    key_heads = body.split_heads("k_heads", key, spec.kv_heads)
    return heads, key_heads, body.split_heads("v_heads", value, spec.kv_heads), gate


def _project_fused(body: Body, spec: Attention, source: str) -> tuple[str, str, str]:
    q_width, kv_width = spec.heads * spec.head_dim, spec.kv_heads * spec.head_dim
    fused = body.linear(
        "qkv_proj", "qkv", source, q_width + 2 * kv_width, bias=spec.qkv_bias, stored=spec.stored
    )
    fused = _clip(body, "qkv_clip", spec, fused)
    if spec.fused == "heads":
        heads = body.split_heads("qkv_heads", fused, spec.heads)
        d = spec.head_dim
        return (
            body.slice("q_heads", heads, 0, d),
            body.slice("k_heads", heads, d, 2 * d),
            body.slice("v_heads", heads, 2 * d, 3 * d),
        )
    query = body.slice("query", fused, 0, q_width)
    key = body.slice("key", fused, q_width, q_width + kv_width)
    value = body.slice("value", fused, q_width + kv_width, q_width + 2 * kv_width)
    query, key = _norm_projections(body, spec, query, key)
    return (
        body.split_heads("q_heads", query, spec.heads),
        body.split_heads("k_heads", key, spec.kv_heads),
        body.split_heads("v_heads", value, spec.kv_heads),
    )


def _clip(body: Body, name: str, spec: Attention, source: str) -> str:
    return (
        body.op(name, "clamp", (source,), body.shape(source), low=f"-{spec.clip}", high=spec.clip)
        if spec.clip
        else source
    )


def _norm_projections(body: Body, spec: Attention, query: str, key: str) -> tuple[str, str]:
    if spec.qk_norm_over != "projection":
        return query, key
    return body.norm("q_norm", "q_norm", spec.qk_norm, query), body.norm(
        "k_norm", "k_norm", spec.qk_norm, key
    )


def _positions(body: Body, spec: Attention, query: str, key: str) -> tuple[str, str]:
    if not spec.qk_norm_after_rotary:
        query, key = _norm_heads(body, spec, query, key)
    if spec.rotary is not None:
        query = rotate(body, "q_rotary", spec.rotary, query)
        key = rotate(body, "k_rotary", spec.rotary, key)
    if spec.qk_norm_after_rotary:
        query, key = _norm_heads(body, spec, query, key)
    return query, key


def _norm_heads(body: Body, spec: Attention, query: str, key: str) -> tuple[str, str]:
    norm = spec.qk_norm
    if norm is None or spec.qk_norm_over == "projection":
        return query, key
    if spec.qk_norm_over == "head":
        return body.norm("q_norm", "q_norm", norm, query), body.norm("k_norm", "k_norm", norm, key)
    return (
        _norm_each_head(body, "q_norm", norm, query, spec.heads),
        _norm_each_head(body, "k_norm", norm, key, spec.kv_heads),
    )


def _norm_each_head(body: Body, role: str, norm: Norm, source: str, heads: int) -> str:
    """A norm over the features of a head, with a weight of its own for each head, `[H, D]`."""
    shape = body.shape(source)
    weights = {"weight": body.weight(f"{body.path(role)}.weight", (heads, shape[-1]))}
    return body.op(
        role, f"{norm.kind}_norm", (source,), shape, weights, given=norm_attributes(norm), per_head=True
    )


def rotate(body: Body, name: str, rotary: Rotary, source: str) -> str:
    attributes: dict[str, Attribute] = dict(rotary.parameters)
    return body.op(
        name,
        "rotary_embedding",
        (source, "positions"),
        body.shape(source),
        theta=rotary.theta,
        dims=rotary.dims,
        pairing=rotary.pairing,
        kind=rotary.kind,
        given=attributes,
    )


def _value(body: Body, spec: Attention, value: str) -> str:
    value = body.norm("v_norm", "k_norm", spec.value_norm, value)
    if not spec.value_scale or Fraction(spec.value_scale) == 1:
        return value
    return body.op("v_scale", "scale", (value,), body.shape(value), factor=spec.value_scale)


def _probabilities(body: Body, spec: Attention, query: str, keys: str) -> str:
    shape = (*body.shape(query)[:3], body.shape(keys)[2])
    scores = body.op(
        "attention_scores", "attention_scores", (query, keys), shape, groups=spec.heads // spec.kv_heads
    )
    scores = body.scale("attention_scale", spec.scale, scores)
    if spec.softcap:
        scores = body.op("attention_softcap", "softcap", (scores,), shape, cap=spec.softcap)
    if spec.alibi:
        scores = body.op("attention_bias", "alibi_bias", (scores, "positions"), shape, max_bias=spec.alibi)
    return mask_and_normalize(body, scores, window=spec.window, chunk=spec.chunk, sink=spec.sink)


def mask_and_normalize(
    body: Body, scores: str, *, window: int = 0, chunk: int = 0, sink: bool = False, chosen: str = ""
) -> str:
    shape = body.shape(scores)
    bounds: dict[str, Attribute] = {
        name: size for name, size in (("window", window), ("chunk", chunk)) if size
    }
    inputs = (scores, "positions", "lengths", *([chosen] if chosen else []))
    masked = body.op("causal_mask", "causal_mask", inputs, shape, given=bounds)
    weights = {"sink": body.weight(body.path("sink"), (shape[1],))} if sink else None
    return body.op("softmax", "softmax", (masked,), shape, weights, axis=-1)
