"""Granite: Llama with multipliers on embedding, attention, residuals and logits."""

from __future__ import annotations

from fractions import Fraction

import msgspec

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Decoder, Scale
from pllm_lang.models.families.reading import (
    FULL,
    Defaults,
    decoder,
    gated_mlp,
    multiplier,
    plain_attention,
    pre_norm_layer,
    read_basics,
    rms,
)
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("granite",)
GRANITE = Defaults(32_000, 4096, 11_008, 32, 32)


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, GRANITE)
    bias = config.flag("attention_bias")
    attention = plain_attention(basics, read_rotary(config, basics.head_dim), bias=bias, out_bias=bias)
    attention = msgspec.structs.replace(
        attention, scale=Scale(config.number("attention_multiplier", default="1", positive=True))
    )
    mlp = gated_mlp(basics, bias=config.flag("mlp_bias"))
    layer = pre_norm_layer(FULL, attention, mlp, rms(basics))
    layer = msgspec.structs.replace(
        layer, residual_scale=multiplier(config.number("residual_multiplier", default="1"))
    )
    divisor = Fraction(config.number("logits_scaling", default="1", positive=True))
    return decoder(
        basics,
        (layer,) * basics.layers,
        rms(basics),
        embedding_scale=multiplier(config.number("embedding_multiplier", default="1")),
        logit_scale=multiplier(str(1 / divisor)),
    )
