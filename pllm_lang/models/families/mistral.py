"""Mistral and Ministral: Llama with a sliding window over every layer, or over those that `layer_types`
names."""

from __future__ import annotations

import msgspec

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Decoder
from pllm_lang.models.families.reading import (
    FULL,
    SLIDING,
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

MODEL_TYPES = ("mistral", "ministral")
MISTRAL = Defaults(32_000, 4096, 14_336, 32, 32, 8, positions=131_072)


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, MISTRAL)
    attention = plain_attention(basics, read_rotary(config, basics.head_dim))
    window = read_window(config, 4096)
    kind = SLIDING if window else FULL
    mixed = config.values.get("model_type") == "ministral" and window
    kinds = read_layer_types(config, basics.layers, (FULL, SLIDING) if mixed else (kind,), lambda _: kind)
    windowed = msgspec.structs.replace(attention, window=window)
    layers = {
        FULL: pre_norm_layer(FULL, attention, gated_mlp(basics), rms(basics)),
        SLIDING: pre_norm_layer(SLIDING, windowed, gated_mlp(basics), rms(basics)),
    }
    return decoder(basics, [layers[one] for one in kinds], rms(basics))
