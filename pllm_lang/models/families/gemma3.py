"""Gemma 3 (text): five windowed layers to one full one, each kind with rotary positions of its own, normed
heads."""

from __future__ import annotations

import msgspec

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Decoder
from pllm_lang.models.families.gemma import TANH_GELU, root_of_hidden
from pllm_lang.models.families.gemma2 import NAMES, sandwich, scaled_attention, softcap
from pllm_lang.models.families.reading import (
    FULL,
    SLIDING,
    Defaults,
    decoder,
    read_basics,
    read_layer_types,
    read_window,
    require_causal,
    rms,
)
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("gemma3_text",)
GEMMA3 = Defaults(262_208, 2304, 9216, 26, 8, 4, 256, 131_072, TANH_GELU, tied=True)


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, GEMMA3, activation=("hidden_activation", "hidden_act"))
    require_causal(config)
    config.without_effect("attn_logit_softcapping", "Gemma 3 does not cap its scores")
    attention = scaled_attention(config, basics)
    attention = msgspec.structs.replace(attention, qk_norm=rms(basics, offset=1))
    full = read_rotary(config, basics.head_dim, theta="1000000", layer_type=FULL)
    sliding = read_rotary(
        config,
        basics.head_dim,
        theta="10000",
        layer_type=SLIDING,
        theta_keys=("rope_local_base_freq",),
        scaled=False,
    )
    window = read_window(config, 4096)
    pattern = config.size("sliding_window_pattern", "_sliding_window_pattern", default=6)
    kinds = read_layer_types(
        config, basics.layers, (FULL, SLIDING), lambda index: SLIDING if (index + 1) % pattern else FULL
    )
    by_kind = {
        FULL: sandwich(basics, FULL, msgspec.structs.replace(attention, rotary=full)),
        SLIDING: sandwich(basics, SLIDING, msgspec.structs.replace(attention, rotary=sliding, window=window)),
    }
    _note_unused_positions(config, kinds)
    return decoder(
        basics,
        [by_kind[kind] for kind in kinds],
        rms(basics, offset=1),
        names=NAMES,
        embedding_scale=root_of_hidden(basics),
        logit_softcap=softcap(config, "final_logit_softcapping", ""),
    )


def _note_unused_positions(config: ConfigReader, kinds: tuple[str, ...]) -> None:
    positions = config.section("rope_parameters")
    if positions is None:
        return
    for kind in (FULL, SLIDING):
        if positions.has(kind) and kind not in kinds:
            positions.without_effect(kind, "no layer of the model is of that kind")
