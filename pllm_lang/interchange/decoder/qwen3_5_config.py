"""Configurations of Qwen3.5 text models, as the SDK's adapter accepts them.

In: the outer `config.json` value with its `text_config`, and a workload. Out: the accepted configuration
with its digest and graph builder.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import msgspec

from pllm_lang.interchange.canonical import digest
from pllm_lang.interchange.decoder.fields import (
    U32,
    U64,
    Lowered,
    Number,
    Rule,
    enforce,
    integral,
    read_fields,
)
from pllm_lang.interchange.decoder.plan import Workload
from pllm_lang.interchange.decoder.qwen3_5 import EPSILON, QwenHybrid, hybrid_graph
from pllm_lang.interchange.errors import ConfigFault, ConfigRefused


class Rope(msgspec.Struct, frozen=True, kw_only=True):
    """`text_config.rope_parameters`."""

    mrope_interleaved: bool
    mrope_section: tuple[U64, ...]
    rope_type: str
    rope_theta: Number
    partial_rotary_factor: Number


class TextConfig(msgspec.Struct, frozen=True, kw_only=True):
    """`text_config`; every key is required."""

    attention_bias: bool
    attention_dropout: Number
    attn_output_gate: bool
    full_attention_interval: U32
    head_dim: U64
    hidden_act: str
    hidden_size: U64
    intermediate_size: U64
    layer_types: tuple[str, ...]
    linear_conv_kernel_dim: U64
    linear_key_head_dim: U64
    linear_num_key_heads: U64
    linear_num_value_heads: U64
    linear_value_head_dim: U64
    max_position_embeddings: U64
    mlp_only_layers: tuple[U32, ...]
    model_type: str
    mtp_num_hidden_layers: U32
    mtp_use_dedicated_embeddings: bool
    num_attention_heads: U64
    num_hidden_layers: U32
    num_key_value_heads: U64
    rms_norm_eps: Number
    tie_word_embeddings: bool
    use_cache: bool
    vocab_size: U64
    mamba_ssm_dtype: str
    rope_parameters: Rope


class OuterConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of the whole file that the adapter reads."""

    architectures: tuple[str, ...]
    model_type: str
    text_config: TextConfig
    tie_word_embeddings: bool


KIND: ConfigFault = "configuration"
UNSUPPORTED: ConfigFault = "unsupported"
TEXT = "text_config."
POSITIVE = (
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "vocab_size",
    "max_position_embeddings",
    "linear_conv_kernel_dim",
    "linear_key_head_dim",
    "linear_value_head_dim",
    "linear_num_key_heads",
)
MUST_BE: dict[str, Any] = {
    "model_type": "qwen3_5_text",
    "tie_word_embeddings": True,
    "attention_bias": False,
    "attention_dropout": 0,
    "attn_output_gate": True,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "use_cache": True,
    "mamba_ssm_dtype": "float32",
    "mlp_only_layers": (),
    "mtp_num_hidden_layers": 1,
    "mtp_use_dedicated_embeddings": False,
}
ROTATED = (0.25, 1)
ROPE_MUST_BE: dict[str, Any] = {"rope_type": "default", "mrope_interleaved": True}


def _text(key: str) -> tuple[str]:
    return (TEXT + key,)


RULES: tuple[Rule[TextConfig], ...] = (
    *(
        Rule[TextConfig](UNSUPPORTED, _text(k), lambda c, k=k: getattr(c, k) > 0, "must not be zero")
        for k in POSITIVE
    ),
    *(
        Rule[TextConfig](UNSUPPORTED, _text(k), lambda c, k=k, v=v: getattr(c, k) == v, f"must be {v}")
        for k, v in MUST_BE.items()
    ),
    *(
        Rule[TextConfig](
            UNSUPPORTED,
            _text(f"rope_parameters.{k}"),
            lambda c, k=k, v=v: getattr(c.rope_parameters, k) == v,
            f"must be {v}",
        )
        for k, v in ROPE_MUST_BE.items()
    ),
    Rule(
        UNSUPPORTED,
        (TEXT + "num_attention_heads", TEXT + "num_key_value_heads"),
        lambda c: c.num_attention_heads % c.num_key_value_heads == 0,
        "num_attention_heads must be a multiple of num_key_value_heads",
    ),
    Rule(
        UNSUPPORTED,
        (TEXT + "linear_num_value_heads", TEXT + "linear_num_key_heads"),
        lambda c: c.linear_num_value_heads % c.linear_num_key_heads == 0,
        "linear_num_value_heads must be a multiple of linear_num_key_heads",
    ),
    Rule(
        "graph",
        _text("linear_num_value_heads"),
        lambda c: c.linear_num_value_heads > 0,
        "the state would be empty",
    ),
    Rule(
        UNSUPPORTED,
        (TEXT + "layer_types", TEXT + "full_attention_interval", TEXT + "num_hidden_layers"),
        lambda c: c.layer_types == _schedule(c.num_hidden_layers, c.full_attention_interval),
        "every full_attention_interval-th layer must be full_attention, the others linear_attention",
    ),
    Rule(
        UNSUPPORTED,
        _text("rope_parameters.partial_rotary_factor"),
        lambda c: c.rope_parameters.partial_rotary_factor in ROTATED and _rotary(c).denominator == 1,
        "must be 0.25 or 1, and give a whole number of dimensions",
    ),
    Rule(
        UNSUPPORTED,
        _text("rope_parameters.mrope_section"),
        lambda c: 2 * sum(c.rope_parameters.mrope_section) == _rotary(c),
        "must be sections of pairs that add up to the rotated dimensions",
    ),
)


def accept_qwen3_5(config: Mapping[str, Any], work: Workload) -> Lowered:
    """Accept a Qwen3.5 configuration; errors: `ConfigRefused`."""
    outer = read_fields(config, OuterConfig, KIND)
    text = outer.text_config
    theta = integral(
        text.rope_parameters.rope_theta, KIND, TEXT + "rope_parameters.rope_theta", saturates=True
    )
    if outer.architectures != ("Qwen3_5ForConditionalGeneration",):
        raise ConfigRefused(UNSUPPORTED, "must be [Qwen3_5ForConditionalGeneration]", ("architectures",))
    if not outer.tie_word_embeddings:
        raise ConfigRefused(UNSUPPORTED, "must be true", ("tie_word_embeddings",))
    enforce(RULES, text)
    if theta == 0:
        raise ConfigRefused(UNSUPPORTED, "must not be zero", _text("rope_parameters.rope_theta"))
    fits = work.max_input_tokens + work.max_new_tokens <= text.max_position_embeddings
    if not (fits and work.batch and work.max_input_tokens and work.max_new_tokens):
        why = "the workload must be positive and fit max_position_embeddings"
        raise ConfigRefused(UNSUPPORTED, why, _text("max_position_embeddings"))
    partial = _plain(text.rope_parameters.partial_rotary_factor)
    document = msgspec.to_builtins(outer)
    document["text_config"] |= {"rms_norm_eps": EPSILON, "attention_dropout": "0"}
    document["text_config"]["rope_parameters"] |= {"rope_theta": theta, "partial_rotary_factor": partial}
    model = QwenHybrid(
        full_attention=tuple(kind == "full_attention" for kind in text.layer_types),
        hidden=text.hidden_size,
        heads=text.num_attention_heads,
        kv_heads=text.num_key_value_heads,
        head_dim=text.head_dim,
        intermediate=text.intermediate_size,
        vocabulary=text.vocab_size,
        kernel=text.linear_conv_kernel_dim,
        key_heads=text.linear_num_key_heads,
        key_dim=text.linear_key_head_dim,
        value_heads=text.linear_num_value_heads,
        value_dim=text.linear_value_head_dim,
        theta=theta,
        partial=partial,
        rotary_dimensions=int(_rotary(text)),
        mrope_section=text.rope_parameters.mrope_section,
    )
    config_digest = digest("pllm.qwen3_5_outer_config.v1", document)
    return Lowered(
        "qwen3_5_text", "pllm.qwen3_5_text.v1", config_digest, lambda phase: hybrid_graph(model, phase)
    )


def _schedule(layers: int, interval: int) -> tuple[str, ...]:
    if interval == 0:
        return ()
    return tuple("linear_attention" if (n + 1) % interval else "full_attention" for n in range(layers))


def _plain(value: Number) -> str:
    text = format(Decimal(repr(value)), "f")
    return text.removesuffix(".0")


def _rotary(text: TextConfig) -> Fraction:
    return text.head_dim * Fraction(_plain(text.rope_parameters.partial_rotary_factor))
