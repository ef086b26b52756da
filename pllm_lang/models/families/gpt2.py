"""GPT-2 and GPT-BigCode (SantaCoder, StarCoder): learned positions, fused projections, plain GELU block.

GPT-2 stores its weights transposed; GPT-BigCode does not, and shares one key and value head between all
queries.
"""

from __future__ import annotations

from fractions import Fraction

import msgspec

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Attention, Decoder, Layer, Mlp, Scale
from pllm_lang.models.families.reading import (
    FULL,
    Basics,
    Defaults,
    decoder,
    layer_norm,
    plain_attention,
    pre_norm_layer,
    read_basics,
)

MODEL_TYPES = ("gpt2", "gpt_bigcode")
GPT2 = Defaults(
    50_257, 768, 3072, 12, 12, positions=1024, activation="gelu_new", epsilon="0.00001", tied=True
)

NAMES = {
    "layer": "transformer.h.*",
    "embedding": "transformer.wte",
    "positions": "transformer.wpe",
    "final_norm": "transformer.ln_f",
    "mixer_before": ".ln_1",
    "block_before": ".ln_2",
    "qkv": ".attn.c_attn",
    "o": ".attn.c_proj",
    "up": ".mlp.c_fc",
    "down": ".mlp.c_proj",
}


def read(config: ConfigReader) -> Decoder:
    basics = _read_basics(config)
    config.require("add_cross_attention", default=False, among=(False,))
    config.ignore("n_ctx")
    bigcode = config.values.get("model_type") == "gpt_bigcode"
    attention, mlp = _bigcode(config, basics) if bigcode else _gpt2(basics)
    if not config.flag("scale_attn_weights", default=True):
        attention = msgspec.structs.replace(attention, scale=Scale())
    layer = pre_norm_layer(FULL, attention, mlp, layer_norm(basics))
    return decoder(
        basics,
        _layers(config, layer, attention, basics.layers),
        layer_norm(basics),
        names=NAMES,
        positions=basics.positions,
    )


def _read_basics(config: ConfigReader) -> Basics:
    bigcode = config.values.get("model_type") == "gpt_bigcode"
    defaults = msgspec.structs.replace(GPT2, activation="gelu_pytorch_tanh") if bigcode else GPT2
    basics = read_basics(
        config,
        defaults,
        epsilon=("layer_norm_epsilon",),
        activation=("activation_function",),
        hidden=("n_embd", "hidden_size"),
        inner=("n_inner",),
        layers=("n_layer", "num_hidden_layers"),
        heads=("n_head", "num_attention_heads"),
        kv_heads=(),
        positions=("n_positions", "max_position_embeddings"),
        head_dim=(),
    )
    return basics if config.has("n_inner") else msgspec.structs.replace(basics, inner=4 * basics.hidden)


def _gpt2(basics: Basics) -> tuple[Attention, Mlp]:
    attention = msgspec.structs.replace(
        plain_attention(basics, None, bias=True, out_bias=True), fused="blocks", stored="in_out"
    )
    return attention, Mlp(basics.inner, basics.activation, gated=False, bias=True, stored="in_out")


def _bigcode(config: ConfigReader, basics: Basics) -> tuple[Attention, Mlp]:
    attention = plain_attention(basics, None, bias=True, out_bias=True)
    if config.flag("multi_query", default=True):
        attention = msgspec.structs.replace(attention, kv_heads=1, fused="blocks")
    else:
        attention = msgspec.structs.replace(attention, fused="heads")
    return attention, Mlp(basics.inner, basics.activation, gated=False, bias=True)


def _layers(config: ConfigReader, layer: Layer, attention: Attention, count: int) -> list[Layer]:
    config.ignore("reorder_and_upcast_attn")
    if not config.flag("scale_attn_by_inverse_layer_idx"):
        return [layer] * count
    scales = [msgspec.structs.replace(attention.scale, factor=str(Fraction(1, i + 1))) for i in range(count)]
    return [
        msgspec.structs.replace(layer, mixer=msgspec.structs.replace(attention, scale=scale))
        for scale in scales
    ]
