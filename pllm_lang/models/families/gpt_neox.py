"""GPT-NeoX and Pythia: one fused projection head by head, partial rotation, attention and block side by
side."""

from __future__ import annotations

import msgspec

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Decoder, Layer, Mlp
from pllm_lang.models.families.reading import (
    FULL,
    Defaults,
    decoder,
    layer_norm,
    plain_attention,
    read_basics,
)
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("gpt_neox",)
GPT_NEOX = Defaults(50_432, 6144, 24_576, 44, 64, activation="gelu", epsilon="0.00001")

NAMES = {
    "layer": "gpt_neox.layers.*",
    "embedding": "gpt_neox.embed_in",
    "final_norm": "gpt_neox.final_layer_norm",
    "head": "embed_out",
    "qkv": ".attention.query_key_value",
    "o": ".attention.dense",
    "up": ".mlp.dense_h_to_4h",
    "down": ".mlp.dense_4h_to_h",
}


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, GPT_NEOX, epsilon=("layer_norm_eps",), kv_heads=(), head_dim=())
    rotary = read_rotary(config, basics.head_dim, partial="0.25")
    bias = config.flag("attention_bias", default=True)
    attention = plain_attention(basics, rotary, bias=bias, out_bias=bias)
    mlp = Mlp(basics.inner, basics.activation, gated=False, bias=True)
    norm = layer_norm(basics)
    layer = Layer(
        FULL,
        msgspec.structs.replace(attention, fused="heads"),
        mlp,
        mixer_before=norm,
        block_before=norm,
        parallel=config.flag("use_parallel_residual", default=True),
    )
    return decoder(basics, (layer,) * basics.layers, norm, names=NAMES)
