"""Qwen3 and the text decoder of Qwen3-VL: Qwen2 without its biases, with a norm on each query and key
head."""

from __future__ import annotations

import msgspec

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Attention, Decoder
from pllm_lang.models.families.qwen2 import windowed_layers
from pllm_lang.models.families.reading import Basics, Defaults, decoder, plain_attention, read_basics, rms
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("qwen3", "qwen3_vl_text")
QWEN3 = Defaults(151_936, 4096, 22_016, 32, 32, 32, 128, 32_768)
QWEN3_VL = Defaults(151_936, 4096, 22_016, 32, 32, 32, 128, 128_000, theta="500000")


def read(config: ConfigReader) -> Decoder:
    defaults = QWEN3_VL if config.values.get("model_type") == "qwen3_vl_text" else QWEN3
    basics = read_basics(config, defaults)
    attention = normed_attention(config, basics, defaults.theta)
    return decoder(basics, windowed_layers(config, basics, attention, max_window_layers=28), rms(basics))


def normed_attention(config: ConfigReader, basics: Basics, theta: str = "10000") -> Attention:
    """Attention with a norm over the features of each query and key head."""
    bias = config.flag("attention_bias")
    rotary = read_rotary(config, basics.head_dim, theta=theta)
    attention = plain_attention(basics, rotary, bias=bias, out_bias=bias)
    return msgspec.structs.replace(attention, qk_norm=rms(basics))
