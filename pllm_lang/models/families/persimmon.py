"""Persimmon: one fused projection head by head, layer-normed heads, half rotation, squared ReLU."""

from __future__ import annotations

import msgspec

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Decoder, Mlp
from pllm_lang.models.families.reading import (
    FULL,
    Defaults,
    decoder,
    layer_norm,
    plain_attention,
    pre_norm_layer,
    read_basics,
)
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("persimmon",)
PERSIMMON = Defaults(262_144, 4096, 16_384, 36, 64, positions=16_384, activation="relu2", epsilon="0.00001")

NAMES = {
    "qkv": ".self_attn.query_key_value",
    "o": ".self_attn.dense",
    "q_norm": ".self_attn.q_layernorm",
    "k_norm": ".self_attn.k_layernorm",
    "up": ".mlp.dense_h_to_4h",
    "down": ".mlp.dense_4h_to_h",
    "final_norm": "model.final_layernorm",
}


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, PERSIMMON, epsilon=("layer_norm_eps",), head_dim=())
    config.require("num_key_value_heads", default=None, among=(None, basics.heads))
    rotary = read_rotary(config, basics.head_dim, partial="0.5")
    norm = layer_norm(basics)
    attention = msgspec.structs.replace(
        plain_attention(basics, rotary, bias=True, out_bias=True),
        fused="heads",
        qk_norm=norm if config.flag("qk_layernorm", default=True) else None,
    )
    mlp = Mlp(basics.inner, basics.activation, gated=False, bias=True)
    layer = pre_norm_layer(FULL, attention, mlp, norm)
    return decoder(basics, (layer,) * basics.layers, norm, names=NAMES)
