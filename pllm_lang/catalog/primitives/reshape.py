"""`reshape(x, shape: [..])`: the same entries, row-major, under another shape."""

from __future__ import annotations

from math import prod

from pllm_lang.catalog.bounds import Arg
from pllm_lang.catalog.facts import Facts
from pllm_lang.catalog.primitives.elementwise import lipschitz, written
from pllm_lang.catalog.primitives.primitive import Params, Primitive, shape_param
from pllm_lang.catalog.primitives.structural import distributed, rearranged, same_entries
from pllm_lang.catalog.tensor import Shape, Tensor, row_length


def shape(shapes: tuple[Shape, ...], params: Params) -> Shape | str:
    wanted = shape_param(params, "shape")
    if wanted is None or any(n < 0 for n in wanted):
        return "reshape needs `shape: [..]` of whole numbers"
    if prod(wanted) != prod(shapes[0]):
        return f"{written(shapes[0])} has {prod(shapes[0])} entries, {written(wanted)} has {prod(wanted)}"
    return wanted


def facts(args: tuple[Arg, ...], params: Params) -> Facts:
    new = shape_param(params, "shape") or ()
    old = args[0].shape
    rows = new[-1:] == old[-1:]
    return same_entries(args[0].facts, rows, rows and len(new) > 1 and new[-2:] == old[-2:])


def execute(args: tuple[Tensor, ...], params: Params) -> Tensor:
    x, new = args[0], shape_param(params, "shape") or ()
    if row_length(new) == row_length(x.shape):
        return Tensor(new, x.rows, x.which)
    return rearranged(x, new, lambda: range(prod(new)))


RESHAPE = Primitive(
    name="reshape",
    shape=shape,
    facts=facts,
    execute=execute,
    polynomial=distributed("reshape"),
    error=lipschitz(1),
    params=("shape",),
)
