"""`windows(x, size: k)`: each column's runs of k neighbours; entry [i, f, j] of the result is entry [i + j, f] of `x`."""

from __future__ import annotations

import msgspec

from pllm_lang.catalog.bounds import Arg, col_norm1, col_norm2_sq
from pllm_lang.catalog.facts import Facts
from pllm_lang.catalog.primitives.elementwise import lipschitz, written
from pllm_lang.catalog.primitives.primitive import Params, Primitive, int_param
from pllm_lang.catalog.primitives.structural import flat_positions, rearranged, same_entries, strides
from pllm_lang.catalog.tensor import STRETCH, Shape, Tensor, spend


def shape(shapes: tuple[Shape, ...], params: Params) -> Shape | str:
    x, size = shapes[0], int_param(params, "size")
    if len(x) < 2 or STRETCH in x or size is None or not 1 <= size <= x[-2]:
        return f"windows of {size} rows of {written(x)}"
    return (*x[:-2], x[-2] - size + 1, x[-1], size)


def facts(args: tuple[Arg, ...], _params: Params) -> Facts:
    """A row is part of a column of `x`, and a column of the result a whole row of it."""
    old = args[0].facts
    return msgspec.structs.replace(
        same_entries(old, False, False),
        row_norm2_sq=col_norm2_sq(args[0]),
        row_norm1=col_norm1(args[0]),
        col_norm2_sq=old.row_norm2_sq,
        col_norm1=old.row_norm1,
    )


def execute(args: tuple[Tensor, ...], params: Params) -> Tensor:
    x = args[0]
    new = shape((x.shape,), params)
    assert not isinstance(new, str), "shapes are inferred before execution"
    steps = (*strides(x.shape), strides(x.shape)[-2])

    def positions() -> list[int]:
        total = 1
        for size in new:
            total *= size
        spend(total)
        return flat_positions(new, steps)

    return rearranged(x, new, positions)


WINDOWS = Primitive(
    name="windows", shape=shape, facts=facts, execute=execute, error=lipschitz(1), params=("size",)
)
