"""StarCoder2: layer norms, biases everywhere, a plain GELU block, a window."""

from __future__ import annotations

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Decoder, Mlp
from pllm_lang.models.families.reading import (
    FULL,
    SLIDING,
    Defaults,
    decoder,
    layer_norm,
    plain_attention,
    pre_norm_layer,
    read_basics,
    read_window,
)
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("starcoder2",)
STARCODER2 = Defaults(
    49_152,
    3072,
    12_288,
    30,
    24,
    2,
    positions=4096,
    activation="gelu_pytorch_tanh",
    epsilon="0.00001",
    tied=True,
)

NAMES = {"up": ".mlp.c_fc", "down": ".mlp.c_proj"}


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, STARCODER2, epsilon=("norm_epsilon",))
    config.ignore("residual_dropout")
    config.require("norm_type", default="layer_norm", among=("layer_norm",))
    config.require("mlp_type", default="default", among=("default",))
    bias = config.flag("use_bias", default=True)
    window = read_window(config)
    rotary = read_rotary(config, basics.head_dim)
    attention = plain_attention(basics, rotary, bias=bias, out_bias=bias, window=window)
    mlp = Mlp(basics.inner, basics.activation, gated=False, bias=bias)
    layer = pre_norm_layer(SLIDING if window else FULL, attention, mlp, layer_norm(basics))
    return decoder(basics, (layer,) * basics.layers, layer_norm(basics), names=NAMES)
