"""Mixtures of experts: the choice, its weights, and the experts' linear layers."""

from __future__ import annotations

import numpy as np

from pllm_lang.runtime.semantic.call import Array, Call, logistic
from pllm_lang.runtime.semantic.dense import rounded


def top_k(call: Call) -> Array:
    scores = call.inputs[0] + call.weights.get("correction", np.zeros(()))
    if call.has("groups"):
        scores = _best_groups(call, scores)
    return np.argsort(-scores, axis=-1, kind="stable")[..., : call.integer("k")].astype(np.float64)


def _best_groups(call: Call, scores: Array) -> Array:
    groups = scores.reshape(*scores.shape[:-1], call.integer("groups"), -1)
    best = np.sort(groups, axis=-1)
    total = best[..., -1] if call.op.attributes["group_score"] == "max" else best[..., -2:].sum(-1)
    order = np.argsort(-total, axis=-1, kind="stable")[..., : call.integer("top_groups")]
    kept = np.zeros(total.shape, dtype=bool)
    np.put_along_axis(kept, order, True, axis=-1)
    return np.where(kept[..., None], groups, -np.inf).reshape(scores.shape)


def gather(call: Call) -> Array:
    scores, chosen = call.inputs
    return np.take_along_axis(scores, chosen.astype(np.int64), axis=-1)


def normalize_sum(call: Call) -> Array:
    (x,) = call.inputs
    return x / (x.sum(-1, keepdims=True) + call.number("eps"))


def sparse_mixer(call: Call) -> Array:
    """SparseMixer at inference: each choice's share among the logits near the best of those not chosen
    before."""
    logits, chosen = call.inputs
    left = logits.copy()
    shares: list[Array] = []
    for index in range(chosen.shape[-1]):
        best = left.max(-1, keepdims=True)
        far = (best - logits) / np.maximum(np.abs(logits), best) > 2 * call.number("jitter")
        powers = np.exp(np.where(far, -np.inf, left) - best)
        at = chosen[..., index : index + 1].astype(np.int64)
        shares.append(np.take_along_axis(powers, at, axis=-1) / powers.sum(-1, keepdims=True))
        np.put_along_axis(left, at, -np.inf, axis=-1)
    return np.concatenate(shares, axis=-1)


def expert_scale(call: Call) -> Array:
    mix, chosen = call.inputs
    return mix * call.weights["weight"][chosen.astype(np.int64)]


def expert_mul(call: Call) -> Array:
    x, mix = call.inputs
    return x[:, :, None, :] * mix[..., None]


def expert_linear(call: Call) -> Array:
    x, chosen = call.inputs
    at = chosen.astype(np.int64)
    entering = x if x.ndim == 4 else x[:, :, None, :].repeat(at.shape[-1], axis=2)
    result = np.einsum("bqkoi,bqki->bqko", rounded(call, call.weights["weight"])[at], entering)
    return result + call.weights["bias"][at] if "bias" in call.weights else result


def clamped_swiglu(call: Call) -> Array:
    gate, up = call.inputs
    limit = call.number("limit")
    gate, up = np.minimum(gate, limit), np.clip(up, -limit, limit)
    return (up + 1) * gate * logistic(call.number("slope") * gate)


def expert_sum(call: Call) -> Array:
    if len(call.inputs) == 1:
        return call.inputs[0].sum(axis=2)
    return (call.inputs[0] * call.inputs[1][..., None]).sum(axis=2)
