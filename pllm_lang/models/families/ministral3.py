"""Ministral 3: Mistral whose queries grow with the logarithm of the position (`llama_4_scaling_beta`)."""

from __future__ import annotations

from fractions import Fraction

import msgspec

from pllm_lang.models.config_reader import ConfigReader, missing
from pllm_lang.models.decoder import Decoder, Temperature
from pllm_lang.models.families.reading import (
    FULL,
    SLIDING,
    Defaults,
    decoder,
    gated_mlp,
    plain_attention,
    pre_norm_layer,
    read_basics,
    read_window,
    rms,
)
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("ministral3",)
MINISTRAL3 = Defaults(131_072, 4096, 14_336, 34, 32, 8, 128, 262_144, epsilon="0.00001")
BETA = "llama_4_scaling_beta"


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, MINISTRAL3)
    rotary = read_rotary(config, basics.head_dim, family_parameters=(BETA,))
    window = read_window(config)
    attention = plain_attention(basics, rotary, window=window)
    attention = msgspec.structs.replace(attention, temperature=_temperature(config))
    layer = pre_norm_layer(SLIDING if window else FULL, attention, gated_mlp(basics), rms(basics))
    return decoder(basics, (layer,) * basics.layers, rms(basics))


def _temperature(config: ConfigReader) -> Temperature | None:
    positions = config.section("rope_parameters", "rope_scaling")
    if positions is None:
        raise missing(config.dotted("rope_parameters"))
    beta = positions.number(BETA)
    if Fraction(beta) == 0:
        return None
    return Temperature(beta, positions.size("original_max_position_embeddings"), 0)
