"""Multi-head latent attention (DeepSeek-V2, section 2.1), with DeepSeek's sparse index where a config has
one."""

from __future__ import annotations

from pllm_lang.models.build.attention import mask_and_normalize, rotate
from pllm_lang.models.build.body import Body
from pllm_lang.models.decoder import Indexer, LatentAttention, Norm, Scale

INDEX_NORM = Norm("layer", "0.000001", bias=True)


def build_latent_attention(body: Body, spec: LatentAttention, source: str) -> str:
    """`source` `[B, Q, hidden]` to `[B, Q, hidden]`; the caches hold the latent and the rotated key part."""
    hidden = body.shape(source)[-1]
    query, residual = _query(body, spec, source)
    latents, rotated = _latents(body, spec, source)
    keys, values = _expand(body, spec, latents, rotated)
    shape = (*body.shape(query)[:3], body.shape(keys)[2])
    chosen = _chosen(body, spec, spec.indexer, source, residual) if spec.indexer else ""
    scores = body.op("attention_scores", "attention_scores", (query, keys), shape, groups=1)
    scores = body.scale("attention_scale", spec.scale, scores)
    probabilities = mask_and_normalize(body, scores, chosen=chosen)
    attended = body.op(
        "attention_values",
        "attention_values",
        (probabilities, values),
        (*shape[:3], spec.value_dim),
        groups=1,
    )
    merged = body.merge_heads("attention_merged", attended)
    return body.linear("o_proj", "o", merged, hidden, bias=spec.bias)


def _query(body: Body, spec: LatentAttention, source: str) -> tuple[str, str]:
    width = spec.heads * (spec.nope_dim + spec.rope_dim)
    residual = source
    if spec.q_rank:
        low = body.linear("q_a_proj", "q_a", source, spec.q_rank, bias=spec.bias)
        residual = body.norm("q_a_norm", "q_a_norm", spec.latent_norm, low)
        flat = body.linear("q_b_proj", "q_b", residual, width)
    else:
        flat = body.linear("q_proj", "q", source, width)
    heads = body.split_heads("q_heads", flat, spec.heads)
    plain = body.slice("q_plain", heads, 0, spec.nope_dim)
    turned = rotate(
        body, "q_rotary", spec.rotary, body.slice("q_turned", heads, spec.nope_dim, body.shape(heads)[-1])
    )
    query = body.op("query", "concat", (plain, turned), body.shape(heads))
    return query, residual


def _latents(body: Body, spec: LatentAttention, source: str) -> tuple[str, str]:
    low = body.linear("kv_a_proj", "kv_a", source, spec.kv_rank + spec.rope_dim, bias=spec.bias)
    latent = body.norm(
        "kv_a_norm", "kv_a_norm", spec.latent_norm, body.slice("kv_latent", low, 0, spec.kv_rank)
    )
    part = body.slice("k_turned", low, spec.kv_rank, spec.kv_rank + spec.rope_dim)
    turned = rotate(body, "k_rotary", spec.rotary, body.split_heads("k_turned_head", part, 1))
    latents = body.append("latent_append", "latent", body.split_heads("kv_latent_head", latent, 1))
    return latents, body.append("rotated_append", "rotated_key", turned)


def _expand(body: Body, spec: LatentAttention, latents: str, rotated: str) -> tuple[str, str]:
    """Keys `[B, H, A, nope + rope]` and values `[B, H, A, value]` of every attended position."""
    each = spec.nope_dim + spec.value_dim
    flat = body.linear("kv_b_proj", "kv_b", body.merge_heads("latents", latents), spec.heads * each)
    heads = body.split_heads("kv_heads", flat, spec.heads)
    plain = body.slice("k_plain", heads, 0, spec.nope_dim)
    batch, _, attended, rope = body.shape(rotated)
    shared = body.op(
        "k_shared", "repeat_kv", (rotated,), (batch, spec.heads, attended, rope), times=spec.heads
    )
    keys = body.op("keys", "concat", (plain, shared), (batch, spec.heads, attended, spec.nope_dim + rope))
    return keys, body.slice("values", heads, spec.nope_dim, each)


def _chosen(body: Body, spec: LatentAttention, indexer: Indexer, source: str, residual: str) -> str:
    """The positions that each query may attend to, `[B, Q, top_k]`; handed to the next layers as
    `index_choice`."""
    batch, query, _ = body.shape(source)
    attended = body.geometry.attended(0)
    shape = (batch, query, min(indexer.top_k, attended))
    if indexer.shared:
        body.carried["index_choice"] = "index_choice"
        return body.declare("index_choice", shape)
    flat = body.linear("index_q_proj", "index_q", residual, indexer.heads * indexer.head_dim)
    queries = rotate(body, "index_q", spec.rotary, body.split_heads("index_q_heads", flat, indexer.heads))
    low = body.linear("index_k_proj", "index_k", source, indexer.head_dim)
    key = body.norm("index_k_norm", "index_k_norm", INDEX_NORM, low)
    key = rotate(body, "index_k", spec.rotary, body.split_heads("index_k_head", key, 1))
    keys = body.append("index_append", "index_key", key)
    scores_shape = (batch, indexer.heads, query, attended)
    scores = body.op("index_scores", "attention_scores", (queries, keys), scores_shape, groups=indexer.heads)
    scores = body.scale("index_scale", Scale(root=str(indexer.head_dim)), scores)
    scores = body.op("index_relu", "relu", (scores,), scores_shape)
    mix = body.linear("index_weights", "index_weights", source, indexer.heads)
    mix = body.scale("index_weight_scale", Scale(root=str(indexer.heads)), mix)
    total = body.op("index_sum", "head_sum", (scores, mix), (batch, query, attended))
    masked = body.op("index_mask", "causal_mask", (total, "positions", "lengths"), (batch, query, attended))
    chosen = body.op("index_top_k", "top_k", (masked,), shape, k=shape[-1])
    body.carried["index_choice"] = chosen
    return chosen
