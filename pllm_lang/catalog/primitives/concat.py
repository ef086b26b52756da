"""`concat(a, b, axis: n)`: `b` behind `a` along one axis."""

from __future__ import annotations

from pllm_lang.catalog.bounds import (
    Arg,
    col_norm1,
    col_norm2_sq,
    has_norms,
    plus,
    row_norm1,
    row_norm2_sq,
    units_of,
)
from pllm_lang.catalog.facts import Exact, Facts
from pllm_lang.catalog.primitives.elementwise import lipschitz, written
from pllm_lang.catalog.primitives.primitive import Params, Primitive, axis_param
from pllm_lang.catalog.tensor import STRETCH, Entry, Shape, Tensor, entries, of_entries
from pllm_lang.exact import interval


def shape(shapes: tuple[Shape, ...], params: Params) -> Shape | str:
    a, b = shapes
    axis = axis_param(params, len(a))
    if axis is None or len(a) != len(b) or STRETCH in (*a, *b):
        return f"concat of {written(a)} and {written(b)}: no such axis"
    if a[:axis] != b[:axis] or a[axis + 1 :] != b[axis + 1 :]:
        return f"concat of {written(a)} and {written(b)}: the other axes differ"
    return (*a[:axis], a[axis] + b[axis], *a[axis + 1 :])


def facts(args: tuple[Arg, ...], params: Params) -> Facts:
    a, b = args
    x, y = a.facts.range, b.facts.range
    found = None if x is None or y is None else interval.hull(x, y)
    if not (has_norms(a.facts) or has_norms(b.facts)):
        return Facts(range=found, unit=units_of(args), rule="either part")
    rank = len(a.shape)
    axis = axis_param(params, rank)
    across, down = axis == rank - 1, axis == rank - 2
    return Facts(
        range=found,
        unit=units_of(args),
        row_norm2_sq=_joined(row_norm2_sq(a), row_norm2_sq(b), across),
        row_norm1=_joined(row_norm1(a), row_norm1(b), across),
        col_norm2_sq=_joined(col_norm2_sq(a), col_norm2_sq(b), down),
        col_norm1=_joined(col_norm1(a), col_norm1(b), down),
        rule="either part",
    )


def _joined(x: Exact | None, y: Exact | None, end_to_end: bool) -> Exact | None:
    if end_to_end:
        return plus(x, y)
    return None if x is None or y is None else max(x, y)


def execute(args: tuple[Tensor, ...], params: Params) -> Tensor:
    a, b = args
    new, axis = shape((a.shape, b.shape), params), axis_param(params, len(a.shape))
    assert not isinstance(new, str), "shapes are inferred before execution"
    assert axis is not None
    if axis != len(new) - 1:
        return _stack(a, b, new, axis)
    left, right = entries(a), entries(b)
    n, m = a.shape[-1], b.shape[-1]
    merged: list[Entry] = []
    for r in range(len(a.which)):
        merged += left[r * n : (r + 1) * n] + right[r * m : (r + 1) * m]
    return of_entries(new, merged)


def _stack(a: Tensor, b: Tensor, new: Shape, axis: int) -> Tensor:
    """Along another axis than the last, whole rows move."""
    above, below = _block(a.shape, axis), _block(b.shape, axis)
    offset = len(a.rows)
    which: list[int] = []
    for i in range(len(a.which) // max(above, 1) if above else len(b.which) // max(below, 1)):
        which += a.which[i * above : (i + 1) * above]
        which += [offset + r for r in b.which[i * below : (i + 1) * below]]
    return Tensor(new, (*a.rows, *b.rows), tuple(which))


def _block(shape: Shape, axis: int) -> int:
    rows = 1
    for size in shape[axis:-1]:
        rows *= size
    return rows


CONCAT = Primitive(
    name="concat", arity=2, shape=shape, facts=facts, execute=execute, error=lipschitz(1), params=("axis",)
)
