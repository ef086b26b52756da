"""Configurations of Qwen2 and Qwen3, as the SDK's adapters accept them.

In: a `config.json` value and a workload. Out: the accepted configuration with its digest and graph builder.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from pllm_lang.interchange.canonical import digest
from pllm_lang.interchange.decoder.fields import (
    U32,
    U64,
    DecimalLike,
    Lowered,
    Number,
    Rule,
    decimal_text,
    decimal_value,
    enforce,
    integral,
    is_positive_decimal,
    read_fields,
)
from pllm_lang.interchange.decoder.plan import Workload
from pllm_lang.interchange.decoder.qwen import DenseQwen, dense_qwen_graph
from pllm_lang.interchange.errors import ConfigRefused
from pllm_lang.interchange.reading import U64_MAX


class Qwen2Config(msgspec.Struct, frozen=True, kw_only=True):
    """The keys that the adapter reads; all are required."""

    model_type: str
    hidden_size: U64
    intermediate_size: U64
    num_hidden_layers: U32
    num_attention_heads: U32
    num_key_value_heads: U32
    vocab_size: U64
    max_position_embeddings: U64
    hidden_act: str
    rms_norm_eps: DecimalLike
    rope_theta: Number
    tie_word_embeddings: bool


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


SIZES = (
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "vocab_size",
    "max_position_embeddings",
)


def nonzero(*sizes: str) -> tuple[Rule[Any], ...]:
    """A rule for each size, which must be above zero."""
    return tuple(
        Rule[Any]("configuration", (size,), lambda c, size=size: getattr(c, size) > 0, "must not be zero")
        for size in sizes
    )


MAX_LAYERS = 4096
"""No published decoder comes near; a larger number would only fill the memory."""
LAYERS = Rule[Any](
    "unsupported",
    ("num_hidden_layers",),
    lambda c: c.num_hidden_layers <= MAX_LAYERS,
    f"more than {MAX_LAYERS} layers",
)
SILU = Rule[Any](
    "unsupported", ("hidden_act",), lambda c: c.hidden_act == "silu", "the format knows silu only"
)
GROUPS = Rule[Any](
    "configuration",
    ("num_attention_heads", "num_key_value_heads"),
    lambda c: c.num_attention_heads % c.num_key_value_heads == 0,
    "num_attention_heads must be a multiple of num_key_value_heads",
)
EPSILON = Rule[Any](
    "configuration",
    ("rms_norm_eps",),
    lambda c: is_positive_decimal(c.rms_norm_eps),
    "must be a finite decimal above zero",
)

QWEN2_RULES: tuple[Rule[Any], ...] = (
    SILU,
    *nonzero(*SIZES),
    Rule(
        "configuration",
        ("hidden_size", "num_attention_heads"),
        lambda c: c.hidden_size % c.num_attention_heads == 0,
        "hidden_size must be a multiple of num_attention_heads",
    ),
    GROUPS,
    EPSILON,
    LAYERS,
)

QWEN3_RULES: tuple[Rule[Any], ...] = (
    SILU,
    *nonzero(*SIZES, "head_dim"),
    GROUPS,
    EPSILON,
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


def check_positions(work: Workload, needed: int, allowed: int) -> None:
    """Refuse an empty workload, and one that needs more positions than the model has."""
    if not (work.batch and work.max_input_tokens and work.max_new_tokens):
        raise ConfigRefused("configuration", "a workload of zero sequences or tokens")
    if work.max_input_tokens + work.max_new_tokens > U64_MAX:
        raise ConfigRefused("configuration", "the number of tokens overflows 64 bits")
    if needed > allowed:
        why = f"the workload needs {needed} positions, the model has {allowed}"
        raise ConfigRefused("configuration", why, ("max_position_embeddings",))


def _accept(fields: Qwen2Config, work: Workload, theta: int, head_dim: int, *, is_qwen3: bool) -> Lowered:
    check_positions(work, work.max_input_tokens + work.max_new_tokens, fields.max_position_embeddings)
    if head_dim % 2:
        raise ConfigRefused("graph", f"rotary embedding turns pairs, head_dim is {head_dim}", ("head_dim",))
    if theta == 0:
        raise ConfigRefused("graph", "rotary embedding with base zero", ("rope_theta",))
    epsilon = decimal_text(fields.rms_norm_eps)
    document = {**msgspec.to_builtins(fields), "rms_norm_eps": epsilon, "rope_theta": theta}
    if isinstance(fields, Qwen3Config):
        document["attention_dropout"] = decimal_text(fields.attention_dropout)
    model = DenseQwen(
        layers=fields.num_hidden_layers,
        hidden=fields.hidden_size,
        heads=fields.num_attention_heads,
        kv_heads=fields.num_key_value_heads,
        head_dim=head_dim,
        intermediate=fields.intermediate_size,
        vocabulary=fields.vocab_size,
        epsilon=epsilon,
        theta=theta,
        tied=fields.tie_word_embeddings,
        qkv_bias=not is_qwen3,
        qk_norm=is_qwen3,
    )
    name, domain = ("qwen3", "pllm.qwen3_config.v1") if is_qwen3 else ("qwen2", "pllm.qwen_config.v1")
    return Lowered(
        name, f"pllm.{name}.v1", digest(domain, document), lambda phase: dense_qwen_graph(model, phase)
    )
