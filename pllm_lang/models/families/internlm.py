"""InternLM (first generation): Llama whose `bias` puts a bias on q, k, v and o."""

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

MODEL_TYPES = ("internlm",)
INTERNLM = Defaults(103_168, 4096, 11_008, 32, 32)


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, INTERNLM)
    bias = config.flag("bias", default=True)
    attention = plain_attention(basics, read_rotary(config, basics.head_dim), bias=bias, out_bias=bias)
    layer = pre_norm_layer(FULL, attention, gated_mlp(basics), rms(basics))
    return decoder(basics, (layer,) * basics.layers, rms(basics))
