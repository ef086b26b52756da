"""Phi-1, Phi-1.5 and Phi-2, in the key style of transformers (`phi`) and of the first upload (`phi-msft`).

One layer norm feeds attention and block side by side; every projection and the head have a bias.
"""

from __future__ import annotations

from fractions import Fraction

import msgspec

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Attention, Decoder, Layer, Mlp
from pllm_lang.models.families.reading import (
    FULL,
    Basics,
    Defaults,
    decoder,
    layer_norm,
    plain_attention,
    read_basics,
)
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("phi", "phi-msft")
PHI = Defaults(51_200, 2048, 8192, 24, 32, positions=2048, activation="gelu_new", epsilon="0.00001")

NAMES = {
    "o": ".self_attn.dense",
    "q_norm": ".self_attn.q_layernorm",
    "k_norm": ".self_attn.k_layernorm",
    "up": ".mlp.fc1",
    "down": ".mlp.fc2",
    "final_norm": "model.final_layernorm",
}
FIRST_NAMES = {
    "layer": "transformer.h.*",
    "embedding": "transformer.embd.wte",
    "mixer_before": ".ln",
    "qkv": ".mixer.Wqkv",
    "o": ".mixer.out_proj",
    "up": ".mlp.fc1",
    "down": ".mlp.fc2",
    "final_norm": "lm_head.ln",
    "head": "lm_head.linear",
}


def read(config: ConfigReader) -> Decoder:
    if config.values.get("model_type") == "phi-msft":
        return _read_first_upload(config)
    basics = read_basics(config, PHI, epsilon=("layer_norm_eps",))
    rotary = read_rotary(config, basics.head_dim, partial="0.5")
    attention = plain_attention(basics, rotary, bias=True, out_bias=True)
    if config.flag("qk_layernorm"):
        attention = msgspec.structs.replace(attention, qk_norm=layer_norm(basics))
    return _parallel(basics, attention, NAMES)


def _read_first_upload(config: ConfigReader) -> Decoder:
    basics = read_basics(
        config,
        PHI,
        epsilon=("layer_norm_epsilon",),
        activation=("activation_function",),
        hidden=("n_embd",),
        inner=("n_inner",),
        layers=("n_layer",),
        heads=("n_head",),
        kv_heads=("n_head_kv",),
        positions=("n_positions",),
        head_dim=(),
    )
    if not config.has("n_inner"):
        basics = msgspec.structs.replace(basics, inner=4 * basics.hidden)
    dims = config.size("rotary_dim", default=32, most=basics.head_dim)
    rotary = read_rotary(config, basics.head_dim, partial=str(Fraction(dims, basics.head_dim)))
    attention = plain_attention(basics, rotary, bias=True, out_bias=True)
    return _parallel(basics, msgspec.structs.replace(attention, fused="blocks"), FIRST_NAMES)


def _parallel(basics: Basics, attention: Attention, names: dict[str, str]) -> Decoder:
    mlp = Mlp(basics.inner, basics.activation, gated=False, bias=True)
    layer = Layer(FULL, attention, mlp, mixer_before=layer_norm(basics), parallel=True)
    return decoder(basics, (layer,) * basics.layers, layer_norm(basics), names=names, head_bias=True)
