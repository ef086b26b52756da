"""Baichuan 7B: Llama with one fused projection; Baichuan 2 normalises the rows of its head.

The class of both generations is the same; the second one has 125,696 tokens. The 13B models, with linear
position biases, have no `max_position_embeddings` and are refused.
"""

from __future__ import annotations

import msgspec

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Decoder
from pllm_lang.models.errors import LoweringError
from pllm_lang.models.families.reading import (
    FULL,
    Defaults,
    decoder,
    gated_mlp,
    plain_attention,
    pre_norm_layer,
    read_basics,
    rms,
)
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("baichuan",)
BAICHUAN = Defaults(125_696, 4096, 11_008, 32, 32, positions=4096)
SECOND_GENERATION_VOCAB = 125_696


def read(config: ConfigReader) -> Decoder:
    if not config.has("max_position_embeddings"):
        raise LoweringError(
            "config.unsupported_value",
            "baichuan without max_position_embeddings is the 13B model, whose position biases are not"
            " represented",
            key="max_position_embeddings",
        )
    config.ignore("model_max_length", "z_loss_weight")
    basics = read_basics(config, BAICHUAN)
    attention = plain_attention(basics, read_rotary(config, basics.head_dim))
    attention = msgspec.structs.replace(attention, fused="blocks")
    layer = pre_norm_layer(FULL, attention, gated_mlp(basics), rms(basics))
    return decoder(
        basics,
        (layer,) * basics.layers,
        rms(basics),
        names={"qkv": ".self_attn.W_pack"},
        head_norm=basics.vocab == SECOND_GENERATION_VOCAB,
    )
