"""The explicit broadcasts: `row_broadcast(g)` puts the same rows everywhere, `col_broadcast(v)` one number
along a row.

`repeat(x, axis: a, times: n)` repeats each slice n times in place (grouped key and value heads).
"""

from __future__ import annotations

from pllm_lang.catalog.bounds import Arg, times
from pllm_lang.catalog.facts import Exact, Facts
from pllm_lang.catalog.primitives.elementwise import lipschitz, written
from pllm_lang.catalog.primitives.primitive import Params, Primitive, axis_param, int_param
from pllm_lang.catalog.primitives.structural import distributed, rearranged, same_entries
from pllm_lang.catalog.tensor import STRETCH, Shape, Tensor, entries, of_entries


def rows_shape(shapes: tuple[Shape, ...], _params: Params) -> Shape | str:
    if not shapes[0] or STRETCH in shapes[0]:
        return f"row_broadcast takes a row, not {written(shapes[0])}"
    return (STRETCH, *shapes[0])


def columns_shape(shapes: tuple[Shape, ...], _params: Params) -> Shape | str:
    if STRETCH in shapes[0]:
        return f"col_broadcast of an open broadcast {written(shapes[0])}"
    return (*shapes[0], STRETCH)


def rows_facts(args: tuple[Arg, ...], _params: Params) -> Facts:
    return same_entries(args[0].facts, True, len(args[0].shape) > 1)


def columns_facts(args: tuple[Arg, ...], _params: Params) -> Facts:
    return same_entries(args[0].facts, False, False)


def run_rows(args: tuple[Tensor, ...], _params: Params) -> Tensor:
    x = args[0]
    return Tensor((STRETCH, *x.shape), x.rows, x.which)


def run_columns(args: tuple[Tensor, ...], _params: Params) -> Tensor:
    x = args[0]
    return of_entries((*x.shape, STRETCH), entries(x))


def repeat_shape(shapes: tuple[Shape, ...], params: Params) -> Shape | str:
    x = shapes[0]
    axis, count = axis_param(params, len(x)), int_param(params, "times")
    if axis is None or count is None or count < 1 or STRETCH in x:
        return f"repeat of {written(x)} needs an axis and a positive `times:`"
    return (*x[:axis], x[axis] * count, *x[axis + 1 :])


def repeat_facts(args: tuple[Arg, ...], params: Params) -> Facts:
    x, rank = args[0].facts, len(args[0].shape)
    axis, count = axis_param(params, rank), int_param(params, "times")
    across, down = axis == rank - 1, axis == rank - 2
    return Facts(
        range=x.range,
        row_norm2_sq=_longer(x.row_norm2_sq, count, across),
        row_norm1=_longer(x.row_norm1, count, across),
        col_norm2_sq=_longer(x.col_norm2_sq, count, down),
        col_norm1=_longer(x.col_norm1, count, down),
        unit=x.unit,
        row_max_low=x.row_max_low,
        rule=x.rule,
    )


def _longer(norm: Exact | None, count: int | None, along: bool) -> Exact | None:
    return times(norm, count) if along else norm


def run_repeat(args: tuple[Tensor, ...], params: Params) -> Tensor:
    x, new = args[0], repeat_shape((args[0].shape,), params)
    axis, count = axis_param(params, len(x.shape)), int_param(params, "times")
    assert not isinstance(new, str), "shapes are inferred before execution"
    assert axis is not None
    assert count is not None
    inner = 1
    for size in x.shape[axis + 1 :]:
        inner *= size

    def positions() -> list[int]:
        total = inner
        for size in new[: axis + 1]:
            total *= size
        return [(p // (inner * count)) * inner + p % inner for p in range(total)]

    return rearranged(x, new, positions)


ROW_BROADCAST = Primitive(
    name="row_broadcast",
    shape=rows_shape,
    facts=rows_facts,
    execute=run_rows,
    polynomial=distributed("row_broadcast"),
    error=lipschitz(1),
)
COL_BROADCAST = Primitive(
    name="col_broadcast",
    shape=columns_shape,
    facts=columns_facts,
    execute=run_columns,
    polynomial=distributed("col_broadcast"),
    error=lipschitz(1),
)
REPEAT = Primitive(
    name="repeat",
    shape=repeat_shape,
    facts=repeat_facts,
    execute=run_repeat,
    polynomial=distributed("repeat"),
    error=lipschitz(1),
    params=("axis", "times"),
)
