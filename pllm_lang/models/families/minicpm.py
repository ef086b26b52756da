"""MiniCPM: Llama with scaled embeddings, residuals and logits (maximal update parametrisation)."""

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

MODEL_TYPES = ("minicpm",)
MINICPM = Defaults(32_000, 4096, 11_008, 32, 32, tied=True)


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, MINICPM)
    bias = config.flag("attention_bias")
    attention = plain_attention(basics, read_rotary(config, basics.head_dim), bias=bias, out_bias=bias)
    layer = pre_norm_layer(FULL, attention, gated_mlp(basics), rms(basics))
    depth = config.number("scale_depth", default="1", positive=True)
    layer = msgspec.structs.replace(layer, residual_scale=Scale(depth, root=str(basics.layers)))
    base = config.size("dim_model_base", default=basics.hidden)
    return decoder(
        basics,
        (layer,) * basics.layers,
        rms(basics),
        embedding_scale=multiplier(config.number("scale_emb", default="1")),
        logit_scale=multiplier(str(Fraction(base, basics.hidden))),
    )
