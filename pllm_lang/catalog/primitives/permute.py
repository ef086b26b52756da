"""`permute(x, order: [..])`: axis i of the result is axis order[i] of `x`."""

from __future__ import annotations

import msgspec

from pllm_lang.catalog.bounds import Arg
from pllm_lang.catalog.facts import Facts
from pllm_lang.catalog.primitives.elementwise import lipschitz, written
from pllm_lang.catalog.primitives.primitive import Params, Primitive, shape_param
from pllm_lang.catalog.primitives.structural import (
    distributed,
    flat_positions,
    rearranged,
    same_entries,
    strides,
)
from pllm_lang.catalog.tensor import STRETCH, Shape, Tensor


def shape(shapes: tuple[Shape, ...], params: Params) -> Shape | str:
    x, order = shapes[0], shape_param(params, "order")
    if order is None or sorted(order) != list(range(len(x))) or STRETCH in x:
        return f"permute of {written(x)} needs `order:` with each of 0 to {len(x) - 1} once"
    return tuple(x[axis] for axis in order)


def facts(args: tuple[Arg, ...], params: Params) -> Facts:
    order, rank, old = shape_param(params, "order") or (), len(args[0].shape), args[0].facts
    rows, columns = order[-1:] == (rank - 1,), order[-2:-1] == (rank - 2,)
    kept = same_entries(old, rows, rank > 1 and columns)
    if rank > 1 and order[-1:] == (rank - 2,):
        kept = msgspec.structs.replace(kept, row_norm2_sq=old.col_norm2_sq, row_norm1=old.col_norm1)
    if rank > 1 and order[-2:-1] == (rank - 1,):
        kept = msgspec.structs.replace(kept, col_norm2_sq=old.row_norm2_sq, col_norm1=old.row_norm1)
    return kept


def execute(args: tuple[Tensor, ...], params: Params) -> Tensor:
    x, order = args[0], shape_param(params, "order") or ()
    new, steps = tuple(x.shape[axis] for axis in order), strides(x.shape)
    return rearranged(x, new, lambda: flat_positions(new, [steps[axis] for axis in order]))


PERMUTE = Primitive(
    name="permute",
    shape=shape,
    facts=facts,
    execute=execute,
    polynomial=distributed("permute"),
    error=lipschitz(1),
    params=("order",),
)
