"""Convolutions and recurrent states."""

from __future__ import annotations

import numpy as np

from pllm_lang.runtime.semantic.call import Array, Call


def convolution_window(call: Call) -> Array:
    """The last `kernel - 1` inputs before the new ones, zeros at the start of a sequence, and the new
    ones."""
    *state, x = call.inputs
    before = state[0] if state else np.zeros((x.shape[0], call.integer("kernel") - 1, x.shape[2]))
    return np.concatenate([before, x], axis=1)


def causal_convolution(call: Call) -> Array:
    (window,) = call.inputs
    kernel = call.integer("kernel")
    taps = call.weights["weight"][:, 0, :]
    count = window.shape[1] - kernel + 1
    total = sum(window[:, i : i + count] * taps[:, i] for i in range(kernel))
    return total + call.weights.get("bias", np.zeros(()))


def decay(call: Call) -> Array:
    return -np.exp(call.weights["rate"]) * np.log1p(np.exp(call.inputs[0] + call.weights["bias"]))


def softplus_step(call: Call) -> Array:
    step = np.log1p(np.exp(call.inputs[0] + call.weights["bias"]))
    return np.clip(step, call.number("low"), call.number("high") if call.op.attributes["high"] else np.inf)


def gated_delta_scan(call: Call) -> Array:
    """States `[B, H, Q, key, value]` after each position."""
    *before, keys, values, decays, betas = call.inputs
    keys = keys.repeat(call.integer("groups"), axis=1)
    state = before[0] if before else np.zeros((*keys.shape[:2], keys.shape[3], values.shape[3]))
    states: list[Array] = []
    for t in range(keys.shape[2]):
        key, value = keys[:, :, t], values[:, :, t]
        state = state * np.exp(decays[:, t])[..., None, None]
        error = (value - np.einsum("bhkv,bhk->bhv", state, key)) * betas[:, t][..., None]
        state = state + key[..., :, None] * error[..., None, :]
        states.append(state)
    return np.stack(states, axis=2)


def selective_scan(call: Call) -> Array:
    """States `[B, H, Q, head, state]` after each position."""
    *before, x, b, steps = call.inputs
    b = b.repeat(call.integer("groups"), axis=1)
    state = before[0] if before else np.zeros((*x.shape[:2], x.shape[3], b.shape[3]))
    rate = -np.exp(call.weights["rate"])
    states: list[Array] = []
    for t in range(x.shape[2]):
        step = steps[:, t][..., None, None]
        state = (
            state * np.exp(step * rate[:, None, None])
            + step * x[:, :, t][..., None] * b[:, :, t][..., None, :]
        )
        states.append(state)
    return np.stack(states, axis=2)


def state_read(call: Call) -> Array:
    """`S^T q` where the query runs along the state's rows, `S q` where it runs along its columns."""
    states, query = call.inputs
    query = query.repeat(call.integer("groups"), axis=1)
    if call.op.attributes["along"] == "rows":
        return np.einsum("bhtrc,bhtr->bhtc", states, query)
    return np.einsum("bhtrc,bhtc->bhtr", states, query)


def last_position(call: Call) -> Array:
    return call.inputs[0][:, :, -1]
