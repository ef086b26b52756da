"""OPT: learned positions counted from two, layer norms, biases, a plain block. The 350M model, which norms after and
projects its embeddings, is refused by name."""

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

MODEL_TYPES = ("opt",)
OPT = Defaults(50_272, 768, 3072, 12, 12, activation="relu", epsilon="0.00001", tied=True)
FIRST_POSITION = 2

NAMES = {
    "layer": "model.decoder.layers.*",
    "embedding": "model.decoder.embed_tokens",
    "positions": "model.decoder.embed_positions",
    "final_norm": "model.decoder.final_layer_norm",
    "mixer_before": ".self_attn_layer_norm",
    "block_before": ".final_layer_norm",
    "o": ".self_attn.out_proj",
    "up": ".fc1",
    "down": ".fc2",
}


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(
        config,
        OPT,
        epsilon=(),
        activation=("activation_function",),
        inner=("ffn_dim",),
        kv_heads=(),
        head_dim=(),
    )
    config.require("do_layer_norm_before", default=True, among=(True,))
    config.require("_remove_final_layer_norm", default=False, among=(False,))
    config.require("word_embed_proj_dim", default=None, among=(None, basics.hidden))
    config.ignore("init_std")
    bias = config.flag("enable_bias", default=True)
    norm = layer_norm(basics)
    if not config.flag("layer_norm_elementwise_affine", default=True):
        norm = msgspec.structs.replace(norm, weight=False, bias=False)
    attention = plain_attention(basics, None, bias=bias, out_bias=bias)
    mlp = Mlp(basics.inner, basics.activation, gated=False, bias=bias)
    return decoder(
        basics,
        (pre_norm_layer(FULL, attention, mlp, norm),) * basics.layers,
        norm,
        names=NAMES,
        positions=basics.positions,
        position_offset=FIRST_POSITION,
    )
