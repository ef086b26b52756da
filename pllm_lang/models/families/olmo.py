"""OLMo (first generation): Llama with layer norms without weights and clipped queries, keys and values."""

from __future__ import annotations

import msgspec

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Decoder, Norm
from pllm_lang.models.families.reading import (
    FULL,
    Defaults,
    decoder,
    gated_mlp,
    plain_attention,
    pre_norm_layer,
    read_basics,
)
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("olmo",)
OLMO = Defaults(50_304, 4096, 11_008, 32, 32, epsilon="0.00001")


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, OLMO, epsilon=())
    bias = config.flag("attention_bias")
    attention = plain_attention(basics, read_rotary(config, basics.head_dim), bias=bias, out_bias=bias)
    attention = msgspec.structs.replace(
        attention, clip=config.optional_number("clip_qkv", positive=True) or ""
    )
    norm = Norm("layer", basics.epsilon, weight=False)
    layer = pre_norm_layer(FULL, attention, gated_mlp(basics), norm)
    return decoder(basics, (layer,) * basics.layers, norm)
