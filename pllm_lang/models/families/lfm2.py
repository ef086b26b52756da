"""LFM2: short convolutions with some attention layers between, normed heads, a block size rounded by the
config."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import msgspec

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Decoder, Layer, Mixer, Mlp, ShortConvolution
from pllm_lang.models.families.reading import (
    FULL,
    Defaults,
    decoder,
    plain_attention,
    read_basics,
    read_layer_types,
    rms,
)
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("lfm2",)
CONVOLUTION = "conv"
LFM2 = Defaults(
    65_536, 2560, 12_288, 32, 32, 8, positions=128_000, epsilon="0.00001", theta="1000000", tied=True
)

NAMES = {
    "mixer_before": ".operator_norm",
    "block_before": ".ffn_norm",
    "o": ".self_attn.out_proj",
    "q_norm": ".self_attn.q_layernorm",
    "k_norm": ".self_attn.k_layernorm",
    "gate": ".feed_forward.w1",
    "up": ".feed_forward.w3",
    "down": ".feed_forward.w2",
    "final_norm": "model.embedding_norm",
}


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(
        config,
        LFM2,
        epsilon=("norm_eps", "block_norm_eps"),
        activation=(),
        inner=("block_ff_dim", "intermediate_size"),
        hidden=("hidden_size", "block_dim", "conv_dim", "conv_dim_out"),
        heads=("num_attention_heads", "num_heads"),
    )
    config.require("block_use_swiglu", default=True, among=(True,))
    config.require("use_pos_enc", default=True, among=(True,))
    inner = _inner(config, basics.inner)
    kinds = _kinds(config, basics.layers)
    rotary = read_rotary(config, basics.head_dim, theta=LFM2.theta)
    mixers: dict[str, Mixer] = {
        FULL: msgspec.structs.replace(plain_attention(basics, rotary), qk_norm=rms(basics)),
        CONVOLUTION: ShortConvolution(
            config.size("conv_L_cache", default=3, least=2), config.flag("conv_bias")
        ),
    }
    norm = rms(basics)
    by_kind = {
        kind: Layer(kind, mixer, Mlp(inner, "silu"), mixer_before=norm, block_before=norm)
        for kind, mixer in mixers.items()
    }
    return decoder(basics, [by_kind[kind] for kind in kinds], norm, names=NAMES)


def _kinds(config: ConfigReader, count: int) -> tuple[str, ...]:
    full = config.sizes("full_attn_idxs")
    chosen = full if full is not None else tuple(range(count))
    return read_layer_types(
        config, count, (FULL, CONVOLUTION), lambda index: FULL if index in chosen else CONVOLUTION
    )


def _inner(config: ConfigReader, stated: int) -> int:
    """Two thirds of the stated size, times a factor, rounded up to a multiple, where that is switched on."""
    factor = Fraction(config.number("block_ffn_dim_multiplier", default="1", positive=True))
    multiple = config.size("block_multiple_of", default=256)
    if not config.flag("block_auto_adjust_ff_dim", default=True):
        return stated
    return -(-floor(factor * (2 * stated // 3)) // multiple) * multiple
