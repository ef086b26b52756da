"""Phi-3, Phi-3.5 and Phi-4: Llama with fused projections, long rotary scaling and, in the 4-mini, partial
rotation."""

from __future__ import annotations

import msgspec

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Decoder, Mlp
from pllm_lang.models.families.reading import (
    FULL,
    SLIDING,
    Defaults,
    decoder,
    plain_attention,
    pre_norm_layer,
    read_basics,
    read_window,
    rms,
)
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("phi3",)
PHI3 = Defaults(32_064, 3072, 8192, 32, 32, positions=4096, epsilon="0.00001")


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, PHI3)
    config.ignore("original_max_position_embeddings", "interpolate_factor")
    for key in ("attention_bias", "mlp_bias", "lm_head_bias"):
        config.require(key, default=False, among=(False,))
    config.require("full_attn_mod", default=1, among=(1,))
    window = read_window(config)
    attention = plain_attention(basics, read_rotary(config, basics.head_dim, partial="1"), window=window)
    attention = msgspec.structs.replace(attention, fused="blocks")
    mlp = Mlp(basics.inner, basics.activation, fused=True)
    layer = pre_norm_layer(SLIDING if window else FULL, attention, mlp, rms(basics))
    return decoder(basics, (layer,) * basics.layers, rms(basics))
