"""Configurations of Gemma 4 E2B and E4B, as the SDK's adapter accepts them.

In: the outer `config.json` value with its `text_config`, and a workload. Out: the accepted configuration.
The adapter takes exactly two published geometries, so this is a table of constants.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from pllm_lang.interchange.decoder.dense_config import check_positions
from pllm_lang.interchange.decoder.fields import (
    U32,
    U64,
    DecimalLike,
    Lowered,
    Number,
    decimal_value,
    integral,
    read_fields,
)
from pllm_lang.interchange.decoder.gemma4 import gemma4_graph
from pllm_lang.interchange.decoder.gemma4_parts import Gemma4
from pllm_lang.interchange.decoder.plan import Workload
from pllm_lang.interchange.errors import ConfigFault, ConfigRefused


class Rope(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of `text_config.rope_parameters`."""

    rope_type: str
    rope_theta: Number
    partial_rotary_factor: DecimalLike | None = None


class Ropes(msgspec.Struct, frozen=True, kw_only=True):
    """`text_config.rope_parameters`."""

    sliding_attention: Rope
    full_attention: Rope


class TextConfig(msgspec.Struct, frozen=True, kw_only=True):
    """`text_config`; every key but the last is required, and further keys must be in IGNORED."""

    model_type: str
    vocab_size: U64
    hidden_size: U64
    intermediate_size: U64
    num_hidden_layers: U32
    num_attention_heads: U32
    num_key_value_heads: U32
    num_global_key_value_heads: Any
    head_dim: U64
    global_head_dim: U64
    sliding_window: U64
    layer_types: tuple[str, ...]
    max_position_embeddings: U64
    hidden_activation: str
    rms_norm_eps: DecimalLike
    final_logit_softcapping: DecimalLike
    hidden_size_per_layer_input: U64
    vocab_size_per_layer_input: U64
    num_kv_shared_layers: U32
    tie_word_embeddings: bool
    use_cache: bool
    attention_bias: bool
    attention_dropout: DecimalLike
    attention_k_eq_v: bool
    enable_moe_block: bool
    num_experts: Any
    top_k_experts: Any
    expert_intermediate_size: Any
    use_double_wide_mlp: bool
    use_bidirectional_attention: Any
    rope_parameters: Ropes
    dtype: str
    per_layer_config: Any = None


KIND: ConfigFault = "configuration"
UNSUPPORTED: ConfigFault = "unsupported"
TEXT = "text_config."
_IGNORED = """
    bos_token_id eos_token_id pad_token_id initializer_range torch_dtype transformers_version _name_or_path
    architectures return_dict output_hidden_states output_attentions id2label label2id problem_type
    name_or_path
"""
IGNORED = frozenset(_IGNORED.split())
OUTER_MUST_BE: dict[str, Any] = {
    "architectures": ["Gemma4ForConditionalGeneration"],
    "tie_word_embeddings": True,
    "dtype": "bfloat16",
}
DECIMAL_MUST_BE = {"rms_norm_eps": 1e-6, "final_logit_softcapping": 30.0, "attention_dropout": 0.0}
MUST_BE: dict[str, Any] = {
    "model_type": "gemma4_text",
    "max_position_embeddings": 131072,
    "hidden_activation": "gelu_pytorch_tanh",
    "vocab_size_per_layer_input": 262144,
    "tie_word_embeddings": True,
    "use_cache": True,
    "attention_bias": False,
    "attention_k_eq_v": False,
    "enable_moe_block": False,
    "num_experts": None,
    "top_k_experts": None,
    "expert_intermediate_size": None,
    "num_global_key_value_heads": None,
    "use_bidirectional_attention": None,
    "per_layer_config": None,
    "dtype": "bfloat16",
}
ROPES = {"sliding_attention": ("default", 10_000), "full_attention": ("proportional", 1_000_000)}
FULL_ROTATED = 0.25


class Variant(msgspec.Struct, frozen=True):
    """A published geometry, and what the plan says of it; the digest covers constants only."""

    adapter: str
    config_digest: str
    model: Gemma4


def _variant(name: str, config_digest: str, **sizes: Any) -> Variant:
    common = {"heads": 8, "head_dim": 256, "global_head_dim": 512, "vocabulary": 262144, "per_layer": 256}
    model = Gemma4(**common, **sizes, window=512, maximum_positions=131072)
    return Variant(f"pllm.gemma4_{name}_text.v1", config_digest, model)


VARIANTS = {
    35: _variant(
        "e2b",
        "f1d4463366d9f8ef9e7e5019e1d7f97f3b43a7a22890f3fd100e8d93aeade621",
        layers=35,
        full_every=5,
        shared_kv=20,
        hidden=1536,
        kv_heads=1,
        intermediate=6144,
        wide_shared=True,
        revision="3e22461f65e89153144f8adb70e3b8c2cc9845a7",
    ),
    42: _variant(
        "e4b",
        "b9c5cb7aa1457aa1e5a00a3ded6ae5b702c834c1a20dec1b0ebc80f05d762209",
        layers=42,
        full_every=6,
        shared_kv=18,
        hidden=2560,
        kv_heads=2,
        intermediate=10240,
        wide_shared=False,
        revision="ee0ef6023621cff504d758262d4e04895a5af4a2",
    ),
}


def accept_gemma4(config: Mapping[str, Any], work: Workload) -> Lowered:
    """Accept a Gemma 4 E2B or E4B configuration; errors: `ConfigRefused`."""
    for key, wanted in OUTER_MUST_BE.items():
        _require(key, config.get(key), wanted)
    if "text_config" not in config:
        raise ConfigRefused(KIND, "is missing", ("text_config",))
    found = config["text_config"]
    text = read_fields(found, TextConfig, KIND, "text_config")
    _check_keys(found)
    variant = VARIANTS.get(text.num_hidden_layers)
    if variant is None:
        raise ConfigRefused(UNSUPPORTED, "must be 35 (E2B) or 42 (E4B)", (TEXT + "num_hidden_layers",))
    for key, wanted in (MUST_BE | _sizes(variant.model)).items():
        _require(TEXT + key, getattr(text, key), wanted)
    for key, number in DECIMAL_MUST_BE.items():
        _require_decimal(TEXT + key, getattr(text, key), number)
    _check_ropes(text.rope_parameters)
    check_positions(work, work.max_input_tokens + work.max_new_tokens - 1, text.max_position_embeddings)
    return Lowered(
        "gemma4_text",
        variant.adapter,
        variant.config_digest,
        lambda phase: gemma4_graph(variant.model, phase),
    )


def _sizes(model: Gemma4) -> dict[str, Any]:
    kinds = ("sliding_attention", "full_attention")
    return {
        "vocab_size": model.vocabulary,
        "hidden_size": model.hidden,
        "intermediate_size": model.intermediate,
        "num_attention_heads": model.heads,
        "num_key_value_heads": model.kv_heads,
        "head_dim": model.head_dim,
        "global_head_dim": model.global_head_dim,
        "sliding_window": model.window,
        "hidden_size_per_layer_input": model.per_layer,
        "num_kv_shared_layers": model.shared_kv,
        "use_double_wide_mlp": model.wide_shared,
        "layer_types": tuple(kinds[(n + 1) % model.full_every == 0] for n in range(model.layers)),
    }


def _check_keys(text: Mapping[str, Any]) -> None:
    unknown = sorted(set(text) - IGNORED - set(TextConfig.__struct_fields__))
    if unknown:
        raise ConfigRefused(UNSUPPORTED, "is not a key that the format knows", (TEXT + unknown[0],))


def _check_ropes(ropes: Ropes) -> None:
    for name, (kind, theta) in ROPES.items():
        rope: Rope = getattr(ropes, name)
        key = f"{TEXT}rope_parameters.{name}"
        _require(f"{key}.rope_theta", integral(rope.rope_theta, KIND, f"{key}.rope_theta"), theta)
        _require(f"{key}.rope_type", rope.rope_type, kind)
    key = f"{TEXT}rope_parameters.full_attention.partial_rotary_factor"
    partial = ropes.full_attention.partial_rotary_factor
    _require_decimal(key, 0 if partial is None else partial, FULL_ROTATED)


def _require(key: str, value: Any, wanted: Any) -> None:
    if type(value) is not type(wanted) or value != wanted:
        raise ConfigRefused(UNSUPPORTED, f"must be {wanted}", (key,))


def _require_decimal(key: str, value: DecimalLike, wanted: float) -> None:
    number = decimal_value(value)
    if number is None:
        raise ConfigRefused(KIND, "must be a finite decimal", (key,))
    if number != wanted:
        raise ConfigRefused(UNSUPPORTED, f"must be {wanted}", (key,))
