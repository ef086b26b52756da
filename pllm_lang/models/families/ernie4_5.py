"""ERNIE 4.5 (dense): Llama with interleaved rotary pairs and one switch for every bias."""

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

MODEL_TYPES = ("ernie4_5",)
ERNIE = Defaults(103_424, 1024, 3072, 18, 16, 2, 128, 131_072, epsilon="0.00001", theta="500000", tied=True)


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, ERNIE)
    bias = config.flag("use_bias")
    rotary = read_rotary(config, basics.head_dim, theta=ERNIE.theta, pairing="interleaved")
    attention = plain_attention(basics, rotary, bias=bias, out_bias=bias)
    layer = pre_norm_layer(FULL, attention, gated_mlp(basics, bias=bias), rms(basics))
    return decoder(basics, (layer,) * basics.layers, rms(basics))
