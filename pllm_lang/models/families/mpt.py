"""MPT: linear position biases (ALiBi), one fused projection, layer norms without biases."""

from __future__ import annotations

from fractions import Fraction

import msgspec

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Decoder, Mlp, Norm, Scale
from pllm_lang.models.errors import LoweringError
from pllm_lang.models.families.reading import (
    FULL,
    Defaults,
    decoder,
    plain_attention,
    pre_norm_layer,
    read_basics,
)

MODEL_TYPES = ("mpt",)
MPT = Defaults(50_368, 2048, 8192, 24, 16, positions=2048, activation="gelu", epsilon="0.00001", tied=True)

NAMES = {
    "layer": "transformer.blocks.*",
    "embedding": "transformer.wte",
    "final_norm": "transformer.norm_f",
    "mixer_before": ".norm_1",
    "block_before": ".norm_2",
    "qkv": ".attn.Wqkv",
    "o": ".attn.out_proj",
    "up": ".ffn.up_proj",
    "down": ".ffn.down_proj",
}


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(
        config,
        MPT,
        epsilon=("layer_norm_epsilon",),
        activation=(),
        hidden=("d_model", "hidden_size"),
        inner=(),
        layers=("n_layers", "num_hidden_layers"),
        heads=("n_heads", "num_attention_heads"),
        kv_heads=(),
        positions=("max_seq_len", "max_position_embeddings"),
        head_dim=(),
    )
    basics = msgspec.structs.replace(basics, inner=_inner(config, basics.hidden))
    config.require("no_bias", default=True, among=(True,))
    config.require("logit_scale", default=None, among=(None,))
    config.require(
        "norm_type", default="low_precision_layernorm", among=("low_precision_layernorm", "layernorm")
    )
    config.ignore("learned_pos_emb", "embedding_fraction", "resid_pdrop")
    attention = msgspec.structs.replace(plain_attention(basics, None), fused="blocks")
    attention = msgspec.structs.replace(attention, **_attention_settings(config))
    norm = Norm("layer", basics.epsilon)
    layer = pre_norm_layer(FULL, attention, Mlp(basics.inner, "gelu", gated=False), norm)
    return decoder(basics, (layer,) * basics.layers, norm, names=NAMES)


def _inner(config: ConfigReader, hidden: int) -> int:
    inner = Fraction(config.number("expansion_ratio", default="4", positive=True)) * hidden
    if inner.denominator != 1:
        raise LoweringError(
            "config.range", f"expansion_ratio makes the inner size {inner}", key="expansion_ratio"
        )
    return inner.numerator


def _attention_settings(config: ConfigReader) -> dict[str, object]:
    section = config.section("attn_config")
    if section is None:
        return {"alibi": "8"}
    section.require("attn_type", default="multihead_attention", among=("multihead_attention",))
    section.require("alibi", default=True, among=(True,))
    for key in ("prefix_lm", "qk_ln", "attn_uses_sequence_id"):
        section.require(key, default=False, among=(False,))
    section.ignore("attn_impl", "attn_pdrop")
    settings: dict[str, object] = {
        "alibi": section.number("alibi_bias_max", default="8", positive=True),
        "clip": section.optional_number("clip_qkv", positive=True) or "",
    }
    scale = section.optional_number("softmax_scale", positive=True)
    section.finish()
    return settings if scale is None else settings | {"scale": Scale(scale)}
