"""Mixtral: Mistral with a mixture of experts in every layer."""

from __future__ import annotations

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Decoder, Experts, Layer, Router
from pllm_lang.models.families.reading import (
    FULL,
    SLIDING,
    Defaults,
    decoder,
    plain_attention,
    read_basics,
    read_window,
    rms,
)
from pllm_lang.models.limits import MAX_EXPERTS
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("mixtral",)
MIXTRAL = Defaults(32_000, 4096, 14_336, 32, 32, 8, positions=131_072, epsilon="0.00001", theta="1000000")

NAMES = {
    "router": ".block_sparse_moe.gate",
    "correction": ".block_sparse_moe.e_score_correction_bias",
    "expert_gate": ".block_sparse_moe.experts.#.w1",
    "expert_up": ".block_sparse_moe.experts.#.w3",
    "expert_down": ".block_sparse_moe.experts.#.w2",
}


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, MIXTRAL)
    config.ignore("router_jitter_noise")
    window = read_window(config)
    attention = plain_attention(
        basics, read_rotary(config, basics.head_dim, theta=MIXTRAL.theta), window=window
    )
    count = config.size("num_local_experts", "num_experts", default=8, most=MAX_EXPERTS)
    router = Router("softmax", config.size("num_experts_per_tok", default=2, most=count), normalize=True)
    experts = Experts(count, basics.inner, basics.activation, router)
    norm = rms(basics)
    layer = Layer(SLIDING if window else FULL, attention, experts, mixer_before=norm, block_before=norm)
    return decoder(basics, (layer,) * basics.layers, norm, names=NAMES)
