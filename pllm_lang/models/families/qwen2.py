"""Qwen2, Qwen2.5 and MiMo-7B: Llama with a bias on q, k and v, and a window on the upper layers where it is
switched on.

The bias is no key of the config: every Qwen2 layer has it.
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
    pre_norm_layer,
    read_basics,
    read_layer_types,
    read_window,
    rms,
)
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("qwen2", "mimo", "qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text")
QWEN2 = Defaults(151_936, 4096, 22_016, 32, 32, 32, positions=32_768)
QWEN2_VL = Defaults(152_064, 8192, 29_568, 80, 64, 8, positions=32_768, epsilon="0.00001", theta="1000000")


def read(config: ConfigReader) -> Decoder:
    multimodal = str(config.values.get("model_type")).startswith(("qwen2_vl", "qwen2_5_vl"))
    defaults = QWEN2_VL if multimodal else QWEN2
    basics = read_basics(config, defaults)
    if not config.flag("attention_bias", default=True):
        config.without_effect("attention_bias", "q, k and v of this family always have a bias, o never")
    config.ignore("use_mrope")
    attention = plain_attention(basics, read_rotary(config, basics.head_dim, theta=defaults.theta), bias=True)
    layers = windowed_layers(config, basics, attention, max_window_layers=80 if multimodal else 28)
    return decoder(basics, layers, rms(basics))


def windowed_layers(
    config: ConfigReader, basics: Basics, attention: Attention, *, max_window_layers: int
) -> list[Layer]:
    """Layers whose window, where `use_sliding_window` is true, starts at layer `max_window_layers`."""
    window = switched_window(config)
    first = config.size("max_window_layers", default=max_window_layers, least=0)
    kinds = read_layer_types(
        config,
        basics.layers,
        (FULL, SLIDING) if window else (FULL,),
        lambda index: SLIDING if window and index >= first else FULL,
    )
    windowed = msgspec.structs.replace(attention, window=window)
    by_kind = {
        FULL: pre_norm_layer(FULL, attention, gated_mlp(basics), rms(basics)),
        SLIDING: pre_norm_layer(SLIDING, windowed, gated_mlp(basics), rms(basics)),
    }
    return [by_kind[kind] for kind in kinds]


def switched_window(config: ConfigReader) -> int:
    """The window if it is switched on. One that is not said to be off, but is not on either, is worth a
    word."""
    if config.flag("use_sliding_window"):
        return read_window(config, 4096)
    if "use_sliding_window" not in config.values:
        config.without_effect("sliding_window", "use_sliding_window is not set, and means false")
    config.ignore("sliding_window")
    return 0
