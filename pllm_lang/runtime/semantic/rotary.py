"""Rotary positions: the rotation, and the rates of every kind of scaling (transformers,
`modeling_rope_utils`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import log, pi, sqrt

import numpy as np

from pllm_lang.models.graph import Attribute
from pllm_lang.runtime.semantic.call import Array, Call


def rotary_embedding(call: Call) -> Array:
    x, positions = call.inputs
    dims = call.integer("dims")
    rates, gain = rotary_rates(call.op.attributes, int(positions.max()) + 1)
    angles = positions[:, None, :, None] * rates
    cos, sin = np.cos(angles) * gain, np.sin(angles) * gain
    turned = x[..., :dims]
    if call.op.attributes["pairing"] == "split_half":
        one, two = turned[..., : dims // 2], turned[..., dims // 2 :]
        result = np.concatenate([one * cos - two * sin, two * cos + one * sin], axis=-1)
    else:
        one, two = turned[..., 0::2], turned[..., 1::2]
        result = np.stack([one * cos - two * sin, two * cos + one * sin], axis=-1).reshape(turned.shape)
    return np.concatenate([result, x[..., dims:]], axis=-1)


def rotary_rates(attributes: Mapping[str, Attribute], length: int) -> tuple[Array, float]:
    """The angle of each pair per position, and the factor on cosine and sine, of a sequence of `length`
    positions."""

    def number(name: str, default: float = 0.0) -> float:
        return float(Fraction(str(attributes[name]))) if name in attributes else default

    dims, theta = int(number("dims")), number("theta")
    exponents = np.arange(0, dims, 2) / dims
    rates = theta**-exponents
    match attributes["kind"]:
        case "linear":
            return rates / number("factor"), 1.0
        case "dynamic":
            limit = number("max_positions")
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
    with np.errstate(divide="ignore"):  # nothing lies between slow and fast pairs where the two ends are one
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
