"""Configurations of Qwen2 and Qwen3, as the SDK's adapters accept them.

In: a `config.json` value and a workload. Out: the accepted configuration with its digest and graph builder.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from pllm_lang.interchange.canonical import digest
from pllm_lang.interchange.decoder import dense_config as dense
from pllm_lang.interchange.decoder.fields import (
    U32,
    U64,
    DecimalLike,
    Lowered,
    Rule,
    decimal_text,
    decimal_value,
    enforce,
    integral,
    read_fields,
)
from pllm_lang.interchange.decoder.plan import Workload
from pllm_lang.interchange.decoder.qwen import DenseQwen, dense_qwen_graph


class Qwen2Config(dense.DenseConfig, frozen=True, kw_only=True):
    """The keys that the adapter reads; all are required."""

    num_attention_heads: U32
    num_key_value_heads: U32


class Qwen3Config(Qwen2Config, frozen=True, kw_only=True):
    """The further keys of Qwen3; only the two with a default may be absent."""

    head_dim: U64
    attention_bias: bool
    attention_dropout: DecimalLike
    use_cache: bool
    use_sliding_window: bool
    max_window_layers: U32
    layer_types: tuple[str, ...]
    rope_scaling: Any = None
    sliding_window: U64 | None = None


QWEN2_RULES: tuple[Rule[Any], ...] = (
    dense.SILU,
    *dense.nonzero(*dense.SIZES),
    dense.HEADS,
    dense.GROUPS,
    dense.EPSILON,
    dense.LAYERS,
)

QWEN3_RULES: tuple[Rule[Any], ...] = (
    dense.SILU,
    *dense.nonzero(*dense.SIZES, "head_dim"),
    dense.GROUPS,
    dense.EPSILON,
    Rule(
        "unsupported", ("attention_bias",), lambda c: not c.attention_bias, "the format has no attention bias"
    ),
    Rule(
        "configuration",
        ("attention_dropout",),
        lambda c: decimal_value(c.attention_dropout) is not None,
        "must be a finite decimal",
    ),
    Rule(
        "unsupported",
        ("attention_dropout",),
        lambda c: decimal_value(c.attention_dropout) == 0,
        "must be zero",
    ),
    Rule(
        "unsupported",
        ("rope_scaling",),
        lambda c: c.rope_scaling is None,
        "the format has no scaled rotation",
    ),
    Rule(
        "unsupported",
        ("sliding_window", "use_sliding_window"),
        lambda c: c.sliding_window is None and not c.use_sliding_window,
        "the format has no sliding window",
    ),
    Rule("unsupported", ("use_cache",), lambda c: c.use_cache, "the format always caches"),
    Rule(
        "unsupported",
        ("layer_types", "max_window_layers", "num_hidden_layers"),
        lambda c: (
            c.layer_types == ("full_attention",) * c.num_hidden_layers
            and c.max_window_layers == c.num_hidden_layers
        ),
        "every layer must be listed as full_attention",
    ),
)


def accept_qwen2(config: Mapping[str, Any], work: Workload) -> Lowered:
    """Accept a Qwen2 or Qwen2.5 configuration; errors: `ConfigRefused`."""
    fields = read_fields(config, Qwen2Config, "document")
    theta = integral(fields.rope_theta, "document", "rope_theta")
    enforce(QWEN2_RULES, fields)
    return _accept(fields, work, theta, fields.hidden_size // fields.num_attention_heads, is_qwen3=False)


def accept_qwen3(config: Mapping[str, Any], work: Workload) -> Lowered:
    """Accept a dense Qwen3 configuration; errors: `ConfigRefused`."""
    fields = read_fields(config, Qwen3Config, "document")
    theta = integral(fields.rope_theta, "document", "rope_theta")
    enforce(QWEN3_RULES, fields)
    return _accept(fields, work, theta, fields.head_dim, is_qwen3=True)


def _accept(fields: Qwen2Config, work: Workload, theta: int, head_dim: int, *, is_qwen3: bool) -> Lowered:
    dense.check_positions(work, dense.tokens_of(work), fields.max_position_embeddings)
    dense.check_rotation(head_dim, theta, "head_dim")
    sizes = dense.dense_sizes(fields, head_dim, theta)
    document = {**msgspec.to_builtins(fields), "rms_norm_eps": sizes["epsilon"], "rope_theta": theta}
    if isinstance(fields, Qwen3Config):
        document["attention_dropout"] = decimal_text(fields.attention_dropout)
    model = DenseQwen(**sizes, tied=fields.tie_word_embeddings, qkv_bias=not is_qwen3, qk_norm=is_qwen3)
    name, domain = ("qwen3", "pllm.qwen3_config.v1") if is_qwen3 else ("qwen2", "pllm.qwen_config.v1")
    return Lowered(
        name, f"pllm.{name}.v1", digest(domain, document), lambda phase: dense_qwen_graph(model, phase)
    )
