"""Qwen2-MoE, Qwen3-MoE and the text decoder of Qwen3-VL-MoE: Qwen2 or Qwen3 attention, experts in most
layers."""

from __future__ import annotations

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Attention, Block, Decoder, Experts, Layer, Mlp, Router
from pllm_lang.models.errors import LoweringError
from pllm_lang.models.families.qwen2 import switched_window
from pllm_lang.models.families.qwen3 import normed_attention
from pllm_lang.models.families.reading import (
    FULL,
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

MODEL_TYPES = ("qwen2_moe", "qwen3_moe", "qwen3_vl_moe_text")
QWEN2_MOE = Defaults(151_936, 2048, 5632, 24, 16, 16, positions=32_768)
QWEN3_MOE = Defaults(151_936, 2048, 6144, 24, 32, 4, positions=32_768)
QWEN3_VL_MOE = Defaults(151_936, 2048, 5632, 24, 16, 16, positions=128_000, theta="500000", tied=True)


def read(config: ConfigReader) -> Decoder:
    match config.values.get("model_type"):
        case "qwen2_moe":
            return _read_qwen2_moe(config)
        case "qwen3_moe":
            defaults, count, top_k, inner = QWEN3_MOE, 128, 8, 768
        case _:
            defaults, count, top_k, inner = QWEN3_VL_MOE, 60, 4, 1408
    basics = read_basics(config, defaults)
    attention = normed_attention(config, basics, defaults.theta)
    _refuse_window(config)
    normalize = config.flag("norm_topk_prob", default=defaults is QWEN3_VL_MOE)
    experts = read_experts(
        config, basics.activation, count=count, top_k=top_k, inner=inner, normalize=normalize
    )
    return _decoder(config, basics, attention, experts)


def _read_qwen2_moe(config: ConfigReader) -> Decoder:
    basics = read_basics(config, QWEN2_MOE)
    bias = config.flag("qkv_bias", default=True)
    attention = plain_attention(basics, read_rotary(config, basics.head_dim), bias=bias)
    _refuse_window(config)
    shared = Mlp(config.size("shared_expert_intermediate_size", default=5632), basics.activation)
    experts = read_experts(
        config,
        basics.activation,
        count=60,
        top_k=4,
        inner=1408,
        normalize=config.flag("norm_topk_prob"),
        shared=shared,
    )
    return _decoder(config, basics, attention, experts)


def read_experts(
    config: ConfigReader,
    activation: str,
    *,
    count: int,
    top_k: int,
    inner: int,
    normalize: bool,
    shared: Mlp | None = None,
) -> Experts:
    """Softmax routing; a shared expert is weighed by a gate of its own. The numbers are the class's
    defaults."""
    total = config.size("num_experts", "num_local_experts", default=count, most=MAX_EXPERTS)
    router = Router(
        "softmax", config.size("num_experts_per_tok", default=top_k, most=total), normalize=normalize
    )
    return Experts(
        total,
        config.size("moe_intermediate_size", default=inner),
        activation,
        router,
        shared=shared,
        shared_gate=shared is not None,
    )


def sparse_layers(config: ConfigReader, count: int) -> list[bool]:
    """Which layers have experts: every `decoder_sparse_step`-th, but for those in `mlp_only_layers`."""
    step = config.size("decoder_sparse_step", default=1)
    dense = config.sizes("mlp_only_layers") or ()
    return [index not in dense and (index + 1) % step == 0 for index in range(count)]


def _decoder(config: ConfigReader, basics: Basics, attention: Attention, experts: Experts) -> Decoder:
    norm = rms(basics)
    blocks: dict[bool, Block] = {True: experts, False: gated_mlp(basics)}
    by_kind = {
        sparse: Layer(FULL, attention, block, mixer_before=norm, block_before=norm)
        for sparse, block in blocks.items()
    }
    return decoder(basics, [by_kind[sparse] for sparse in sparse_layers(config, basics.layers)], norm)


def _refuse_window(config: ConfigReader) -> None:
    config.ignore("max_window_layers")
    if switched_window(config):
        raise LoweringError(
            "config.unsupported_value",
            f"{config.dotted('use_sliding_window')} is true: windows of this family are not represented",
            key=config.dotted("use_sliding_window"),
        )
