"""SmolLM3: Llama of which every fourth layer has no rotary positions, and, where switched on, a window
there."""

from __future__ import annotations

import msgspec

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Decoder, Layer
from pllm_lang.models.errors import LoweringError
from pllm_lang.models.families.qwen2 import switched_window
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
    rms,
)
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("smollm3",)
SMOLLM3 = Defaults(128_256, 2048, 11_008, 36, 16, 4, positions=32_768, theta="2000000", tied=True)


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, SMOLLM3)
    bias = config.flag("attention_bias")
    rotary = read_rotary(config, basics.head_dim, theta=SMOLLM3.theta)
    mlp = gated_mlp(basics, bias=config.flag("mlp_bias"))
    rotated = rotated_layers(config, basics.layers)
    window = switched_window(config)
    config.ignore("max_window_layers")
    kinds = read_layer_types(
        config,
        basics.layers,
        (FULL, SLIDING) if window else (FULL,),
        lambda index: SLIDING if window and not rotated[index] else FULL,
    )
    made: dict[tuple[str, bool], Layer] = {}
    for kind, turn in set(zip(kinds, rotated, strict=True)):
        attention = plain_attention(basics, rotary if turn else None, bias=bias, out_bias=bias)
        attention = msgspec.structs.replace(attention, window=window if kind == SLIDING else 0)
        made[kind, turn] = pre_norm_layer(kind, attention, mlp, rms(basics))
    return decoder(basics, [made[key] for key in zip(kinds, rotated, strict=True)], rms(basics))


def rotated_layers(config: ConfigReader, count: int) -> tuple[bool, ...]:
    """Which layers have rotary positions: 1 in `no_rope_layers`, despite its name, means that a layer has
    them."""
    interval = config.size("no_rope_layer_interval", default=4)
    stated = config.sizes("no_rope_layers")
    if not stated:
        return tuple((index + 1) % interval != 0 for index in range(count))
    if len(stated) < count or set(stated) - {0, 1}:
        raise LoweringError(
            "config.range",
            f"{config.dotted('no_rope_layers')} must have a 0 or 1 for each of the {count} layers",
            key=config.dotted("no_rope_layers"),
        )
    return tuple(one == 1 for one in stated[:count])
