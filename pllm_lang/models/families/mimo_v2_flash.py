"""MiMo-V2-Flash: windowed layers with sinks and twice the key/value heads, values narrower than keys, sigmoid
routing."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from pllm_lang.models.config_reader import ConfigReader, unsupported
from pllm_lang.models.decoder import Attention, Block, Decoder, Experts, Layer, Rotary
from pllm_lang.models.errors import LoweringError
from pllm_lang.models.families.deepseek import check_groups, sigmoid_router
from pllm_lang.models.families.reading import (
    FULL,
    SLIDING,
    Basics,
    Defaults,
    decoder,
    gated_mlp,
    plain_attention,
    read_basics,
    rms,
)
from pllm_lang.models.limits import MAX_EXPERTS
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("mimo_v2_flash",)
MIMO_V2 = Defaults(152_576, 4096, 16_384, 48, 64, 4, 192, 131_072, epsilon="0.00001", theta="5000000")
NAMES = {"sink": ".self_attn.attention_sink_bias"}


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, MIMO_V2, epsilon=("rms_norm_eps", "layernorm_epsilon"))
    kinds = _pattern(
        config, "hybrid_layer_pattern", basics.layers, lambda i: int(i != 0 and (i + 1) % 6 != 0)
    )
    sparse = _pattern(config, "moe_layer_freq", basics.layers, lambda index: int(index > 0))
    attentions = {0: _attention(config, basics), 1: _windowed(config, basics)}
    blocks: dict[int, Block] = {0: gated_mlp(basics), 1: _experts(config, basics)}
    norm = rms(basics)
    made: dict[tuple[int, int], Layer] = {}
    for window, with_experts in set(zip(kinds, sparse, strict=True)):
        made[window, with_experts] = Layer(
            SLIDING if window else FULL,
            attentions[window],
            blocks[with_experts],
            mixer_before=norm,
            block_before=norm,
        )
    return decoder(basics, [made[key] for key in zip(kinds, sparse, strict=True)], norm, names=NAMES)


def _pattern(config: ConfigReader, key: str, count: int, rule: Callable[[int], int]) -> tuple[int, ...]:
    stated = config.sizes(key)
    if stated is None:
        return tuple(rule(index) for index in range(count))
    if len(stated) != count or set(stated) - {0, 1}:
        raise LoweringError(
            "config.range",
            f"{config.dotted(key)} must have a 0 or 1 for each of the {count} layers",
            key=config.dotted(key),
        )
    return stated


def _attention(config: ConfigReader, basics: Basics) -> Attention:
    config.require("add_full_attention_sink_bias", default=False, among=(False,))
    rotary = read_rotary(config, basics.head_dim, theta=MIMO_V2.theta, partial="0.334", layer_type=FULL)
    _require_unscaled(config, rotary)
    return msgspec.structs.replace(
        plain_attention(basics, rotary, bias=config.flag("attention_bias")),
        value_dim=config.size("v_head_dim", default=128),
        value_scale=_value_scale(config),
    )


def _require_unscaled(config: ConfigReader, rotary: Rotary) -> None:
    if rotary.kind != "default":
        raise unsupported(config.name_of("rope_parameters", "rope_scaling"), rotary.kind, ("default",))


def _value_scale(config: ConfigReader) -> str:
    null = "attention_value_scale" in config.values and not config.has("attention_value_scale")
    return "1" if null else config.number("attention_value_scale", default="0.707")


def _windowed(config: ConfigReader, basics: Basics) -> Attention:
    """`sliding_window_size` counts the positions before the query's own, as the reference implementation
    does."""
    narrow = msgspec.structs.replace(
        basics,
        heads=config.size("swa_num_attention_heads", default=basics.heads),
        kv_heads=config.size("swa_num_key_value_heads", default=2 * basics.kv_heads),
        head_dim=config.size("swa_head_dim", default=basics.head_dim),
    )
    rotary = read_rotary(
        config,
        narrow.head_dim,
        theta="10000",
        partial="0.334",
        layer_type=SLIDING,
        theta_keys=("swa_rope_theta",),
        scaled=False,
    )
    _require_unscaled(config, rotary)
    past = config.optional_size("sliding_window_size")
    window = config.size("sliding_window", "attention_chunk_size", default=129)
    return msgspec.structs.replace(
        plain_attention(narrow, rotary, bias=config.flag("attention_bias")),
        value_dim=config.size("swa_v_head_dim", "v_head_dim", default=128),
        value_scale=_value_scale(config),
        window=window if past is None else past + 1,
        sink=config.flag("add_swa_attention_sink_bias", default=True),
    )


def _experts(config: ConfigReader, basics: Basics) -> Experts:
    config.require("scoring_func", default="sigmoid", among=("sigmoid",))
    config.require("topk_method", default="noaux_tc", among=("noaux_tc",))
    config.require("n_shared_experts", default=None, among=(None, 0))
    count = config.size("n_routed_experts", "num_local_experts", default=256, most=MAX_EXPERTS)
    router = msgspec.structs.replace(
        sigmoid_router(config, 1, 1, "1", normalize=True),
        top_k=config.size("num_experts_per_tok", default=8, most=count),
    )
    check_groups(config, router, count, router.top_k)
    return Experts(count, config.size("moe_intermediate_size", default=2048), basics.activation, router)
