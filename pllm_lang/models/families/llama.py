"""Llama and its like: pre-norm, rotary positions, grouped attention, gated SiLU block."""

from __future__ import annotations

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Decoder
from pllm_lang.models.families.reading import (
    FULL,
    Defaults,
    decoder,
    gated_mlp,
    plain_attention,
    pre_norm_layer,
    read_basics,
    rms,
)
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("llama",)
LLAMA = Defaults(32_000, 4096, 11_008, 32, 32)


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, LLAMA)
    config.require("rope_interleaved", default=False, among=(False,))
    bias = config.flag("attention_bias")
    rotary = read_rotary(config, basics.head_dim)
    attention = plain_attention(basics, rotary, bias=bias, out_bias=bias)
    mlp = gated_mlp(basics, bias=config.flag("mlp_bias"))
    layer = pre_norm_layer(FULL, attention, mlp, rms(basics))
    return decoder(basics, (layer,) * basics.layers, rms(basics))
