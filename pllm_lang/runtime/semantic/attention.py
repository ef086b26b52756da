"""Softmax attention: cache, scores, masks, probabilities, values."""

from __future__ import annotations

from math import ceil, log2

import numpy as np

from pllm_lang.runtime.semantic.call import Array, Call


def kv_cache_append(call: Call) -> Array:
    return np.concatenate(call.inputs, axis=2)


def attention_scores(call: Call) -> Array:
    query, keys = call.inputs
    if keys.ndim == 5:
        return np.einsum("bhqd,bhqad->bhqa", query, keys)
    return query @ keys.repeat(call.integer("groups"), axis=1).swapaxes(-1, -2)


def attention_values(call: Call) -> Array:
    probabilities, values = call.inputs
    if values.ndim == 5:
        return np.einsum("bhqa,bhqad->bhqd", probabilities, values)
    return probabilities @ values.repeat(call.integer("groups"), axis=1)


def causal_mask(call: Call) -> Array:
    scores, positions = call.inputs[:2]
    if len(call.inputs) == 4 and call.inputs[3].ndim == 4:
        selected = call.inputs[3]
        return np.where((selected >= 0) & (selected <= positions[:, None, :, None]), scores, -np.inf)
    at = positions[:, :, None]
    keys = _key_positions(positions, scores.shape[-1])[:, None, :]
    seen = keys <= at
    if call.has("window"):
        seen &= keys > at - call.integer("window")
    if call.has("chunk"):
        seen &= keys // call.integer("chunk") == at // call.integer("chunk")
    if len(call.inputs) == 4:
        chosen = np.zeros(seen.shape, dtype=bool)
        np.put_along_axis(chosen, call.inputs[3].astype(np.int64), True, axis=-1)
        seen &= chosen
    return np.where(seen if scores.ndim == 3 else seen[:, None], scores, -np.inf)


def _key_positions(positions: Array, attended: int) -> Array:
    """The attended positions follow each other and end at the last query's."""
    return positions[:, -1:] - attended + 1 + np.arange(attended)


def alibi_bias(call: Call) -> Array:
    """MPT's linear biases: slope 2^(-max i / n), with n the next power of two, odd slopes first where heads
    are fewer."""
    scores, positions = call.inputs
    heads = scores.shape[1]
    size = 2 ** ceil(log2(heads))
    slopes: Array = np.power(2.0, -call.number("max_bias") / size * np.arange(1.0, size + 1))
    if size != heads:
        slopes = np.concatenate([slopes[1::2], slopes[::2]])[:heads]
    keys = _key_positions(positions, scores.shape[-1]) - positions[:, -1:]
    return scores + slopes[None, :, None, None] * keys[:, None, None, :]


def softmax(call: Call) -> Array:
    (x,) = call.inputs
    sink = call.weights.get("sink")
    if sink is not None:
        x = np.concatenate([x, np.broadcast_to(sink[None, :, None, None], (*x.shape[:-1], 1))], axis=-1)
    powers = np.exp(x - x.max(-1, keepdims=True))
    result = powers / powers.sum(-1, keepdims=True)
    return result if sink is None else result[..., :-1]


def head_sum(call: Call) -> Array:
    scores, mix = call.inputs
    return np.einsum("bhqa,bqh->bqa", scores, mix)
