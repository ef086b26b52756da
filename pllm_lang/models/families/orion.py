"""Orion: Llama with layer norms."""

from __future__ import annotations

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Decoder
from pllm_lang.models.families.reading import (
    FULL,
    Defaults,
    decoder,
    gated_mlp,
    layer_norm,
    plain_attention,
    pre_norm_layer,
    read_basics,
)
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("orion",)
ORION = Defaults(84_608, 4096, 15_360, 40, 40, 40, positions=4096, epsilon="0.00001")


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, ORION)
    config.ignore("max_sequence_length")
    bias = config.flag("attention_bias")
    attention = plain_attention(basics, read_rotary(config, basics.head_dim), bias=bias, out_bias=bias)
    layer = pre_norm_layer(FULL, attention, gated_mlp(basics), layer_norm(basics))
    return decoder(basics, (layer,) * basics.layers, layer_norm(basics))
