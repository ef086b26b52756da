"""Configurations of Phi-4-mini, as the SDK's adapter accepts them.

In: a `config.json` value with model_type phi3 and a workload. Out: the accepted configuration with its
digest and graph builder; other phi3 models are refused with the key that differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from pllm_lang.interchange.canonical import digest
from pllm_lang.interchange.decoder import dense_config as dense
from pllm_lang.interchange.decoder.fields import (
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
from pllm_lang.interchange.decoder.phi import PhiMini, phi_graph
from pllm_lang.interchange.decoder.plan import Workload
from pllm_lang.interchange.errors import ConfigRefused


class LongRope(msgspec.Struct, frozen=True, kw_only=True):
    """The rotary scaling; entries are checked to be numbers later."""

    type: str
    rope_type: str | None = None
    long_factor: tuple[Any, ...]
    short_factor: tuple[Any, ...]


class PhiConfig(dense.DenseConfig, frozen=True, kw_only=True):
    """The further keys of this family; the four with a default may be absent."""

    original_max_position_embeddings: U64
    partial_rotary_factor: DecimalLike
    use_cache: bool
    attention_bias: bool
    lm_head_bias: bool
    attention_dropout: DecimalLike
    embd_pdrop: DecimalLike
    resid_pdrop: DecimalLike
    full_attn_mod: U64
    sliding_window: U64
    rope_scaling: LongRope
    qkv_bias: bool = False
    mlp_bias: bool = False
    input_emb_layernorm: bool = False
    attention_layer_norm: bool = False


DECIMALS = ("rms_norm_eps", "partial_rotary_factor", "attention_dropout", "embd_pdrop", "resid_pdrop")
MUST_BE = {
    "tie_word_embeddings": True,
    "use_cache": True,
    "attention_bias": False,
    "lm_head_bias": False,
    "qkv_bias": False,
    "mlp_bias": False,
    "input_emb_layernorm": False,
    "attention_layer_norm": False,
}
ROTATED = "0.75"


def _zero(key: str) -> tuple[Rule[PhiConfig], Rule[PhiConfig]]:
    return (
        Rule(
            "configuration", (key,), lambda c: decimal_value(getattr(c, key)) is not None, "must be a decimal"
        ),
        Rule("unsupported", (key,), lambda c: decimal_value(getattr(c, key)) == 0, "must be zero"),
    )


RULES: tuple[Rule[PhiConfig], ...] = (
    dense.SILU,
    *dense.nonzero(*dense.SIZES[:6]),
    dense.HEADS,
    dense.GROUPS,
    Rule(
        "configuration",
        ("original_max_position_embeddings", "max_position_embeddings"),
        lambda c: 0 < c.original_max_position_embeddings <= c.max_position_embeddings,
        "original_max_position_embeddings must be between 1 and max_position_embeddings",
    ),
    *(
        Rule[PhiConfig](
            "unsupported",
            (key,),
            lambda c, k=key, v=value: getattr(c, k) is v,
            f"must be {str(value).lower()}",
        )
        for key, value in MUST_BE.items()
    ),
    *_zero("attention_dropout"),
    *_zero("embd_pdrop"),
    *_zero("resid_pdrop"),
    dense.EPSILON,
    dense.LAYERS,
    Rule(
        "unsupported",
        ("partial_rotary_factor",),
        lambda c: decimal_text(c.partial_rotary_factor) == ROTATED,
        f"must be {ROTATED}",
    ),
    Rule(
        "unsupported",
        ("full_attn_mod", "sliding_window"),
        lambda c: c.full_attn_mod == 1 and c.sliding_window >= c.max_position_embeddings,
        "the format has no sliding window",
    ),
    Rule(
        "unsupported",
        ("rope_scaling",),
        lambda c: c.rope_scaling.type == "longrope" and c.rope_scaling.rope_type in (None, "longrope"),
        "the format knows longrope only",
    ),
)


def accept_phi(config: Mapping[str, Any], work: Workload) -> Lowered:
    """Accept a Phi-4-mini configuration; errors: `ConfigRefused`."""
    fields = read_fields(config, PhiConfig, "document")
    theta = integral(fields.rope_theta, "document", "rope_theta")
    enforce(RULES, fields)
    head_dim = fields.hidden_size // fields.num_attention_heads
    rotary = head_dim * 3 // 4
    for name in ("short_factor", "long_factor"):
        _check_factors(getattr(fields.rope_scaling, name), rotary // 2, f"rope_scaling.{name}")
    dense.check_positions(work, dense.tokens_of(work), fields.max_position_embeddings)
    dense.check_rotation(rotary, theta, "hidden_size")
    texts = {key: decimal_text(getattr(fields, key)) for key in DECIMALS}
    document = {**msgspec.to_builtins(fields), **texts, "rope_theta": theta}
    model = PhiMini(
        **dense.dense_sizes(fields, head_dim, theta),
        rotary_dimensions=rotary,
        maximum_positions=fields.max_position_embeddings,
        original_positions=fields.original_max_position_embeddings,
        long_factor=fields.rope_scaling.long_factor,
        short_factor=fields.rope_scaling.short_factor,
    )
    config_digest = digest("pllm.phi4_mini_config.v1", document)
    return Lowered("phi4_mini", "pllm.phi4_mini.v1", config_digest, lambda phase: phi_graph(model, phase))


def _check_factors(factors: tuple[Any, ...], wanted: int, key: str) -> None:
    if len(factors) != wanted:
        raise ConfigRefused("unsupported", f"must hold {wanted} factors, one for each rotated pair", (key,))
    for factor in factors:
        if isinstance(factor, bool) or not isinstance(factor, int | float):
            raise ConfigRefused("configuration", f"{factor!r} is not a number", (key,))
        if factor <= 0:
            raise ConfigRefused("configuration", f"{factor} is not above zero", (key,))
