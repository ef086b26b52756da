"""Gemma 2: norms around mixer and block, soft caps on scores and logits, every second layer with a window."""

from __future__ import annotations

import msgspec

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Attention, Decoder, Layer, Scale
from pllm_lang.models.families.gemma import TANH_GELU, root_of_hidden
from pllm_lang.models.families.reading import (
    FULL,
    SLIDING,
    Basics,
    Defaults,
    decoder,
    gated_mlp,
    plain_attention,
    read_basics,
    read_layer_types,
    read_window,
    require_causal,
    rms,
)
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("gemma2",)
GEMMA2 = Defaults(256_000, 2304, 9216, 26, 8, 4, 256, 8192, TANH_GELU, tied=True)

NAMES = {
    "mixer_after": ".post_attention_layernorm",
    "block_before": ".pre_feedforward_layernorm",
    "block_after": ".post_feedforward_layernorm",
}


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, GEMMA2, activation=("hidden_activation", "hidden_act"))
    require_causal(config)
    attention = msgspec.structs.replace(
        scaled_attention(config, basics),
        rotary=read_rotary(config, basics.head_dim),
        softcap=softcap(config, "attn_logit_softcapping", "50"),
    )
    window = read_window(config, 4096)
    windowed = msgspec.structs.replace(attention, window=window)
    kinds = read_layer_types(
        config, basics.layers, (FULL, SLIDING), lambda index: FULL if index % 2 else SLIDING
    )
    by_kind = {FULL: sandwich(basics, FULL, attention), SLIDING: sandwich(basics, SLIDING, windowed)}
    return decoder(
        basics,
        [by_kind[kind] for kind in kinds],
        rms(basics, offset=1),
        names=NAMES,
        embedding_scale=root_of_hidden(basics),
        logit_softcap=softcap(config, "final_logit_softcapping", "30"),
    )


def scaled_attention(config: ConfigReader, basics: Basics) -> Attention:
    """Attention scaled by the root of `query_pre_attn_scalar`."""
    bias = config.flag("attention_bias")
    root = config.number("query_pre_attn_scalar", default="256", positive=True)
    return msgspec.structs.replace(
        plain_attention(basics, None, bias=bias, out_bias=bias),
        scale=Scale(root=root),
    )


def softcap(config: ConfigReader, key: str, default: str) -> str:
    """The cap, or none where the key is null."""
    absent = key not in config.values
    return config.optional_number(key, positive=True) or (default if absent else "")


def sandwich(basics: Basics, kind: str, attention: Attention) -> Layer:
    norm = rms(basics, offset=1)
    return Layer(kind, attention, gated_mlp(basics), norm, norm, norm, norm)
