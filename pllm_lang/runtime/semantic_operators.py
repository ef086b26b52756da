"""What each operator of the semantic graph computes, in numpy and float64, written to be believed at sight."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import ceil, log, log2, pi, sqrt
from typing import TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from pllm_lang.models.graph import Attribute, Op

Array: TypeAlias = NDArray[np.float64]


class Call(msgspec.Struct, frozen=True):
    """One op with the values of its operands and weights."""

    op: Op
    inputs: tuple[Array, ...]
    weights: Mapping[str, Array]

    def number(self, name: str, default: str = "0") -> float:
        return float(Fraction(str(self.op.attributes.get(name, default))))

    def integer(self, name: str, default: int = 0) -> int:
        return int(str(self.op.attributes.get(name, default)))

    def has(self, name: str) -> bool:
        return name in self.op.attributes


def embedding(call: Call) -> Array:
    (ids,) = call.inputs
    return call.weights["weight"][ids.astype(np.int64) + call.integer("offset")]


def linear(call: Call) -> Array:
    (x,) = call.inputs
    weight = call.weights["weight"]
    if call.has("unit_rows"):
        weight = weight / np.linalg.norm(weight, axis=1, keepdims=True)
    if not call.has("stored"):
        weight = weight.T
    return x @ weight + call.weights.get("bias", np.zeros(()))


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
    return (parts / np.sqrt((parts**2).mean(-1, keepdims=True) + call.number("epsilon"))).reshape(x.shape)


def _affine(call: Call, x: Array) -> Array:
    weight = call.weights.get("weight")
    if weight is None:
        return x
    if call.has("per_head"):
        weight = weight[:, None, :]
    return x * (weight + call.integer("weight_offset")) + call.weights.get("bias", np.zeros(()))


def l2_norm(call: Call) -> Array:
    (x,) = call.inputs
    return x / np.sqrt((x**2).sum(-1, keepdims=True) + call.number("epsilon"))


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


def slice_features(call: Call) -> Array:
    return call.inputs[0][..., call.integer("start") : call.integer("stop")]


def split_heads(call: Call) -> Array:
    (x,) = call.inputs
    return x.reshape(*x.shape[:2], call.integer("heads"), -1).transpose(0, 2, 1, 3)


def merge_heads(call: Call) -> Array:
    (x,) = call.inputs
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def repeat_heads(call: Call) -> Array:
    return call.inputs[0].repeat(call.integer("times"), axis=1)


def concat(call: Call) -> Array:
    return np.concatenate(call.inputs, axis=-1)


def clip(call: Call) -> Array:
    return np.clip(call.inputs[0], -call.number("limit"), call.number("limit"))


def add(call: Call) -> Array:
    return call.inputs[0] + call.inputs[1]


def mul(call: Call) -> Array:
    return call.inputs[0] * call.inputs[1]


def sigmoid(call: Call) -> Array:
    return _sigmoid(call.inputs[0])


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def silu(call: Call) -> Array:
    return call.inputs[0] * _sigmoid(call.inputs[0])


def gelu(call: Call) -> Array:
    (x,) = call.inputs
    match call.op.attributes["approximate"]:
        case "tanh":
            return 0.5 * x * (1 + np.tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))
        case "sigmoid":
            return x * _sigmoid(1.702 * x)
        case _:
            return 0.5 * x * (1 + _erf(x / sqrt(2)))


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


def rotary_embedding(call: Call) -> Array:
    x, positions = call.inputs
    dims = call.integer("dims")
    rates, gain = rotary_rates(call.op.attributes, int(positions.max()) + 1)
    angles = positions[:, None, :, None] * rates
    cos, sin = np.cos(angles) * gain, np.sin(angles) * gain
    turned = x[..., :dims]
    if call.op.attributes["pairing"] == "half":
        one, two = turned[..., : dims // 2], turned[..., dims // 2 :]
        result = np.concatenate([one * cos - two * sin, two * cos + one * sin], axis=-1)
    else:
        one, two = turned[..., 0::2], turned[..., 1::2]
        result = np.stack([one * cos - two * sin, two * cos + one * sin], axis=-1).reshape(turned.shape)
    return np.concatenate([result, x[..., dims:]], axis=-1)


def rotary_rates(attributes: Mapping[str, Attribute], length: int) -> tuple[Array, float]:
    """The angle of each pair per position, and the factor on cosine and sine, of a sequence of `length` positions."""

    def number(name: str, default: float = 0.0) -> float:
        return float(Fraction(str(attributes[name]))) if name in attributes else default

    dims, theta = int(number("dims")), number("theta")
    exponents = np.arange(0, dims, 2) / dims
    rates, original = theta**-exponents, number("original_max_position_embeddings")
    match attributes["kind"]:
        case "linear":
            return rates / number("factor"), 1.0
        case "dynamic":
            limit = original or number("max_positions")
            if length > limit:
                grown = number("factor") * length / limit - (number("factor") - 1)
                rates = (theta * grown ** (dims / (dims - 2))) ** -exponents
            return rates, 1.0
        case "proportional":
            rotated = int(number("rotated"))
            return np.where(np.arange(dims // 2) < rotated // 2, rates / number("factor", 1.0), 0), 1.0
        case "llama3":
            return _llama3(rates, number), 1.0
        case "longrope":
            return _longrope(rates, attributes, number, length)
        case "yarn":
            return _yarn(rates, dims, theta, number)
        case _:
            return rates, 1.0


def _llama3(rates: Array, number: Callable[..., float]) -> Array:
    factor, low, high = number("factor"), number("low_freq_factor"), number("high_freq_factor")
    turns = number("original_max_position_embeddings") * rates / (2 * pi)
    smooth = np.clip((turns - low) / (high - low), 0, 1)
    return (1 - smooth) * rates / factor + smooth * rates


def _longrope(
    rates: Array, attributes: Mapping[str, Attribute], number: Callable[..., float], length: int
) -> tuple[Array, float]:
    original = number("original_max_position_embeddings")
    long = length > original
    factors = attributes["long_factor" if long else "short_factor"]
    assert isinstance(factors, tuple)
    growth = number("factor", number("max_positions") / original)
    gain = sqrt(1 + log(growth) / log(original)) if growth > 1 else 1.0
    gain = number("attention_factor", gain)
    gain = number("long_mscale" if long else "short_mscale", gain)
    return rates / np.array([float(one) for one in factors]), gain


def _yarn(rates: Array, dims: int, theta: float, number: Callable[..., float]) -> tuple[Array, float]:
    factor, original = number("factor"), number("original_max_position_embeddings")

    def pair(turns: float) -> float:
        return dims * log(original / (turns * 2 * pi)) / (2 * log(theta))

    low, high = pair(number("beta_fast", 32) or 32), pair(number("beta_slow", 1) or 1)
    if number("truncate", 1):
        low, high = float(np.floor(low)), float(np.ceil(high))
    low, high = max(low, 0), min(high, dims - 1)
    ramp = np.clip((np.arange(dims // 2) - low) / ((high - low) or 0.001), 0, 1)

    def gain(weight: float) -> float:
        return 1 + 0.1 * weight * log(factor) if factor > 1 else 1.0

    one, all_dims = number("mscale"), number("mscale_all_dim")
    implied = gain(one) / gain(all_dims) if one and all_dims else gain(1)
    return rates / factor * ramp + rates * (1 - ramp), number("attention_factor", implied)


def kv_cache_append(call: Call) -> Array:
    return np.concatenate(call.inputs, axis=2)


def attention_scores(call: Call) -> Array:
    query, keys = call.inputs
    return query @ keys.repeat(call.integer("groups"), axis=1).swapaxes(-1, -2)


def attention_values(call: Call) -> Array:
    probabilities, values = call.inputs
    return probabilities @ values.repeat(call.integer("groups"), axis=1)


def causal_mask(call: Call) -> Array:
    scores, positions = call.inputs[:2]
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
    """MPT's linear biases: slope 2^(-max i / n), with n the next power of two, odd slopes first where heads are fewer."""
    scores, positions = call.inputs
    heads = scores.shape[1]
    size = 2 ** ceil(log2(heads))
    slopes = 2.0 ** (-np.arange(1, size + 1) * call.number("max_bias") / size)
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
    return x / (x.sum(-1, keepdims=True) + call.number("epsilon"))


def sparse_mixer(call: Call) -> Array:
    """SparseMixer at inference: each choice's share among the logits near the best of those not chosen before."""
    logits, chosen = call.inputs
    left, shares = logits.copy(), []
    for index in range(chosen.shape[-1]):
        best = left.max(-1, keepdims=True)
        far = (best - logits) / np.maximum(np.abs(logits), best) > 2 * call.number("jitter")
        powers = np.exp(np.where(far, -np.inf, left) - best)
        at = chosen[..., index : index + 1].astype(np.int64)
        shares.append(np.take_along_axis(powers, at, axis=-1) / powers.sum(-1, keepdims=True))
        np.put_along_axis(left, at, -np.inf, axis=-1)
    return np.concatenate(shares, axis=-1)


def feature_scale(call: Call) -> Array:
    return call.inputs[0] * call.weights["weight"]


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
    result = np.einsum("bqkoi,bqki->bqko", call.weights["weight"][at], entering)
    return result + call.weights["bias"][at] if "bias" in call.weights else result


def clamped_swiglu(call: Call) -> Array:
    gate, up = call.inputs
    limit = call.number("limit")
    gate, up = np.minimum(gate, limit), np.clip(up, -limit, limit)
    return (up + 1) * gate * _sigmoid(call.number("slope") * gate)


def expert_sum(call: Call) -> Array:
    if len(call.inputs) == 1:
        return call.inputs[0].sum(axis=2)
    return (call.inputs[0] * call.inputs[1][..., None]).sum(axis=2)


def convolution_window(call: Call) -> Array:
    """The last `kernel - 1` inputs before the new ones, zeros at the start of a sequence, and the new ones."""
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
    states = []
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
    rate, states = -np.exp(call.weights["rate"]), []
    for t in range(x.shape[2]):
        step = steps[:, t][..., None, None]
        state = state * np.exp(step * rate[:, None, None]) + step * x[:, :, t][..., None] * b[:, :, t][..., None, :]
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


def last_token(call: Call) -> Array:
    return call.inputs[0][:, -1]


def argmax(call: Call) -> Array:
    return call.inputs[0].argmax(-1).astype(np.float64)


OPERATORS: dict[str, Callable[[Call], Array]] = {
    "embedding": embedding,
    "linear": linear,
    "rms_norm": rms_norm,
    "layer_norm": layer_norm,
    "l2_norm": l2_norm,
    "scale": scale,
    "position_scale": position_scale,
    "learned_scale": learned_scale,
    "head_scale": head_scale,
    "slice": slice_features,
    "split_heads": split_heads,
    "merge_heads": merge_heads,
    "repeat_heads": repeat_heads,
    "concat": concat,
    "clip": clip,
    "add": add,
    "mul": mul,
    "sigmoid": sigmoid,
    "silu": silu,
    "gelu": gelu,
    "relu": relu,
    "relu_squared": relu_squared,
    "softcap": softcap,
    "rotary_embedding": rotary_embedding,
    "kv_cache_append": kv_cache_append,
    "attention_scores": attention_scores,
    "attention_values": attention_values,
    "causal_mask": causal_mask,
    "alibi_bias": alibi_bias,
    "softmax": softmax,
    "head_sum": head_sum,
    "top_k": top_k,
    "gather": gather,
    "normalize_sum": normalize_sum,
    "sparse_mixer": sparse_mixer,
    "feature_scale": feature_scale,
    "expert_scale": expert_scale,
    "expert_mul": expert_mul,
    "expert_linear": expert_linear,
    "clamped_swiglu": clamped_swiglu,
    "expert_sum": expert_sum,
    "convolution_window": convolution_window,
    "causal_convolution": causal_convolution,
    "decay": decay,
    "softplus_step": softplus_step,
    "gated_delta_scan": gated_delta_scan,
    "selective_scan": selective_scan,
    "state_read": state_read,
    "last_position": last_position,
    "last_token": last_token,
    "argmax": argmax,
}
