"""The architecture of one decoder, as a family's adapter reads it from a config and as `build` turns it into
a graph.

Data only; every struct is frozen and compares by value, so equal layers are found by equality. Real numbers
are exact text. Structural facts that a config does not say (Gemma's norm offset, Qwen2's biases) are written
here by the adapter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

Pairing: TypeAlias = Literal["split_half", "interleaved"]


class Norm(msgspec.Struct, frozen=True):
    """`y = x / sqrt(mean(x^2) + epsilon) * (weight + offset)`; a layer norm subtracts the mean first."""

    kind: Literal["rms", "layer"]
    epsilon: str
    offset: int = 0
    weight: bool = True
    bias: bool = False


class Scale(msgspec.Struct, frozen=True):
    """The number `factor * (1 + gain * ln(of))^2 / sqrt(root)`; without `root` or `gain` that part is 1."""

    factor: str = "1"
    root: str = ""
    gain: str = ""
    of: str = ""


class Rotary(msgspec.Struct, frozen=True):
    """Rotation of a head's first `dims` features by `position * theta^(-2i/dims)`, scaled as `kind` says.

    `parameters` are those of `kind`, exact and as written. `split_half` pairs feature i with i + dims/2,
    `interleaved` 2i with 2i + 1.
    """

    theta: str
    dims: int
    pairing: Pairing = "split_half"
    kind: str = "default"
    parameters: tuple[tuple[str, str | int | tuple[str, ...]], ...] = ()


class Temperature(msgspec.Struct, frozen=True):
    """Queries at position p times `1 + scale * ln(1 + floor((p + shift) / floor))`."""

    scale: str
    floor: int
    shift: int


class Attention(msgspec.Struct, frozen=True, tag="attention"):
    """Softmax attention with separate or fused projections. `window` counts the visible positions, the own
    included; `chunk` makes attention block-diagonal. `fused`: rows of q, k, v after each other, or head by
    head.
    """

    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int
    scale: Scale
    rotary: Rotary | None = None
    qkv_bias: bool = False
    out_bias: bool = False
    fused: Literal["", "blocks", "heads"] = ""
    stored: Literal["out_in", "in_out"] = "out_in"
    qk_norm: Norm | None = None
    qk_norm_over: Literal["head", "projection", "each_head"] = "head"
    qk_norm_after_rotary: bool = False
    value_norm: Norm | None = None
    value_from_key: bool = False
    value_scale: str = ""
    clip: str = ""
    softcap: str = ""
    window: int = 0
    chunk: int = 0
    alibi: str = ""
    sink: bool = False
    output_gate: bool = False
    output_norm: Norm | None = None
    temperature: Temperature | None = None


class Indexer(msgspec.Struct, frozen=True):
    """Sparse attention's index: which `top_k` positions a query attends to. `shared` takes the last full
    layer's."""

    heads: int
    head_dim: int
    top_k: int
    shared: bool


class LatentAttention(msgspec.Struct, frozen=True, tag="latent_attention"):
    """Multi-head latent attention: keys and values are expanded from one cached latent of `kv_rank`
    features."""

    heads: int
    q_rank: int
    kv_rank: int
    nope_dim: int
    rope_dim: int
    value_dim: int
    scale: Scale
    rotary: Rotary
    bias: bool = False
    latent_norm: Norm = Norm("rms", "0.000001")
    indexer: Indexer | None = None


class DeltaNet(msgspec.Struct, frozen=True, tag="delta_net"):
    """Gated delta rule over a recurrent state `[B, value heads, key dim, value dim]`, after a short causal
    convolution."""

    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    kernel: int
    norm: Norm
    fused: bool


class Mamba(msgspec.Struct, frozen=True, tag="mamba"):
    """Mamba 2: selective state space over `heads` heads of `head_dim`, in `groups` groups of B and C."""

    heads: int
    head_dim: int
    state: int
    groups: int
    kernel: int
    conv_bias: bool
    bias: bool
    norm: Norm
    activation: str
    step_low: str
    step_high: str


class ShortConvolution(msgspec.Struct, frozen=True, tag="short_convolution"):
    """`out(C * conv(B * x))` with `B, C, x` from one projection."""

    kernel: int
    bias: bool


class Mlp(msgspec.Struct, frozen=True, tag="mlp"):
    """`down(act(gate x) * up x)`, or `down(act(up x))` where not gated. `fused`: gate and up are rows of one
    weight."""

    inner: int
    activation: str
    gated: bool = True
    bias: bool = False
    fused: bool = False
    stored: Literal["out_in", "in_out"] = "out_in"
    inner_norm: Norm | None = None


class Router(msgspec.Struct, frozen=True):
    """How experts are chosen. Scores are `score` of the router's logits, over all experts or (`late`) over
    the chosen; `correction` adds a learned bias for the choice only; `groups` restricts it to the best
    `top_groups` groups."""

    score: Literal["softmax", "sigmoid", "sparsemixer"]
    top_k: int
    late: bool = False
    normalize: bool = False
    normalize_epsilon: str = ""
    scale: str = "1"
    bias: bool = False
    correction: bool = False
    groups: int = 1
    top_groups: int = 1
    group_score: Literal["", "max", "top2_sum"] = ""
    jitter: str = ""
    input_norm: Norm | None = None
    expert_scale: bool = False


class Experts(msgspec.Struct, frozen=True, tag="experts"):
    """A mixture of experts, with what is shared by all tokens. `latent` projects to and from that width
    around the experts; `scale_input` multiplies an expert's input, not its output, by its score; `clamp`
    bounds gate and up."""

    count: int
    inner: int
    activation: str
    router: Router
    gated: bool = True
    bias: bool = False
    latent: int = 0
    latent_bias: bool = False
    scale_input: bool = False
    shared: Mlp | None = None
    shared_gate: bool = False
    clamp: str = ""


class DenseAndExperts(msgspec.Struct, frozen=True, tag="dense_and_experts"):
    """Gemma 4: a dense block and a mixture of experts side by side, each with norms of its own, summed."""

    dense: Mlp
    experts: Experts
    norm: Norm


Mixer: TypeAlias = Attention | LatentAttention | DeltaNet | Mamba | ShortConvolution
Block: TypeAlias = Mlp | Experts | DenseAndExperts


class Layer(msgspec.Struct, frozen=True):
    """`x + scale * after(mixer(before(x)))`, then the same with the block. `parallel`: both read the layer's
    input, through `block_before` or, where that is absent, through the mixer's norm. A missing part is
    skipped."""

    kind: str
    mixer: Mixer | None = None
    block: Block | None = None
    mixer_before: Norm | None = None
    mixer_after: Norm | None = None
    block_before: Norm | None = None
    block_after: Norm | None = None
    parallel: bool = False
    residual_scale: Scale | None = None
    learned_scale: bool = False


class Decoder(msgspec.Struct, frozen=True):
    """A whole decoder. `names` replaces default module paths (see `build.names`); `positions` is the size of
    a learned position table (0: none)."""

    hidden: int
    vocab: int
    layers: tuple[Layer, ...]
    final_norm: Norm | None
    tied: bool
    max_positions: int
    intermediate: int
    names: Mapping[str, str] = {}
    embedding_scale: Scale | None = None
    positions: int = 0
    position_offset: int = 0
    head_bias: bool = False
    head_norm: bool = False
    logit_scale: Scale | None = None
    logit_softcap: str = ""
