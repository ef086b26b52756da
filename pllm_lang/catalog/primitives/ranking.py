"""`top_values(x, k: n)` and `top_indices(x, k: n)`: the n largest entries of every row in falling order,
and where."""

from __future__ import annotations

from pllm_lang.catalog.bounds import Arg
from pllm_lang.catalog.facts import Facts, Interval
from pllm_lang.catalog.primitives.elementwise import lipschitz, written
from pllm_lang.catalog.primitives.primitive import Params, Primitive, int_param
from pllm_lang.catalog.primitives.structural import same_entries
from pllm_lang.catalog.tensor import STRETCH, Row, Shape, Tensor


def shape(shapes: tuple[Shape, ...], params: Params) -> Shape | str:
    x, k = shapes[0], int_param(params, "k")
    if not x or STRETCH in x or k is None or not 1 <= k <= x[-1]:
        return f"the {k} largest of the rows of {written(x)}"
    return (*x[:-1], k)


def value_facts(args: tuple[Arg, ...], _params: Params) -> Facts:
    """Part of each row, its largest entry with it."""
    return same_entries(args[0].facts, True, False)


def index_facts(args: tuple[Arg, ...], _params: Params) -> Facts:
    return Facts(range=Interval(0, args[0].shape[-1] - 1), unit=1, rule="positions of a row")


def _order(row: Row) -> list[int]:
    exact = [(-entry, i) for i, entry in enumerate(row) if not isinstance(entry, Interval)]
    if len(exact) < len(row):
        raise ArithmeticError("enclosures do not decide an order")
    return [i for _, i in sorted(exact)]


def run_values(args: tuple[Tensor, ...], params: Params) -> Tensor:
    x, k = args[0], int_param(params, "k") or 0
    rows = tuple(tuple(row[i] for i in _order(row)[:k]) for row in x.rows)
    return Tensor((*x.shape[:-1], k), rows, x.which)


def run_indices(args: tuple[Tensor, ...], params: Params) -> Tensor:
    x, k = args[0], int_param(params, "k") or 0
    return Tensor((*x.shape[:-1], k), tuple(tuple(_order(row)[:k]) for row in x.rows), x.which)


TOP_VALUES = Primitive(
    name="top_values", shape=shape, facts=value_facts, execute=run_values, error=lipschitz(1), params=("k",)
)
TOP_INDICES = Primitive(
    name="top_indices", shape=shape, facts=index_facts, execute=run_indices, params=("k",)
)
