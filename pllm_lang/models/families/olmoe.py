"""OLMoE: norms over all query and all key features, softmax-routed experts, clipped projections."""

from __future__ import annotations

import msgspec

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Decoder, Experts, Layer, Router
from pllm_lang.models.errors import LoweringError
from pllm_lang.models.families.reading import FULL, Defaults, decoder, plain_attention, read_basics, rms
from pllm_lang.models.limits import MAX_EXPERTS
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("olmoe",)
OLMOE = Defaults(50_304, 2048, 2048, 16, 16, positions=4096, epsilon="0.00001")


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, OLMOE)
    if config.optional_number("clip_qkv") is not None:
        raise LoweringError(
            "config.unsupported_value",
            f"{config.dotted('clip_qkv')} is set: clipping after the norms is not represented",
            key=config.dotted("clip_qkv"),
        )
    bias = config.flag("attention_bias")
    attention = plain_attention(basics, read_rotary(config, basics.head_dim), bias=bias, out_bias=bias)
    attention = msgspec.structs.replace(attention, qk_norm=rms(basics), qk_norm_over="projection")
    count = config.size("num_experts", "num_local_experts", default=64, most=MAX_EXPERTS)
    top_k = config.size("num_experts_per_tok", default=min(8, count), most=count)
    router = Router("softmax", top_k, normalize=config.flag("norm_topk_prob"))
    experts = Experts(count, basics.inner, basics.activation, router)
    layer = Layer(FULL, attention, experts, mixer_before=rms(basics), block_before=rms(basics))
    return decoder(basics, (layer,) * basics.layers, rms(basics))
