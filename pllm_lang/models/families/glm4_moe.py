"""GLM-4.5 and dots.llm1: grouped attention with optional or fixed head norms, DeepSeek-V3's routing."""

from __future__ import annotations

import msgspec

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Attention, Block, Decoder, Experts, Layer, Mlp
from pllm_lang.models.families.deepseek import NAMES, check_groups, sigmoid_router
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
from pllm_lang.models.limits import MAX_EXPERTS
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("glm4_moe", "dots1")
GLM4_MOE = Defaults(151_552, 4096, 10_944, 46, 96, 8, positions=131_072, epsilon="0.00001")
DOTS1 = Defaults(152_064, 4608, 10_944, 62, 32, 32)


def read(config: ConfigReader) -> Decoder:
    glm = config.values.get("model_type") == "glm4_moe"
    basics = read_basics(config, GLM4_MOE if glm else DOTS1)
    bias = config.flag("attention_bias")
    rotary = read_rotary(config, basics.head_dim, partial="0.5" if glm else "")
    attention = plain_attention(basics, rotary, bias=bias, out_bias=bias and not glm)
    if not glm or config.flag("use_qk_norm"):
        attention = msgspec.structs.replace(attention, qk_norm=rms(basics))
    attentions, kinds = (
        ({FULL: attention}, (FULL,) * basics.layers) if glm else _windows(config, basics, attention)
    )
    blocks: dict[bool, Block] = {True: _experts(config, basics, glm), False: gated_mlp(basics)}
    first = config.size("first_k_dense_replace", default=int(glm), least=0)
    norm = rms(basics)
    layers = {
        (kind, sparse): Layer(kind, one, block, mixer_before=norm, block_before=norm)
        for kind, one in attentions.items()
        for sparse, block in blocks.items()
    }
    return decoder(basics, [layers[kind, i >= first] for i, kind in enumerate(kinds)], norm, names=NAMES)


def _windows(
    config: ConfigReader, basics: Basics, attention: Attention
) -> tuple[dict[str, Attention], tuple[str, ...]]:
    """dots.llm1: a window on the layers from `max_window_layers` on."""
    window = read_window(config, 4096)
    first = config.size("max_window_layers", default=62, least=0)
    kinds = read_layer_types(
        config,
        basics.layers,
        (FULL, SLIDING) if window else (FULL,),
        lambda index: SLIDING if window and index >= first else FULL,
    )
    return {FULL: attention, SLIDING: msgspec.structs.replace(attention, window=window)}, kinds


def _experts(config: ConfigReader, basics: Basics, glm: bool) -> Experts:
    count = config.size(
        "n_routed_experts", "num_local_experts", default=128 if glm else None, most=MAX_EXPERTS
    )
    router = msgspec.structs.replace(
        sigmoid_router(config, 1, 1, "1", normalize=glm),
        top_k=config.size("num_experts_per_tok", default=min(8, count) if glm else None, most=count),
    )
    check_groups(config, router, count, router.top_k)
    inner = config.size("moe_intermediate_size", default=1408)
    shared = config.size("n_shared_experts", default=1 if glm else None)
    return Experts(count, inner, basics.activation, router, shared=Mlp(shared * inner, basics.activation))
