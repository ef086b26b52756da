"""OLMo 2 and OLMo 3: norms after mixer and block only, and over all query and all key features; OLMo 3 has
windows.

In OLMo 3 rotary scaling concerns the full layers only.
"""

from __future__ import annotations

import msgspec

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Attention, Decoder, Layer
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
    rms,
)
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("olmo2", "olmo3")
OLMO2 = Defaults(50_304, 4096, 11_008, 32, 32, epsilon="0.00001")
OLMO3_THETA = "500000"

NAMES = {"mixer_after": ".post_attention_layernorm", "block_after": ".post_feedforward_layernorm"}


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, OLMO2)
    bias = config.flag("attention_bias")
    attention = msgspec.structs.replace(
        plain_attention(basics, None, bias=bias, out_bias=bias),
        qk_norm=rms(basics),
        qk_norm_over="projection",
    )
    if config.values.get("model_type") == "olmo2":
        rotary = read_rotary(config, basics.head_dim)
        layer = post_norm_layer(basics, FULL, msgspec.structs.replace(attention, rotary=rotary))
        return decoder(basics, (layer,) * basics.layers, rms(basics), names=NAMES)
    return _read_olmo3(config, basics, attention)


def _read_olmo3(config: ConfigReader, basics: Basics, attention: Attention) -> Decoder:
    kinds = read_layer_types(
        config, basics.layers, (FULL, SLIDING), lambda index: SLIDING if (index + 1) % 4 else FULL
    )
    full = read_rotary(config, basics.head_dim, theta=OLMO3_THETA, layer_type=FULL)
    sliding = read_rotary(config, basics.head_dim, theta=OLMO3_THETA, layer_type=SLIDING, scaled=False)
    window = read_window(config, 4096)
    by_kind = {
        FULL: post_norm_layer(basics, FULL, msgspec.structs.replace(attention, rotary=full)),
        SLIDING: post_norm_layer(
            basics, SLIDING, msgspec.structs.replace(attention, rotary=sliding, window=window)
        ),
    }
    return decoder(basics, [by_kind[kind] for kind in kinds], rms(basics), names=NAMES)


def post_norm_layer(basics: Basics, kind: str, attention: Attention) -> Layer:
    return Layer(kind, attention, gated_mlp(basics), mixer_after=rms(basics), block_after=rms(basics))
