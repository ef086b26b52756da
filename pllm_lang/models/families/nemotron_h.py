"""Nemotron-H and Nemotron 3: every layer is one thing, Mamba 2, attention without positions, a block or
experts.

Experts work in a latent space where `moe_latent_size` says so. `time_step_limit` bounds the step, as in the
published code; it is the one key that may be infinite.
"""

from __future__ import annotations

from decimal import Decimal

import msgspec

from pllm_lang.models.build.body import ACTIVATIONS
from pllm_lang.models.config_reader import ConfigReader, exact_number, missing, unsupported, wrong_type
from pllm_lang.models.decoder import Decoder, Experts, Layer, Mamba, Mlp, Norm
from pllm_lang.models.errors import LoweringError
from pllm_lang.models.families.deepseek import check_groups, sigmoid_router
from pllm_lang.models.families.reading import Basics, Defaults, decoder, plain_attention, read_basics
from pllm_lang.models.limits import MAX_EXPERTS, MAX_LAYERS

MODEL_TYPES = ("nemotron_h",)
NEMOTRON_H = Defaults(131_072, 4096, 21_504, 4, 32, 8, 128, 4096, "relu2", "0.00001")

NAMES = {
    "layer": "backbone.layers.*",
    "embedding": "backbone.embeddings",
    "final_norm": "backbone.norm_f",
    "mixer_before": ".norm",
    "block_before": ".norm",
    "q": ".mixer.q_proj",
    "k": ".mixer.k_proj",
    "v": ".mixer.v_proj",
    "o": ".mixer.o_proj",
    "up": ".mixer.up_proj",
    "down": ".mixer.down_proj",
    "router": ".mixer.gate",
    "correction": ".mixer.gate.e_score_correction_bias",
    "expert_up": ".mixer.experts.#.up_proj",
    "expert_down": ".mixer.experts.#.down_proj",
    "shared_up": ".mixer.shared_experts.up_proj",
    "shared_down": ".mixer.shared_experts.down_proj",
}

_LETTERS = {"M": "mamba", "E": "moe", "*": "attention", "-": "mlp"}
_WORDS = {"linear_attention": "mamba", "full_attention": "attention"} | {
    word: word for word in _LETTERS.values()
}


def read(config: ConfigReader) -> Decoder:
    kinds = _kinds(config)
    basics = read_basics(
        config,
        NEMOTRON_H,
        epsilon=("layer_norm_epsilon", "norm_eps"),
        activation=("mlp_hidden_act",),
        layers=(),
    )
    basics = msgspec.structs.replace(basics, layers=len(kinds), tied=False)
    if config.flag("tie_word_embeddings"):
        config.without_effect("tie_word_embeddings", "the head of this family is never tied")
    _require_known_variant(config)
    norm = Norm("rms", basics.epsilon)
    by_kind = {kind: _layer(config, basics, kind, norm) for kind in dict.fromkeys(_LETTERS.values())}
    return decoder(basics, [by_kind[kind] for kind in kinds], norm, names=NAMES)


def _kinds(config: ConfigReader) -> tuple[str, ...]:
    words, letters = (
        config.texts("layers_block_type", "layer_types"),
        config.optional_text("hybrid_override_pattern"),
    )
    stated = config.optional_size("num_hidden_layers", most=MAX_LAYERS)
    if words is None and letters is None:
        raise missing(config.dotted("layers_block_type"))
    table, parts = (_WORDS, words) if words is not None else (_LETTERS, tuple(letters or ""))
    name = (
        config.name_of("layers_block_type", "layer_types")
        if words is not None
        else config.dotted("hybrid_override_pattern")
    )
    for index, part in enumerate(parts):
        if part not in table:
            raise unsupported(f"{name}[{index}]", part, tuple(table))
    if not 0 < len(parts) <= MAX_LAYERS or stated not in (None, len(parts)):
        raise LoweringError(
            "config.conflict", f"{name} has {len(parts)} layers, num_hidden_layers says {stated}", key=name
        )
    return tuple(table[part] for part in parts)


def _require_known_variant(config: ConfigReader) -> None:
    config.without_effect("sliding_window", "attention layers of this family are full")
    config.ignore(
        "rope_theta", "partial_rotary_factor", "expand", "chunk_size", "mamba_proj_bias", "attention_bias"
    )
    for key in ("mamba_proj_bias", "attention_bias"):
        config.require(key, default=False, among=(False,))


def _layer(config: ConfigReader, basics: Basics, kind: str, norm: Norm) -> Layer:
    match kind:
        case "mamba":
            return Layer(kind, _mamba(config, basics), mixer_before=norm)
        case "attention":
            return Layer(kind, plain_attention(basics, None), mixer_before=norm)
        case "moe":
            return Layer(kind, block=_experts(config, basics), block_before=norm)
        case _:
            bias = config.flag("mlp_bias")
            return Layer(
                kind, block=Mlp(basics.inner, basics.activation, gated=False, bias=bias), block_before=norm
            )


def _mamba(config: ConfigReader, basics: Basics) -> Mamba:
    heads = config.size("mamba_num_heads", default=128)
    groups = config.size("n_groups", "mamba_n_groups", default=8)
    if heads % groups:
        raise LoweringError(
            "config.range", f"n_groups {groups} does not divide mamba_num_heads {heads}", key="n_groups"
        )
    low, high = _step_limits(config)
    return Mamba(
        heads=heads,
        head_dim=config.size("mamba_head_dim", default=64),
        state=config.size("ssm_state_size", default=128),
        groups=groups,
        kernel=config.size("conv_kernel", "mamba_d_conv", default=4, least=2),
        conv_bias=config.flag("use_conv_bias", "mamba_conv_bias", default=True),
        bias=config.flag("use_bias"),
        norm=Norm("rms", basics.epsilon),
        activation=config.choice("mamba_hidden_act", default="silu", among=tuple(ACTIVATIONS)),
        step_low=low,
        step_high=high,
    )


def _step_limits(config: ConfigReader) -> tuple[str, str]:
    """The bounds of the step; an infinite or absurdly large upper one is none (the empty text)."""
    if config.optional_number("time_step_min") is not None:
        config.note(
            "config.variant",
            "time_step_min",
            "time_step_limit bounds the step, as in the published code; transformers 5.24 bounds it in"
            " prefill by"
            " time_step_min instead",
            "note",
        )
    name = config.dotted("time_step_limit")
    limits = config.items("time_step_limit") or [0, Decimal("Infinity")]
    if len(limits) != 2:
        raise LoweringError("config.range", f"{name} must have two entries", key=name)
    high = limits[1]
    if isinstance(high, bool) or not isinstance(high, int | Decimal):
        raise wrong_type(f"{name}[1]", "a number", high)
    if isinstance(high, Decimal) and high.is_nan():
        raise LoweringError("config.range", f"{name}[1] is not a number", key=name)
    unbounded = high >= Decimal("1e30")
    return exact_number(f"{name}[0]", limits[0]), "" if unbounded else exact_number(f"{name}[1]", high)


def _experts(config: ConfigReader, basics: Basics) -> Experts:
    count = config.size("n_routed_experts", "num_local_experts", default=8, most=MAX_EXPERTS)
    router = msgspec.structs.replace(
        sigmoid_router(config, 1, 1, "1", normalize=True),
        top_k=config.size("num_experts_per_tok", default=min(2, count), most=count),
    )
    check_groups(config, router, count, router.top_k)
    bias = config.flag("mlp_bias")
    config.require("n_shared_experts", default=1, among=(1,))
    shared = config.size("moe_shared_expert_intermediate_size", default=7688)
    return Experts(
        count,
        config.size("moe_intermediate_size", default=7688),
        basics.activation,
        router,
        gated=False,
        latent=config.size("moe_latent_size", default=0, least=0) if config.has("moe_latent_size") else 0,
        latent_bias=bias,
        shared=Mlp(shared, basics.activation, gated=False, bias=bias),
    )
