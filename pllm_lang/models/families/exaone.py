"""EXAONE 3.5 (its own key style and weight names; Llama's maths) and EXAONE 4 (post-norms, normed heads,
windows)."""

from __future__ import annotations

import msgspec

from pllm_lang.models.config_reader import ConfigReader, wrong_type
from pllm_lang.models.decoder import Decoder
from pllm_lang.models.errors import LoweringError
from pllm_lang.models.families.olmo2 import NAMES as POST_NORM_NAMES
from pllm_lang.models.families.olmo2 import post_norm_layer
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

MODEL_TYPES = ("exaone", "exaone4")
EXAONE = Defaults(102_400, 4096, 14_336, 32, 32, 8, positions=4096, epsilon="0.00001", theta="500000")
EXAONE4 = Defaults(102_400, 4096, 16_384, 32, 32, 32, epsilon="0.00001")

NAMES = {
    "layer": "transformer.h.*",
    "embedding": "transformer.wte",
    "final_norm": "transformer.ln_f",
    "mixer_before": ".ln_1",
    "block_before": ".ln_2",
    "q": ".attn.attention.q_proj",
    "k": ".attn.attention.k_proj",
    "v": ".attn.attention.v_proj",
    "o": ".attn.attention.out_proj",
    "gate": ".mlp.c_fc_0",
    "up": ".mlp.c_fc_1",
    "down": ".mlp.c_proj",
}
_PATTERN_KINDS = {"L": SLIDING, "G": FULL}


def read(config: ConfigReader) -> Decoder:
    if config.values.get("model_type") == "exaone4":
        return _read_exaone4(config)
    basics = read_basics(
        config,
        EXAONE,
        epsilon=("layer_norm_epsilon", "rms_norm_eps"),
        activation=("activation_function", "hidden_act"),
        layers=("num_layers", "num_hidden_layers"),
    )
    bias = config.flag("attention_bias")
    rotary = read_rotary(config, basics.head_dim, theta=EXAONE.theta)
    attention = plain_attention(basics, rotary, bias=bias, out_bias=bias)
    layer = pre_norm_layer(FULL, attention, gated_mlp(basics, bias=config.flag("mlp_bias")), rms(basics))
    return decoder(basics, (layer,) * basics.layers, rms(basics), names=NAMES)


def _read_exaone4(config: ConfigReader) -> Decoder:
    basics = read_basics(config, EXAONE4)
    window = read_window(config, 4096)
    pattern = _pattern(config)
    kinds = read_layer_types(
        config,
        basics.layers,
        (FULL, SLIDING) if window else (FULL,),
        lambda index: pattern[index % len(pattern)] if window else FULL,
    )
    _check_pattern(config, kinds, pattern)
    rotary = read_rotary(config, basics.head_dim)
    attention = msgspec.structs.replace(plain_attention(basics, rotary), qk_norm=rms(basics))
    full = msgspec.structs.replace(attention, rotary=None) if window else attention
    by_kind = {
        FULL: post_norm_layer(basics, FULL, full),
        SLIDING: post_norm_layer(basics, SLIDING, msgspec.structs.replace(attention, window=window)),
    }
    return decoder(basics, [by_kind[kind] for kind in kinds], rms(basics), names=POST_NORM_NAMES)


def _pattern(config: ConfigReader) -> tuple[str, ...]:
    """`LLLG`, or the distance 4 between full layers."""
    value = config.raw("sliding_window_pattern")
    if isinstance(value, str) and value and set(value) <= set(_PATTERN_KINDS):
        return tuple(_PATTERN_KINDS[letter] for letter in value)
    if isinstance(value, str):
        raise wrong_type(config.dotted("sliding_window_pattern"), "a number, or a word of L and G", value)
    distance = config.size("sliding_window_pattern", default=4, most=64)
    return (SLIDING,) * (distance - 1) + (FULL,)


def _check_pattern(config: ConfigReader, kinds: tuple[str, ...], pattern: tuple[str, ...]) -> None:
    if not (config.has("layer_types") and config.has("sliding_window_pattern")):
        return
    for index, kind in enumerate(kinds):
        if kind != pattern[index % len(pattern)]:
            raise LoweringError(
                "config.conflict",
                f"{config.dotted('layer_types')}[{index}] is {kind!r}, but sliding_window_pattern makes it"
                f" {pattern[index % len(pattern)]!r}",
                key=config.dotted("sliding_window_pattern"),
            )
