"""Helium: Llama with interleaved rotary pairs."""

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

MODEL_TYPES = ("helium",)
HELIUM = Defaults(48_000, 2560, 7040, 24, 20, 20, 128, 4096, epsilon="0.00000001", theta="100000")


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, HELIUM)
    rotary = read_rotary(config, basics.head_dim, theta=HELIUM.theta, pairing="interleaved")
    attention = plain_attention(basics, rotary, bias=config.flag("attention_bias"))
    mlp = gated_mlp(basics, bias=config.flag("mlp_bias"))
    return decoder(basics, (pre_norm_layer(FULL, attention, mlp, rms(basics)),) * basics.layers, rms(basics))
