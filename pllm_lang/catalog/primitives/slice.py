"""`slice(x, axis: a, from: i, to: j)`: entries i to j - 1 along one axis."""

from __future__ import annotations

from pllm_lang.catalog.bounds import Arg
from pllm_lang.catalog.facts import Facts
from pllm_lang.catalog.primitives.elementwise import lipschitz, written
from pllm_lang.catalog.primitives.primitive import Params, Primitive, axis_param, int_param
from pllm_lang.catalog.primitives.structural import (
    distributed,
    flat_positions,
    same_entries,
    strides,
)
from pllm_lang.catalog.tensor import STRETCH, Shape, Tensor


def shape(shapes: tuple[Shape, ...], params: Params) -> Shape | str:
    x = shapes[0]
    axis, start, stop = axis_param(params, len(x)), int_param(params, "from", 0), int_param(params, "to")
    if axis is None or STRETCH in x:
        return f"slice: {written(x)} has no such axis"
    stop = x[axis] if stop is None and "to" not in params else stop
    if start is None or stop is None or not 0 <= start <= stop <= x[axis]:
        return f"slice {start}..<{stop} leaves an axis of {x[axis]} entries"
    return (*x[:axis], stop - start, *x[axis + 1 :])


def facts(args: tuple[Arg, ...], params: Params) -> Facts:
    """Part of a vector has no larger norm; only its largest entry may be cut off."""
    axis = axis_param(params, len(args[0].shape))
    kept = same_entries(args[0].facts, True, True)
    return kept if axis != len(args[0].shape) - 1 else _without_peak(kept)


def _without_peak(facts: Facts) -> Facts:
    return Facts(
        range=facts.range,
        row_norm2_sq=facts.row_norm2_sq,
        row_norm1=facts.row_norm1,
        col_norm2_sq=facts.col_norm2_sq,
        col_norm1=facts.col_norm1,
        unit=facts.unit,
        rule=facts.rule,
    )


def execute(args: tuple[Tensor, ...], params: Params) -> Tensor:
    x, new = args[0], shape((args[0].shape,), params)
    axis, start = axis_param(params, len(x.shape)), int_param(params, "from", 0)
    assert not isinstance(new, str), "shapes are inferred before execution"
    assert axis is not None
    assert start is not None
    if axis == len(new) - 1:
        return Tensor(new, tuple(row[start : start + new[-1]] for row in x.rows), x.which)
    steps = strides(x.shape)
    row_shape, row_steps = new[:-1], [step // max(x.shape[-1], 1) for step in steps[:-1]]
    picked = flat_positions(row_shape, row_steps, start * row_steps[axis])
    return Tensor(new, x.rows, tuple(x.which[p] for p in picked))


SLICE = Primitive(
    name="slice",
    shape=shape,
    facts=facts,
    execute=execute,
    polynomial=distributed("slice"),
    error=lipschitz(1),
    params=("axis", "from", "to"),
)
