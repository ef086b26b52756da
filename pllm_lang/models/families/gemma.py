"""Gemma (first generation): embeddings times the root of the hidden size, norm weights counted from one, tanh
GELU.

Old configs say `hidden_act: gelu`; the models were trained with the tanh form, and every implementation uses
it.
"""

from __future__ import annotations

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Decoder, Scale
from pllm_lang.models.families.reading import (
    FULL,
    Basics,
    Defaults,
    decoder,
    gated_mlp,
    plain_attention,
    pre_norm_layer,
    read_basics,
    require_causal,
    rms,
)
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("gemma",)
TANH_GELU = "gelu_pytorch_tanh"
GEMMA = Defaults(256_000, 3072, 24_576, 28, 16, 16, 256, 8192, TANH_GELU, tied=True)


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, GEMMA, activation=("hidden_activation",))
    config.choice("hidden_act", default=TANH_GELU, among=("gelu", TANH_GELU))
    require_causal(config)
    bias = config.flag("attention_bias")
    attention = plain_attention(basics, read_rotary(config, basics.head_dim), bias=bias, out_bias=bias)
    layer = pre_norm_layer(FULL, attention, gated_mlp(basics), rms(basics, offset=1))
    return decoder(
        basics, (layer,) * basics.layers, rms(basics, offset=1), embedding_scale=root_of_hidden(basics)
    )


def root_of_hidden(basics: Basics) -> Scale:
    """sqrt(hidden), as hidden / sqrt(hidden)."""
    return Scale(str(basics.hidden), root=str(basics.hidden))
