"""gpt-oss: attention sinks, every second layer with a window, experts with biases and a clamped gate."""

from __future__ import annotations

import msgspec

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Decoder, Experts, Layer, Router
from pllm_lang.models.families.reading import (
    FULL,
    SLIDING,
    Defaults,
    decoder,
    plain_attention,
    read_basics,
    read_layer_types,
    read_window,
    rms,
)
from pllm_lang.models.limits import MAX_EXPERTS
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("gpt_oss",)
GPT_OSS = Defaults(201_088, 2880, 2880, 36, 64, 8, 64, 131_072, epsilon="0.00001", theta="150000")

NAMES = {
    "router": ".mlp.router",
    "expert_gate": ".mlp.experts.#.gate_proj",
    "expert_up": ".mlp.experts.#.up_proj",
    "expert_down": ".mlp.experts.#.down_proj",
}


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, GPT_OSS)
    config.ignore("initial_context_length", "experts_per_token")
    config.require("hidden_act", default="silu", among=("silu",))
    bias = config.flag("attention_bias", default=True)
    rotary = read_rotary(config, basics.head_dim, theta=GPT_OSS.theta)
    attention = msgspec.structs.replace(plain_attention(basics, rotary, bias=bias, out_bias=bias), sink=True)
    window = read_window(config, 128)
    kinds = read_layer_types(
        config, basics.layers, (FULL, SLIDING), lambda index: FULL if index % 2 else SLIDING
    )
    count = config.size("num_local_experts", "num_experts", default=128, most=MAX_EXPERTS)
    router = Router(
        "softmax", config.size("num_experts_per_tok", default=4, most=count), late=True, bias=True
    )
    experts = Experts(
        count,
        basics.inner,
        config.number("swiglu_alpha", default="1.702"),
        router,
        bias=True,
        clamp=config.number("swiglu_limit", default="7", positive=True),
    )
    norm = rms(basics)
    attentions = {FULL: attention, SLIDING: msgspec.structs.replace(attention, window=window)}
    by_kind = {
        kind: Layer(kind, one, experts, mixer_before=norm, block_before=norm)
        for kind, one in attentions.items()
    }
    return decoder(basics, [by_kind[kind] for kind in kinds], norm, names=NAMES)
