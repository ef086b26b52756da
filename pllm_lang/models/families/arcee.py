"""Arcee (AFM): Llama with a plain squared-ReLU block."""

from __future__ import annotations

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

MODEL_TYPES = ("arcee",)
ARCEE = Defaults(32_000, 2560, 18_432, 32, 32, positions=4096, activation="relu2", epsilon="0.00001")


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, ARCEE)
    bias = config.flag("attention_bias")
    attention = plain_attention(basics, read_rotary(config, basics.head_dim), bias=bias, out_bias=bias)
    mlp = Mlp(basics.inner, basics.activation, gated=False, bias=config.flag("mlp_bias"))
    return decoder(basics, (pre_norm_layer(FULL, attention, mlp, rms(basics)),) * basics.layers, rms(basics))
