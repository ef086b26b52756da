"""InternLM3: Llama with optional biases on attention and block."""

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

MODEL_TYPES = ("internlm3",)
INTERNLM3 = Defaults(128_512, 4096, 10_240, 48, 32, 2, 128, 32_768, epsilon="0.00001")


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, INTERNLM3)
    qkv_bias, bias = config.flag("attention_bias", "qkv_bias"), config.flag("mlp_bias", "bias")
    attention = plain_attention(basics, read_rotary(config, basics.head_dim), bias=qkv_bias, out_bias=bias)
    layer = pre_norm_layer(FULL, attention, gated_mlp(basics, bias=bias), rms(basics))
    return decoder(basics, (layer,) * basics.layers, rms(basics))
