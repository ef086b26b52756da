"""Qwen3-Next and Qwen3.5: three layers of gated delta rule to one of gated attention; dense or with experts.

Norm weights count from one, but for the norm inside the delta rule.
"""

from __future__ import annotations

import msgspec

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Attention, Block, Decoder, DeltaNet, Experts, Layer, Mixer, Mlp
from pllm_lang.models.families.qwen_moe import read_experts, sparse_layers
from pllm_lang.models.families.reading import (
    FULL,
    Basics,
    Defaults,
    decoder,
    gated_mlp,
    plain_attention,
    read_basics,
    read_layer_types,
    rms,
)
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text")
LINEAR = "linear_attention"
QWEN3_NEXT = Defaults(151_936, 2048, 5632, 48, 16, 2, 256, 32_768)
QWEN3_5 = Defaults(248_320, 4096, 12_288, 32, 16, 4, 256, 32_768)
QWEN3_5_MOE = Defaults(248_320, 2048, 512, 40, 16, 2, 256, 32_768)


def read(config: ConfigReader) -> Decoder:
    fused = config.values.get("model_type") == "qwen3_next"
    with_experts = config.values.get("model_type") != "qwen3_5_text"
    defaults = QWEN3_NEXT if fused else QWEN3_5_MOE if with_experts else QWEN3_5
    basics = read_basics(config, defaults)
    interval = config.size("full_attention_interval", default=4)
    kinds = read_layer_types(
        config, basics.layers, (FULL, LINEAR), lambda index: LINEAR if (index + 1) % interval else FULL
    )
    mixers: dict[str, Mixer] = {
        FULL: _gated_attention(config, basics),
        LINEAR: _delta_net(config, basics, fused),
    }
    blocks = _blocks(config, basics, fused=fused, with_experts=with_experts)
    norm = rms(basics, offset=1)
    layers: dict[tuple[str, bool], Layer] = {
        (kind, sparse): Layer(kind, mixer, block, mixer_before=norm, block_before=norm)
        for kind, mixer in mixers.items()
        for sparse, block in blocks.items()
    }
    sparse = sparse_layers(config, basics.layers) if fused else [with_experts] * basics.layers
    return decoder(basics, [layers[key] for key in zip(kinds, sparse, strict=True)], norm)


def _gated_attention(config: ConfigReader, basics: Basics) -> Attention:
    config.require("attn_output_gate", default=True, among=(True,))
    bias = config.flag("attention_bias")
    rotary = read_rotary(config, basics.head_dim, partial="0.25")
    attention = plain_attention(basics, rotary, bias=bias, out_bias=bias)
    return msgspec.structs.replace(attention, qk_norm=rms(basics, offset=1), output_gate=True)


def _delta_net(config: ConfigReader, basics: Basics, fused: bool) -> DeltaNet:
    config.require("hidden_act", default="silu", among=("silu",))
    key_heads = config.size("linear_num_key_heads", default=16)
    return DeltaNet(
        key_heads=key_heads,
        value_heads=_multiple(config, "linear_num_value_heads", 32, key_heads),
        key_dim=config.size("linear_key_head_dim", default=128),
        value_dim=config.size("linear_value_head_dim", default=128),
        kernel=config.size("linear_conv_kernel_dim", default=4, least=2),
        norm=rms(basics),
        fused=fused,
    )


def _multiple(config: ConfigReader, key: str, default: int, of: int) -> int:
    value = config.size(key, default=default)
    config.require(key, default=default, among=(value - value % of,))
    return value


def _blocks(config: ConfigReader, basics: Basics, *, fused: bool, with_experts: bool) -> dict[bool, Block]:
    dense = gated_mlp(basics)
    if not with_experts:
        return {False: dense}
    shared = Mlp(config.size("shared_expert_intermediate_size", default=512), basics.activation)
    experts: Experts = read_experts(
        config,
        basics.activation,
        count=512 if fused else 256,
        top_k=10 if fused else 8,
        inner=512,
        normalize=config.flag("norm_topk_prob", default=True) if fused else True,
        shared=shared,
    )
    if fused:
        return {False: dense, True: experts}
    config.require("mlp_only_layers", default=None, among=(None, []))
    return {True: experts}
