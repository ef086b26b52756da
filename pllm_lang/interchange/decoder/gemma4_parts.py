"""Gemma 4 geometries, and the operations that this family writes its own way.

In: ids, shapes, weights. Out: one operation each, with the number formats that the family rounds to.
"""

from __future__ import annotations

import msgspec

from pllm_lang.interchange.decoder.plan import POSITIONS, Operation, Shape, operation

ROOT = "model.language_model."
BFLOAT = {"compute_dtype": "bfloat16", "output_dtype": "bfloat16"}
FLOAT32_INSIDE = {"compute_dtype": "float32", "output_dtype": "bfloat16"}
PERMUTE = (0, 2, 1, 3)


class Gemma4(msgspec.Struct, frozen=True):
    """One published geometry. Every `full_every`-th layer attends to all positions, the others to a window.

    The last `shared_kv` layers reuse the keys and values of the last layer of their kind that has its own;
    `wide_shared` doubles the feed-forward width of those.
    """

    layers: int
    full_every: int
    shared_kv: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    global_head_dim: int
    intermediate: int
    wide_shared: bool
    vocabulary: int
    per_layer: int
    window: int
    maximum_positions: int
    revision: str


class Layer(msgspec.Struct, frozen=True):
    """What differs between layers: number, whether it attends to all, whose keys it reads, its sizes."""

    number: int
    is_full: bool
    source: int
    owns_kv: bool
    head_dim: int
    intermediate: int


def norm(id: str, source: str, shape: Shape, weight: str | None) -> Operation:
    """A norm over the last axis; `weight` None leaves it unscaled."""
    path = None if weight is None else f"{weight}.weight"
    scale = {"weight": path, "weight_offset": 1, "with_scale": path is not None}
    return operation(id, "rms_norm", (source,), shape, epsilon="1/1000000", **scale, **FLOAT32_INSIDE)


def scale(id: str, source: str, shape: Shape, kind: str, radicand: int, *, held_as: str) -> Operation:
    """A product with a constant that is held as `held_as` and rounded to bfloat16."""
    return operation(
        id, "scale", (source,), shape, factor={"kind": kind, "radicand": radicand, **rounding(held_as)}
    )


def rounding(held_as: str) -> dict[str, str]:
    """How a factor is held, rounded and multiplied."""
    return {"factor_source_dtype": held_as, "factor_rounding_dtype": "bfloat16", **BFLOAT}


def gelu(id: str, source: str, shape: Shape) -> Operation:
    """GELU in its tanh form."""
    return operation(id, "gelu_tanh", (source,), shape, approximation="tanh", **BFLOAT)


def heads_first(id: str, source: str, shape: Shape) -> Operation:
    """Swap the sequence axis and the heads axis."""
    moved = (shape[0], shape[2], shape[1], shape[3])
    return operation(id, "permute", (source,), moved, permutation=PERMUTE)


def rotate(layer: Layer, id: str, source: str, shape: Shape) -> Operation:
    """Rotary embedding with the base of the layer's kind."""
    return operation(
        id,
        "rotary_embedding",
        (source, POSITIONS),
        shape,
        theta=1_000_000 if layer.is_full else 10_000,
        head_dim=layer.head_dim,
        rope_type="proportional" if layer.is_full else "default",
        partial_rotary_factor={"numerator": 1, "denominator": 4 if layer.is_full else 1},
        attention_scaling={"numerator": 1, "denominator": 1},
        frequency_compute_dtype="float32",
        output_dtype="bfloat16",
    )
