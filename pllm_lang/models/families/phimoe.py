"""Phi-3.5-MoE: layer norms, biases on attention and head, and SparseMixer routing (arXiv 2409.12136) of two
experts."""

from __future__ import annotations

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Decoder, Experts, Layer, Router
from pllm_lang.models.families.mixtral import NAMES
from pllm_lang.models.families.reading import (
    FULL,
    SLIDING,
    Defaults,
    decoder,
    layer_norm,
    plain_attention,
    read_basics,
    read_window,
)
from pllm_lang.models.limits import MAX_EXPERTS
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("phimoe",)
PHIMOE = Defaults(32_064, 4096, 6400, 32, 32, 8, positions=131_072, epsilon="0.00001", theta="1000000")


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, PHIMOE)
    config.ignore("original_max_position_embeddings")
    window = read_window(config)
    rotary = read_rotary(config, basics.head_dim, theta=PHIMOE.theta)
    bias = config.flag("attention_bias")
    attention = plain_attention(basics, rotary, bias=bias, out_bias=bias, window=window)
    config.require("num_experts_per_tok", default=2, among=(2,))
    count = config.size("num_local_experts", "num_experts", default=16, least=2, most=MAX_EXPERTS)
    router = Router("sparsemixer", 2, jitter=config.number("router_jitter_noise", default="0.01"))
    experts = Experts(count, basics.inner, basics.activation, router)
    norm = layer_norm(basics)
    layer = Layer(SLIDING if window else FULL, attention, experts, mixer_before=norm, block_before=norm)
    return decoder(basics, (layer,) * basics.layers, norm, names=NAMES, head_bias=config.flag("lm_head_bias"))
