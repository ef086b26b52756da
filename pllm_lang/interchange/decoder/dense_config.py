"""What the configurations of dense decoders have in common: keys, rules, and the sizes of the graph.

In: fields of one family. Out: the rules that all of them keep, and the sizes that their graphs depend on.
"""

from __future__ import annotations

from typing import Any

import msgspec

from pllm_lang.interchange.decoder.fields import (
    U32,
    U64,
    DecimalLike,
    Number,
    Rule,
    decimal_text,
    is_positive_decimal,
)
from pllm_lang.interchange.decoder.plan import Workload
from pllm_lang.interchange.errors import ConfigRefused
from pllm_lang.interchange.reading import U64_MAX


class DenseConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The keys that every adapter reads; all are required."""

    model_type: str
    hidden_size: U64
    intermediate_size: U64
    num_hidden_layers: U32
    num_attention_heads: U64
    num_key_value_heads: U64
    vocab_size: U64
    max_position_embeddings: U64
    hidden_act: str
    rms_norm_eps: DecimalLike
    rope_theta: Number
    tie_word_embeddings: bool


SIZES = (
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "vocab_size",
    "max_position_embeddings",
)
MAX_LAYERS = 4096
"""No published decoder comes near; a larger number would only fill the memory."""


def nonzero(*sizes: str) -> tuple[Rule[Any], ...]:
    """A rule for each size, which must be above zero."""
    return tuple(
        Rule[Any]("configuration", (size,), lambda c, size=size: getattr(c, size) > 0, "must not be zero")
        for size in sizes
    )


LAYERS = Rule[Any](
    "unsupported",
    ("num_hidden_layers",),
    lambda c: c.num_hidden_layers <= MAX_LAYERS,
    f"more than {MAX_LAYERS} layers",
)
SILU = Rule[Any](
    "unsupported", ("hidden_act",), lambda c: c.hidden_act == "silu", "the format knows silu only"
)
HEADS = Rule[Any](
    "configuration",
    ("hidden_size", "num_attention_heads"),
    lambda c: c.hidden_size % c.num_attention_heads == 0,
    "hidden_size must be a multiple of num_attention_heads",
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


def tokens_of(work: Workload) -> int:
    """The longest prompt and the longest answer together."""
    return work.max_input_tokens + work.max_new_tokens


def check_positions(work: Workload, needed: int, allowed: int) -> None:
    """Refuse an empty workload, and one that needs more positions than the model has."""
    if not (work.batch and work.max_input_tokens and work.max_new_tokens):
        raise ConfigRefused("configuration", "a workload of zero sequences or tokens")
    if tokens_of(work) > U64_MAX:
        raise ConfigRefused("configuration", "the number of tokens overflows 64 bits")
    if needed > allowed:
        why = f"the workload needs {needed} positions, the model has {allowed}"
        raise ConfigRefused("configuration", why, ("max_position_embeddings",))


def check_rotation(dimensions: int, theta: int, key: str) -> None:
    """Refuse rotary embeddings that do not turn pairs, or with base zero; `key` decides the dimensions."""
    if dimensions == 0 or dimensions % 2:
        raise ConfigRefused("graph", f"rotary embedding turns pairs, not {dimensions} dimensions", (key,))
    if theta == 0:
        raise ConfigRefused("graph", "rotary embedding with base zero", ("rope_theta",))


def dense_sizes(fields: DenseConfig, head_dim: int, theta: int) -> dict[str, Any]:
    """The sizes by the names that `DenseSizes` has for them."""
    return {
        "layers": fields.num_hidden_layers,
        "hidden": fields.hidden_size,
        "heads": fields.num_attention_heads,
        "kv_heads": fields.num_key_value_heads,
        "head_dim": head_dim,
        "intermediate": fields.intermediate_size,
        "vocabulary": fields.vocab_size,
        "epsilon": decimal_text(fields.rms_norm_eps),
        "theta": theta,
    }
