"""MiniMax-M2: partial rotation, a norm over all query and all key features, sigmoid routing with a correction
bias."""

from __future__ import annotations

from fractions import Fraction

import msgspec

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Decoder, Experts, Layer, Router
from pllm_lang.models.exact_json import Json
from pllm_lang.models.families.mixtral import NAMES
from pllm_lang.models.families.reading import FULL, Defaults, decoder, plain_attention, read_basics, rms
from pllm_lang.models.limits import MAX_EXPERTS
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("minimax_m2",)
MINIMAX_M2 = Defaults(200_064, 3072, 1536, 62, 48, 8, 128, 196_608, theta="5000000")


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, MINIMAX_M2)
    _require_known_variant(config, basics.layers)
    dims = config.size("rotary_dim", default=basics.head_dim, most=basics.head_dim)
    share = str(Fraction(dims, basics.head_dim))
    attention = plain_attention(
        basics, read_rotary(config, basics.head_dim, theta=MINIMAX_M2.theta, partial=share)
    )
    attention = msgspec.structs.replace(attention, qk_norm=rms(basics), qk_norm_over="projection")
    count = config.size("num_local_experts", "num_experts", default=256, most=MAX_EXPERTS)
    top_k = config.size("num_experts_per_tok", default=8, most=count)
    router = Router("sigmoid", top_k, normalize=True, correction=True)
    experts = Experts(count, basics.inner, basics.activation, router)
    layer = Layer(FULL, attention, experts, mixer_before=rms(basics), block_before=rms(basics))
    return decoder(basics, (layer,) * basics.layers, rms(basics), names=NAMES)


def _require_known_variant(config: ConfigReader, layers: int) -> None:
    config.require("use_qk_norm", default=True, among=(True,))
    config.require("qk_norm_type", default="per_layer", among=("per_layer",))
    config.require("use_routing_bias", default=True, among=(True,))
    config.require("scoring_func", default="sigmoid", among=("sigmoid",))
    config.require("shared_intermediate_size", default=0, among=(0,))
    config.without_effect("sliding_window", "every layer of MiniMax-M2 has full attention")
    config.ignore("router_jitter_noise")
    full: list[Json] = [1] * layers
    config.require("attn_type_list", default=None, among=(None, full))
