"""Cohere Command and Command R7B (`cohere2`): one layer norm without bias feeds attention and block side by
side, rotary positions in interleaved pairs, scaled logits. Cohere 2 has windows, and rotary positions only
there."""

from __future__ import annotations

import msgspec

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Attention, Decoder, Layer
from pllm_lang.models.families.reading import (
    FULL,
    SLIDING,
    Defaults,
    decoder,
    gated_mlp,
    layer_norm,
    multiplier,
    plain_attention,
    read_basics,
    read_layer_types,
    read_window,
)
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("cohere", "cohere2")
COHERE = Defaults(256_000, 8192, 22_528, 40, 64, positions=8192, epsilon="0.00001", theta="500000", tied=True)


def read(config: ConfigReader) -> Decoder:
    second = config.values.get("model_type") == "cohere2"
    basics = read_basics(config, COHERE, epsilon=("layer_norm_eps",))
    bias = config.flag("attention_bias")
    theta = "10000" if second else COHERE.theta
    rotary = read_rotary(config, basics.head_dim, theta=theta, pairing="interleaved")
    norm = layer_norm(basics, bias=False)
    attention = plain_attention(basics, rotary, bias=bias, out_bias=bias)
    if not second and config.flag("use_qk_norm"):
        attention = msgspec.structs.replace(attention, qk_norm=norm, qk_norm_over="each_head")
    attentions, kinds = (
        _windows(config, attention, basics.layers) if second else ({FULL: attention}, (FULL,) * basics.layers)
    )
    by_kind = {
        kind: Layer(kind, one, gated_mlp(basics), mixer_before=norm, parallel=True)
        for kind, one in attentions.items()
    }
    return decoder(
        basics,
        [by_kind[kind] for kind in kinds],
        norm,
        logit_scale=multiplier(config.number("logit_scale", default="0.0625")),
    )


def _windows(
    config: ConfigReader, attention: Attention, count: int
) -> tuple[dict[str, Attention], tuple[str, ...]]:
    window = read_window(config, 4096)
    pattern = config.size("sliding_window_pattern", default=4)
    kinds = read_layer_types(
        config, count, (FULL, SLIDING), lambda index: SLIDING if (index + 1) % pattern else FULL
    )
    full = msgspec.structs.replace(attention, rotary=None)
    return {FULL: full, SLIDING: msgspec.structs.replace(attention, window=window)}, kinds
