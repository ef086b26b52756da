"""Llama 4 (text): chunked attention with rotary positions, every fourth layer full without, experts fed by
their score.

Queries and keys are normed without weights after rotation; in full layers queries grow with the position.
"""

from __future__ import annotations

import msgspec

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Attention, Block, Decoder, Experts, Layer, Mlp, Norm, Router, Temperature
from pllm_lang.models.families.reading import (
    FULL,
    Basics,
    Defaults,
    decoder,
    plain_attention,
    read_basics,
    read_layer_types,
    rms,
)
from pllm_lang.models.families.smollm3 import rotated_layers
from pllm_lang.models.limits import MAX_EXPERTS
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("llama4_text",)
LLAMA4 = Defaults(202_048, 5120, 8192, 48, 40, 8, 128, 131_072, epsilon="0.00001", theta="500000")
CHUNKED = "chunked_attention"

NAMES = {
    "router": ".feed_forward.router",
    "expert_gate": ".feed_forward.experts.#.gate_proj",
    "expert_up": ".feed_forward.experts.#.up_proj",
    "expert_down": ".feed_forward.experts.#.down_proj",
    "shared_gate": ".feed_forward.shared_expert.gate_proj",
    "shared_up": ".feed_forward.shared_expert.up_proj",
    "shared_down": ".feed_forward.shared_expert.down_proj",
    "gate": ".feed_forward.gate_proj",
    "up": ".feed_forward.up_proj",
    "down": ".feed_forward.down_proj",
}


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, LLAMA4)
    config.ignore("router_jitter_noise", "for_llm_compressor")
    rotated = rotated_layers(config, basics.layers)
    explicit_null = "attention_chunk_size" in config.values and not config.has("attention_chunk_size")
    chunk = 0 if explicit_null else config.size("attention_chunk_size", default=8192)
    kinds = read_layer_types(
        config,
        basics.layers,
        (FULL, CHUNKED),
        lambda index: CHUNKED if rotated[index] and chunk else FULL,
    )
    attentions = _attentions(config, basics, chunk)
    sparse = _sparse(config, basics.layers)
    blocks = _blocks(config, basics)
    norm = rms(basics)
    made: dict[tuple[str, bool, bool], Layer] = {}
    for key in set(zip(kinds, rotated, sparse, strict=True)):
        attention = attentions[key[0], key[1]]
        made[key] = Layer(key[0], attention, blocks[key[2]], mixer_before=norm, block_before=norm)
    layers = [made[key] for key in zip(kinds, rotated, sparse, strict=True)]
    return decoder(basics, layers, norm, names=NAMES)


def _attentions(config: ConfigReader, basics: Basics, chunk: int) -> dict[tuple[str, bool], Attention]:
    bias = config.flag("attention_bias")
    rotary = read_rotary(config, basics.head_dim, theta=LLAMA4.theta, pairing="interleaved")
    unit = Norm("rms", basics.epsilon, weight=False) if config.flag("use_qk_norm", default=True) else None
    turned = msgspec.structs.replace(
        plain_attention(basics, rotary, bias=bias, out_bias=bias), qk_norm=unit, qk_norm_after_rotary=True
    )
    scale, floor = config.number("attn_scale", default="0.1"), config.size("floor_scale", default=8192)
    tuned = config.flag("attn_temperature_tuning", default=True)
    plain = msgspec.structs.replace(
        plain_attention(basics, None, bias=bias, out_bias=bias),
        temperature=Temperature(scale, floor, 1) if tuned else None,
    )
    chunked = {
        True: msgspec.structs.replace(turned, chunk=chunk),
        False: msgspec.structs.replace(plain, chunk=chunk),
    }
    return {
        (FULL, True): turned,
        (FULL, False): plain,
        (CHUNKED, True): chunked[True],
        (CHUNKED, False): chunked[False],
    }


def _sparse(config: ConfigReader, count: int) -> list[bool]:
    step = config.size("interleave_moe_layer_step", default=1)
    stated = config.sizes("moe_layers")
    return [index in stated if stated is not None else (index + 1) % step == 0 for index in range(count)]


def _blocks(config: ConfigReader, basics: Basics) -> dict[bool, Block]:
    count = config.size("num_local_experts", "num_experts", default=16, most=MAX_EXPERTS)
    router = Router("sigmoid", config.size("num_experts_per_tok", default=1, most=count), late=True)
    shared = Mlp(basics.inner, basics.activation)
    experts = Experts(count, basics.inner, basics.activation, router, scale_input=True, shared=shared)
    return {
        True: experts,
        False: Mlp(config.size("intermediate_size_mlp", default=16_384), basics.activation),
    }
