"""BitNet b1.58: Llama with a norm before the output projection and before the down projection, and squared
ReLU."""

from __future__ import annotations

import msgspec

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Decoder, Mlp
from pllm_lang.models.families.reading import (
    FULL,
    Defaults,
    decoder,
    plain_attention,
    pre_norm_layer,
    read_basics,
    rms,
)
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("bitnet",)
BITNET = Defaults(128_256, 2560, 6912, 30, 20, 5, activation="relu2", epsilon="0.00001", theta="500000")


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, BITNET)
    bias = config.flag("attention_bias")
    attention = plain_attention(
        basics, read_rotary(config, basics.head_dim, theta=BITNET.theta), bias=bias, out_bias=bias
    )
    attention = msgspec.structs.replace(attention, output_norm=rms(basics))
    mlp = Mlp(basics.inner, basics.activation, inner_norm=rms(basics))
    layer = pre_norm_layer(FULL, attention, mlp, rms(basics))
    return decoder(basics, (layer,) * basics.layers, rms(basics))
