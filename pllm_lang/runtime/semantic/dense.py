"""Operators on features: embedding, linear layers, norms, scales, activations, layout."""

from __future__ import annotations

from math import log, pi, sqrt

import numpy as np

from pllm_lang.runtime.semantic.call import Array, Call, logistic


def embedding(call: Call) -> Array:
    (ids,) = call.inputs
    return call.weights["weight"][ids.astype(np.int64) + call.integer("offset")]


def linear(call: Call) -> Array:
    (x,) = call.inputs
    weight = rounded(call, call.weights["weight"])
    if call.has("unit_rows"):
        weight = weight / np.linalg.norm(weight, axis=1, keepdims=True)
    if not call.has("stored"):
        weight = weight.T
    return x @ weight + call.weights.get("bias", np.zeros(()))


def rounded(call: Call, weight: Array) -> Array:
    """The weight as `quantize_weights` stores it: signed integers times a scale for each output row."""
    if not call.has("weight_bits"):
        return weight
    axis = -2 if call.has("stored") else -1
    scale = np.abs(weight).max(axis=axis, keepdims=True) / (2 ** (call.integer("weight_bits") - 1) - 1)
    return np.round(weight / np.where(scale == 0, 1, scale)) * scale


def rms_norm(call: Call) -> Array:
    (x,) = call.inputs
    return _affine(call, _grouped(call, x, centred=False))


def layer_norm(call: Call) -> Array:
    (x,) = call.inputs
    return _affine(call, _grouped(call, x, centred=True))


def _grouped(call: Call, x: Array, *, centred: bool) -> Array:
    parts = x.reshape(*x.shape[:-1], call.integer("groups", 1), -1)
    if centred:
        parts = parts - parts.mean(-1, keepdims=True)
    return (parts / np.sqrt((parts**2).mean(-1, keepdims=True) + call.number("eps"))).reshape(x.shape)


def _affine(call: Call, x: Array) -> Array:
    weight = call.weights.get("weight")
    if weight is None:
        return x
    if call.has("per_head"):
        weight = weight[:, None, :]
    return x * (weight + call.integer("offset")) + call.weights.get("bias", np.zeros(()))


def l2_norm(call: Call) -> Array:
    (x,) = call.inputs
    return x / np.sqrt((x**2).sum(-1, keepdims=True) + call.number("eps"))


def scale(call: Call) -> Array:
    (x,) = call.inputs
    gain = 1 + call.number("gain") * log(call.number("of", "1"))
    return x * call.number("factor", "1") * gain**2 / sqrt(call.number("root", "1"))


def position_scale(call: Call) -> Array:
    x, positions = call.inputs
    steps = np.floor((positions + call.integer("shift")) / call.integer("floor"))
    return x * (1 + call.number("scale") * np.log1p(steps))[:, None, :, None]


def learned_scale(call: Call) -> Array:
    return call.inputs[0] * call.weights["weight"]


def head_scale(call: Call) -> Array:
    return call.inputs[0] * call.weights["weight"][:, None, None]


def feature_scale(call: Call) -> Array:
    return call.inputs[0] * call.weights["weight"]


def slice_features(call: Call) -> Array:
    return call.inputs[0][..., call.integer("start") : call.integer("stop")]


def split_heads(call: Call) -> Array:
    (x,) = call.inputs
    return x.reshape(*x.shape[:2], call.integer("heads"), -1).transpose(0, 2, 1, 3)


def merge_heads(call: Call) -> Array:
    (x,) = call.inputs
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def repeat_kv(call: Call) -> Array:
    return call.inputs[0].repeat(call.integer("times"), axis=1)


def concat(call: Call) -> Array:
    return np.concatenate(call.inputs, axis=-1)


def clamp(call: Call) -> Array:
    return np.clip(call.inputs[0], call.number("low"), call.number("high"))


def add(call: Call) -> Array:
    return call.inputs[0] + call.inputs[1]


def mul(call: Call) -> Array:
    return call.inputs[0] * call.inputs[1]


def sigmoid(call: Call) -> Array:
    return logistic(call.inputs[0])


def silu(call: Call) -> Array:
    return call.inputs[0] * logistic(call.inputs[0])


def gelu(call: Call) -> Array:
    (x,) = call.inputs
    return 0.5 * x * (1 + _erf(x / sqrt(2)))


def gelu_tanh(call: Call) -> Array:
    (x,) = call.inputs
    return 0.5 * x * (1 + np.tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))


def quick_gelu(call: Call) -> Array:
    (x,) = call.inputs
    return x * logistic(1.702 * x)


def _erf(x: Array) -> Array:
    """The error function by its Taylor series, to 1e-12 for the small arguments of tiny models."""
    total, term = np.zeros_like(x), x.copy()
    for n in range(120):
        total = total + term / (2 * n + 1)
        term = -term * x**2 / (n + 1)
    return np.where(np.abs(x) > 4, np.sign(x), 2 / sqrt(pi) * total)


def relu(call: Call) -> Array:
    return np.maximum(call.inputs[0], 0)


def relu_squared(call: Call) -> Array:
    return np.maximum(call.inputs[0], 0) ** 2


def softcap(call: Call) -> Array:
    return call.number("cap") * np.tanh(call.inputs[0] / call.number("cap"))


def last_token(call: Call) -> Array:
    return call.inputs[0][:, -1]


def argmax(call: Call) -> Array:
    return call.inputs[0].argmax(-1).astype(np.float64)
