"""`marked(indices, size: n)`: 1 at every place 0 to n - 1 that occurs in a row of `indices`, else 0."""

from __future__ import annotations

from pllm_lang.catalog.bounds import Arg
from pllm_lang.catalog.facts import Exact, Facts, Interval
from pllm_lang.catalog.primitives.elementwise import written
from pllm_lang.catalog.primitives.primitive import Params, Primitive, int_param
from pllm_lang.catalog.tensor import STRETCH, Row, Shape, Tensor, spend


def shape(shapes: tuple[Shape, ...], params: Params) -> Shape | str:
    x, size = shapes[0], int_param(params, "size")
    if not x or STRETCH in x or size is None or size < 1:
        return f"marked needs rows of places and a positive `size:`, not {written(x)} and {size}"
    return (*x[:-1], size)


def facts(args: tuple[Arg, ...], params: Params) -> Facts:
    """At most as many ones in a row as it has places."""
    most = min(args[0].shape[-1], int_param(params, "size") or 0)
    return Facts(range=Interval(0, 1), row_norm2_sq=most, row_norm1=most, unit=1, rule="marks")


def execute(args: tuple[Tensor, ...], params: Params) -> Tensor:
    x, size = args[0], int_param(params, "size") or 0
    spend(len(x.rows) * (size + x.shape[-1]))
    return Tensor((*x.shape[:-1], size), tuple(_marks(row, size) for row in x.rows), x.which)


def _marks(row: Row, size: int) -> Row:
    if any(isinstance(place, Interval) for place in row):
        raise ArithmeticError("an enclosure does not decide a place")
    places = set(row)
    return tuple(int(j in places) for j in range(size))


def error(_args: tuple[Arg, ...], _params: Params) -> Exact | None:
    """An inexact place marks another entry or none."""
    return 1


MARKED = Primitive(name="marked", shape=shape, facts=facts, execute=execute, error=error, params=("size",))
