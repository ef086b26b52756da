"""DeepSeek: the first MoE (`deepseek`), V2, V3, Kimi K2 and GLM-5 (V3 with DeepSeek's sparse index).

V2 and later have multi-head latent attention with interleaved rotary pairs. V2 routes by softmax, V3 by
sigmoid with a correction bias. The norms of the latents have the class's own epsilon, not `rms_norm_eps`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import msgspec

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import (
    Block,
    Decoder,
    Experts,
    Indexer,
    LatentAttention,
    Layer,
    Mixer,
    Mlp,
    Router,
    Scale,
)
from pllm_lang.models.errors import LoweringError
from pllm_lang.models.families.reading import (
    FULL,
    Basics,
    Defaults,
    decoder,
    gated_mlp,
    plain_attention,
    read_basics,
    read_layer_types,
    rms,
)
from pllm_lang.models.limits import MAX_EXPERTS
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("deepseek", "deepseek_v2", "deepseek_v3", "kimi_k2", "glm_moe_dsa")
DEEPSEEK = Defaults(102_400, 4096, 11_008, 30, 32)
DEEPSEEK_V2 = Defaults(102_400, 4096, 11_008, 32, 32)
DEEPSEEK_V3 = Defaults(129_280, 7168, 18_432, 61, 128, 128, positions=4096)
GLM_5 = Defaults(154_880, 6144, 12_288, 78, 64, 64, positions=202_752, epsilon="0.00001")

NAMES = {
    "shared_gate": ".mlp.shared_experts.gate_proj",
    "shared_up": ".mlp.shared_experts.up_proj",
    "shared_down": ".mlp.shared_experts.down_proj",
}
INDEXED = "indexed_attention"
INDEXED_WORDS = (INDEXED, "deepseek_sparse_attention")


class LatentSizes(msgspec.Struct, frozen=True):
    """Defaults of the latent attention."""

    q_rank: int = 1536
    kv_rank: int = 512
    nope: int = 128
    rope: int = 64
    value: int = 128


class MoeSizes(msgspec.Struct, frozen=True):
    """Defaults of the mixture of experts; 0 means that the key is required."""

    experts: int = 0
    top_k: int = 0
    inner: int = 0
    shared: int = 0
    groups: int = 1
    top_groups: int = 1
    scale: str = "1"
    normalize: bool = False
    dense: int = 0


def read(config: ConfigReader) -> Decoder:
    match config.values.get("model_type"):
        case "deepseek":
            return _read_first(config, DEEPSEEK, MoeSizes())
        case "deepseek_v2":
            return _read_v2(config)
        case "glm_moe_dsa":
            return _read_glm(config)
        case _:
            return _read_v3(config)


def _read_first(config: ConfigReader, defaults: Defaults, sizes: MoeSizes) -> Decoder:
    """Llama's attention with softmax-routed experts."""
    basics = read_basics(config, defaults)
    bias = config.flag("attention_bias")
    attention = plain_attention(basics, read_rotary(config, basics.head_dim), bias=bias, out_bias=bias)
    config.require("scoring_func", default="softmax", among=("softmax",))
    experts = _experts(config, basics, sizes, _softmax_router(config, sizes, normalizes=True))
    return _decoder(config, basics, [attention] * basics.layers, experts, _sparse(config, basics, sizes))


def _read_v2(config: ConfigReader) -> Decoder:
    sizes = MoeSizes(experts=64, inner=1407, shared=2)
    if not config.flag("use_mla", default=True):
        _note_plain_attention(config)
        return _read_first(config, DEEPSEEK_V2, sizes)
    basics = read_basics(config, DEEPSEEK_V2, head_dim=())
    config.ignore("head_dim", "qk_head_dim")
    if "q_lora_rank" not in config.values:
        config.note(
            "config.default",
            "q_lora_rank",
            "q_lora_rank is absent: the class's default 1536 holds; null would mean none",
        )
    attention = _latent(config, basics, LatentSizes())
    config.require("scoring_func", default="softmax", among=("softmax",))
    if config.flag("norm_topk_prob"):
        config.without_effect("norm_topk_prob", "DeepSeek-V2 never normalises the chosen scores")
    experts = _experts(config, basics, sizes, _softmax_router(config, sizes, normalizes=False))
    return _decoder(config, basics, [attention] * basics.layers, experts, _sparse(config, basics, sizes))


def _note_plain_attention(config: ConfigReader) -> None:
    config.note(
        "config.variant",
        "use_mla",
        "use_mla is false: plain attention; the latent attention's sizes are not used",
    )
    config.ignore(
        "kv_lora_rank", "q_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "topk_method"
    )
    config.require("lm_head", default=True, among=(True,))
    config.require("rm_head", default=False, among=(False,))


def _read_v3(config: ConfigReader) -> Decoder:
    basics = read_basics(config, DEEPSEEK_V3, head_dim=())
    sizes = MoeSizes(256, 8, 2048, 1, 8, 4, "2.5", True, 3)
    config.ignore("head_dim", "qk_head_dim")
    attention = _latent(config, basics, LatentSizes())
    experts = _experts(config, basics, sizes, _sigmoid_router(config, sizes))
    return _decoder(config, basics, [attention] * basics.layers, experts, _sparse(config, basics, sizes))


def _read_glm(config: ConfigReader) -> Decoder:
    basics = read_basics(config, GLM_5, head_dim=())
    sizes = MoeSizes(256, 8, 2048, 1, 1, 1, "2.5", True, 3)
    config.ignore("head_dim", "qk_head_dim", "indexer_rope_interleave")
    config.require("indexer_rope_interleave", default=True, among=(True,))
    attention = _latent(config, basics, LatentSizes(2048, 512, 192, 64, 256))
    read_layer_types(config, basics.layers, INDEXED_WORDS, lambda _: INDEXED)
    indexer = Indexer(
        config.size("index_n_heads", default=32),
        config.size("index_head_dim", default=128),
        config.size("index_topk", default=2048),
        shared=False,
    )
    full = msgspec.structs.replace(attention, indexer=indexer)
    shared = msgspec.structs.replace(attention, indexer=msgspec.structs.replace(indexer, shared=True))
    mixers = [shared if kind == "shared" else full for kind in _indexer_types(config, basics.layers)]
    experts = _experts(config, basics, sizes, _sigmoid_router(config, sizes))
    words = read_layer_types(
        config,
        basics.layers,
        ("dense", "sparse"),
        lambda index: (
            "sparse" if index >= config.size("first_k_dense_replace", default=3, least=0) else "dense"
        ),
        key="mlp_layer_types",
    )
    config.ignore("first_k_dense_replace", "moe_layer_freq")
    return _decoder(config, basics, mixers, experts, [word == "sparse" for word in words], kind=INDEXED)


def _indexer_types(config: ConfigReader, count: int) -> tuple[str, ...]:
    """`full` layers choose positions; `shared` ones take the choice of the last full layer before them."""
    distance = config.size("index_topk_freq", default=1)
    offset = config.size("index_skip_topk_offset", default=2, least=0)
    config.require("index_topk_pattern", default=None, among=(None,))
    kinds = read_layer_types(
        config,
        count,
        ("full", "shared"),
        lambda index: "shared" if max(index - offset + 1, 0) % distance else "full",
        key="indexer_types",
    )
    if kinds[0] == "shared":
        raise LoweringError(
            "config.conflict", "indexer_types[0] is 'shared', but no layer before it chooses positions",
            key=config.dotted("indexer_types[0]"),
        )  # fmt: skip
    return kinds


def _latent(config: ConfigReader, basics: Basics, sizes: LatentSizes) -> LatentAttention:
    has_rank = config.has("q_lora_rank") or "q_lora_rank" not in config.values
    nope = config.size("qk_nope_head_dim", default=sizes.nope)
    rope = config.size("qk_rope_head_dim", default=sizes.rope)
    pairing = "interleaved" if config.flag("rope_interleave", default=True) else "split_half"
    rotary = read_rotary(config, rope, pairing=pairing)
    return LatentAttention(
        heads=basics.heads,
        q_rank=config.size("q_lora_rank", default=sizes.q_rank) if has_rank else 0,
        kv_rank=config.size("kv_lora_rank", default=sizes.kv_rank),
        nope_dim=nope,
        rope_dim=rope,
        value_dim=config.size("v_head_dim", default=sizes.value),
        scale=_latent_scale(dict(rotary.parameters), nope + rope),
        rotary=rotary,
        bias=config.flag("attention_bias"),
    )


def _latent_scale(parameters: dict[str, object], width: int) -> Scale:
    """1 / sqrt(width), times (1 + 0.1 m ln factor)^2 where yarn has `mscale_all_dim` = m."""
    gain = Fraction(str(parameters.get("mscale_all_dim", "0"))) / 10
    factor = str(parameters.get("factor", "1"))
    if not gain or Fraction(factor) <= 1:
        return Scale(root=str(width))
    return Scale(root=str(width), gain=str(gain), of=factor)


def _softmax_router(config: ConfigReader, sizes: MoeSizes, *, normalizes: bool) -> Router:
    method = config.choice("topk_method", default="greedy", among=("greedy", "group_limited_greedy"))
    grouped = method == "group_limited_greedy"
    groups, top_groups = config.size("n_group", default=1), config.size("topk_group", default=1)
    return Router(
        "softmax",
        top_k=0,
        normalize=config.flag("norm_topk_prob", default=sizes.normalize) if normalizes else False,
        scale=config.number("routed_scaling_factor", default=sizes.scale),
        groups=groups if grouped else 1,
        top_groups=top_groups if grouped else 1,
        group_score="max" if grouped else "",
    )


def _sigmoid_router(config: ConfigReader, sizes: MoeSizes) -> Router:
    config.require("scoring_func", default="sigmoid", among=("sigmoid",))
    config.require("topk_method", default="noaux_tc", among=("noaux_tc",))
    return sigmoid_router(config, sizes.groups, sizes.top_groups, sizes.scale, normalize=sizes.normalize)


def sigmoid_router(
    config: ConfigReader, groups: int, top_groups: int, scale: str, *, normalize: bool
) -> Router:
    """V3's routing; the numbers are the class's defaults. `top_k` is set by the caller."""
    count = config.size("n_group", default=groups)
    return Router(
        "sigmoid",
        top_k=0,
        normalize=config.flag("norm_topk_prob", default=normalize),
        normalize_epsilon="1/100000000000000000000",
        scale=config.number("routed_scaling_factor", default=scale),
        correction=True,
        groups=count,
        top_groups=config.size("topk_group", default=min(top_groups, count), most=count),
        group_score="top2_sum" if count > 1 else "",
    )


def _experts(config: ConfigReader, basics: Basics, sizes: MoeSizes, router: Router) -> Experts:
    count = config.size("n_routed_experts", "num_experts", default=sizes.experts or None, most=MAX_EXPERTS)
    inner = config.size("moe_intermediate_size", default=sizes.inner or None)
    top_k = config.size("num_experts_per_tok", default=sizes.top_k or None, most=count)
    check_groups(config, router, count, top_k)
    shared = config.size("n_shared_experts", default=sizes.shared, least=0)
    return Experts(
        count,
        inner,
        basics.activation,
        msgspec.structs.replace(router, top_k=top_k),
        shared=Mlp(shared * inner, basics.activation, bias=_mlp_bias(config)) if shared else None,
    )


def check_groups(config: ConfigReader, router: Router, count: int, top_k: int) -> None:
    """Groups must divide the experts, and those chosen must hold enough of them."""
    size = count // router.groups
    if count % router.groups or (router.group_score == "top2_sum" and size < 2):
        raise LoweringError(
            "config.range",
            f"n_group {router.groups} does not make groups of two experts or more out of {count}",
            key=config.dotted("n_group"),
        )
    if top_k > router.top_groups * size:
        raise LoweringError(
            "config.range",
            f"{top_k} experts a token do not fit in topk_group {router.top_groups} groups of {size}",
            key=config.dotted("topk_group"),
        )


def _mlp_bias(config: ConfigReader) -> bool:
    if config.values.get("model_type") == "deepseek_v2":
        return config.flag("mlp_bias")
    if config.flag("mlp_bias"):
        config.without_effect("mlp_bias", "the blocks of this family have no biases")
    return False


def _sparse(config: ConfigReader, basics: Basics, sizes: MoeSizes) -> list[bool]:
    first = config.size("first_k_dense_replace", default=sizes.dense, least=0)
    every = config.size("moe_layer_freq", default=1)
    return [index >= first and index % every == 0 for index in range(basics.layers)]


def _decoder(
    config: ConfigReader,
    basics: Basics,
    mixers: Sequence[Mixer],
    experts: Experts,
    sparse: list[bool],
    kind: str = FULL,
) -> Decoder:
    norm = rms(basics)
    dense: Block = gated_mlp(basics, bias=_mlp_bias(config))
    layers = [
        Layer(kind, mixer, experts if has_experts else dense, mixer_before=norm, block_before=norm)
        for mixer, has_experts in zip(mixers, sparse, strict=True)
    ]
    return decoder(basics, layers, norm, names=NAMES)
