"""Granite, dense and with experts: Llama with multipliers on embedding, attention, residuals and logits."""

from __future__ import annotations

from fractions import Fraction

import msgspec

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Block, Decoder, Experts, Layer, Router, Scale
from pllm_lang.models.families.reading import (
    FULL,
    Basics,
    Defaults,
    decoder,
    gated_mlp,
    multiplier,
    plain_attention,
    read_basics,
    rms,
)
from pllm_lang.models.limits import MAX_EXPERTS
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("granite", "granitemoe")
GRANITE = Defaults(32_000, 4096, 11_008, 32, 32)

EXPERT_NAMES = {
    "router": ".block_sparse_moe.router.layer",
    "expert_gate": ".block_sparse_moe.experts.#.gate_proj",
    "expert_up": ".block_sparse_moe.experts.#.up_proj",
    "expert_down": ".block_sparse_moe.experts.#.down_proj",
}


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, GRANITE)
    bias = config.flag("attention_bias")
    attention = plain_attention(basics, read_rotary(config, basics.head_dim), bias=bias, out_bias=bias)
    attention = msgspec.structs.replace(
        attention, scale=Scale(config.number("attention_multiplier", default="1", positive=True))
    )
    layer = Layer(
        FULL,
        attention,
        _block(config, basics),
        mixer_before=rms(basics),
        block_before=rms(basics),
        residual_scale=multiplier(config.number("residual_multiplier", default="1")),
    )
    divisor = Fraction(config.number("logits_scaling", default="1", positive=True))
    return decoder(
        basics,
        (layer,) * basics.layers,
        rms(basics),
        names=EXPERT_NAMES,
        embedding_scale=multiplier(config.number("embedding_multiplier", default="1")),
        logit_scale=multiplier(str(1 / divisor)),
    )


def _block(config: ConfigReader, basics: Basics) -> Block:
    if config.values.get("model_type") == "granite":
        return gated_mlp(basics, bias=config.flag("mlp_bias"))
    count = config.size("num_local_experts", default=8, most=MAX_EXPERTS)
    router = Router(
        "softmax", config.size("num_experts_per_tok", default=min(2, count), most=count), late=True
    )
    return Experts(count, basics.inner, basics.activation, router)
