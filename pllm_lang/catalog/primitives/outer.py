"""`outer(a, b)`: every entry of a row of `a` times every entry of the vector `b`; per-row times per-column
scales."""

from __future__ import annotations

from pllm_lang.catalog.bounds import Arg, has_norms, max_abs, row_norm1, row_norm2_sq, times
from pllm_lang.catalog.facts import Exact, Facts
from pllm_lang.catalog.primitives import mul
from pllm_lang.catalog.primitives.elementwise import written
from pllm_lang.catalog.primitives.mul import entry_product
from pllm_lang.catalog.primitives.primitive import Params, Primitive
from pllm_lang.catalog.tensor import STRETCH, Row, Shape, Tensor, entries, of_rows, row, spend
from pllm_lang.exact import interval


def shape(shapes: tuple[Shape, ...], _params: Params) -> Shape | str:
    a, b = shapes
    if not a or len(b) != 1 or STRETCH in (*a, *b):
        return f"outer takes rows and one vector, not {written(a)} and {written(b)}"
    return (*a, *b)


def facts(args: tuple[Arg, ...], _params: Params) -> Facts:
    a, b = args
    x, y = a.facts.range, b.facts.range
    found = None if x is None or y is None else interval.mul(x, y)
    if not (has_norms(a.facts) or has_norms(b.facts)):
        return Facts(range=found, unit=times(a.facts.unit, b.facts.unit), rule="product of ranges")
    p, q = max_abs(a), max_abs(b)
    return Facts(
        range=found,
        unit=times(a.facts.unit, b.facts.unit),
        row_norm2_sq=times(p, p, row_norm2_sq(b)),
        row_norm1=times(p, row_norm1(b)),
        col_norm2_sq=times(row_norm2_sq(a), q, q),
        col_norm1=times(row_norm1(a), q),
        rule="product of ranges",
    )


def execute(args: tuple[Tensor, ...], _params: Params) -> Tensor:
    a, b = args
    right: Row = row(b, 0)
    seen: dict[object, Row] = {}
    rows: list[Row] = []
    for left in entries(a):
        if left not in seen:
            spend((len(seen) + 1) * len(right))
            seen[left] = tuple(entry_product(left, y) for y in right)
        rows.append(seen[left])
    return of_rows((*a.shape, len(right)), rows)


def error(args: tuple[Arg, ...], params: Params) -> Exact | None:
    return mul.error(args, params)


OUTER = Primitive(name="outer", arity=2, shape=shape, facts=facts, execute=execute, error=error)
