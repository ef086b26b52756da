"""The semantic graph: what a decoder computes, before anyone says how it is protected.

One format for every model family. Data only; frozen; no binary floats: counts are `int`, real numbers are
exact text (`"0.000001"`, `"1/128"`). A graph has two stages, prefill and decode. Equal layers stand once, as
one `Repeat` body with the list of its layer indices, so a graph of 126 equal layers is as large as a graph of
one.

How names resolve. In a body an operand is the name of an earlier op of the same body, a carried value
(`hidden`), a stage input (`tokens`, `positions`, `lengths`) or `state.NAME`. In a weight's name `*` is the
layer, and `#` the expert. Ops before and after the layers see the stage inputs and, after, the carried
values.

Shapes: `B` batch, `Q` query positions, `A` attended positions, `H` heads, `K` key/value heads, `D` features a
head. Hidden values are `[B, Q, hidden]`, heads `[B, H, Q, D]`, scores `[B, H, Q, A]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

Attribute: TypeAlias = int | str | bool | tuple[int | str, ...]
Shape: TypeAlias = tuple[int, ...]

GRAPH_SCHEMA = "pllm-lang.model-graph.v1"


class Tensor(msgspec.Struct, frozen=True):
    name: str
    shape: Shape


class Op(msgspec.Struct, frozen=True, omit_defaults=True):
    """One operation. `weights` maps the operator's role (`weight`, `bias`, `sink`) to a weight's name."""

    name: str
    operator: str
    inputs: tuple[str, ...]
    shape: Shape
    weights: Mapping[str, str] = {}
    attributes: Mapping[str, Attribute] = {}


class Repeat(msgspec.Struct, frozen=True):
    """One layer body for every index in `layers`, ascending. Layers of a stage run in the order of their index.

    `carried` says which op gives the next value of each carried name, `writes` which op each state keeps.
    """

    kind: str
    layers: tuple[int, ...]
    ops: tuple[Op, ...]
    carried: Mapping[str, str]
    writes: Mapping[str, str]


class Stage(msgspec.Struct, frozen=True):
    """A graph that runs `steps` times on `query` positions a sequence.

    `carried` names the first carried values, `outputs` the logits and the next token.
    """

    mode: Literal["prefill", "decode"]
    steps: int
    query: int
    inputs: tuple[Tensor, ...]
    before: tuple[Op, ...]
    carried: Mapping[str, str]
    layers: tuple[Repeat, ...]
    after: tuple[Op, ...]
    outputs: tuple[str, ...]


class Weight(msgspec.Struct, frozen=True, omit_defaults=True):
    """A family of equal-shaped weights: one for each layer of `layers` (none: a single one) and each expert.

    `shape` is that of one member, as stored: a linear layer's is `[out, in]`. `bits` is 0 where no pass set
    it; `parts` names the checkpoint's weights whose rows a pass put one below the other.
    """

    name: str
    shape: Shape
    layers: tuple[int, ...] = ()
    experts: int = 0
    bits: int = 0
    parts: tuple[str, ...] = ()


class State(msgspec.Struct, frozen=True):
    """What prefill hands to decode, one for each layer in `layers`. A `cache` holds the last positions, in
    order, up to its capacity (its axis 2); a `recurrent` state has a fixed size and starts at zero."""

    name: str
    kind: Literal["cache", "convolution", "recurrent", "indices"]
    layers: tuple[int, ...]
    shape: Shape


class ConfigIdentity(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which config a graph was lowered from. `digest` covers every key of the config, read or not."""

    model_type: str
    family: str
    digest: str
    architectures: tuple[str, ...] = ()
    dtype: str = ""
    quantization: Mapping[str, str] = {}
    stop_tokens: tuple[int, ...] = ()


class Dimensions(msgspec.Struct, frozen=True):
    """Sizes of the whole model; where layers differ, those of the first that has the part. 0 means none."""

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocab: int
    experts: int
    experts_per_token: int
    max_positions: int
    tied: bool
    layer_kinds: tuple[str, ...]


class Workload(msgspec.Struct, frozen=True):
    """The fixed bounds that a graph is lowered for. Decode runs `max_new_tokens - 1` times."""

    batch: int
    max_input_tokens: int
    max_new_tokens: int


class Transformation(msgspec.Struct, frozen=True):
    """One applied pass: its name, its parameters and the digest of the graph that it was applied to."""

    name: str
    parameters: Mapping[str, Attribute]
    input_digest: str


class ModelGraph(msgspec.Struct, frozen=True):
    schema: str
    config: ConfigIdentity
    dimensions: Dimensions
    workload: Workload
    prefill: Stage
    decode: Stage
    weights: tuple[Weight, ...]
    states: tuple[State, ...]
    transformations: tuple[Transformation, ...] = ()
