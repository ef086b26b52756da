"""Seed-OSS: Llama whose q, k and v have biases, and whose output projection may have one of its own."""

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

MODEL_TYPES = ("seed_oss",)
SEED_OSS = Defaults(155_136, 4096, 27_648, 64, 80, 8, 128, 524_288)


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, SEED_OSS)
    config.ignore("residual_dropout")
    attention = plain_attention(
        basics,
        read_rotary(config, basics.head_dim),
        bias=config.flag("attention_bias", default=True),
        out_bias=config.flag("attention_out_bias"),
    )
    mlp = gated_mlp(basics, bias=config.flag("mlp_bias"))
    return decoder(basics, (pre_norm_layer(FULL, attention, mlp, rms(basics)),) * basics.layers, rms(basics))
