"""StableLM: layer norms, partial rotation, optional biases, normed heads and parallel residual."""

from __future__ import annotations

import msgspec

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Decoder, Layer
from pllm_lang.models.families.reading import (
    FULL,
    Defaults,
    decoder,
    gated_mlp,
    layer_norm,
    plain_attention,
    read_basics,
)
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("stablelm",)
STABLELM = Defaults(50_304, 2560, 6912, 32, 32, 32, positions=4096, epsilon="0.00001")

NAMES = {"q_norm": ".self_attn.q_layernorm", "k_norm": ".self_attn.k_layernorm"}


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, STABLELM, epsilon=("layer_norm_eps",), head_dim=())
    rotary = read_rotary(config, basics.head_dim, partial="0.25")
    attention = plain_attention(basics, rotary, bias=config.flag("use_qkv_bias"))
    norm = layer_norm(basics)
    if config.flag("qk_layernorm"):
        attention = msgspec.structs.replace(
            attention, qk_norm=layer_norm(basics, bias=False), qk_norm_over="each_head"
        )
    parallel = config.flag("use_parallel_residual")
    layer = Layer(
        FULL,
        attention,
        gated_mlp(basics),
        mixer_before=norm,
        block_before=None if parallel else norm,
        parallel=parallel,
    )
    return decoder(basics, (layer,) * basics.layers, norm, names=NAMES)
