"""`matmul(a, b)`: the matrix product over the last two axes; `b` is a matrix, or has the leading axes of
`a`."""

from __future__ import annotations

from collections.abc import Iterable

from pllm_lang.catalog import polynomial
from pllm_lang.catalog.bounds import (
    Arg,
    col_norm1,
    col_norm2_sq,
    column_size,
    has_norms,
    max_abs,
    plus,
    root,
    row_norm1,
    row_norm2_sq,
    times,
)
from pllm_lang.catalog.facts import Exact, Facts, Interval
from pllm_lang.catalog.primitives import transpose
from pllm_lang.catalog.primitives.add import entry_sum
from pllm_lang.catalog.primitives.elementwise import written
from pllm_lang.catalog.primitives.mul import entry_product
from pllm_lang.catalog.primitives.primitive import Params, Primitive
from pllm_lang.catalog.tensor import STRETCH, Entry, Row, Shape, Tensor, of_rows, row_length, spend
from pllm_lang.exact import interval


def shape(shapes: tuple[Shape, ...], _params: Params) -> Shape | str:
    a, b = shapes
    if len(a) < 1 or len(b) < 2 or STRETCH in a or STRETCH in b:
        return f"matmul takes rows and a matrix, not {written(a)} and {written(b)}"
    if a[-1] != b[-2]:
        return f"matmul of {written(a)} by {written(b)}: {a[-1]} columns meet {b[-2]} rows"
    if len(b) > 2 and a[:-2] != b[:-2]:
        return f"matmul of {written(a)} by {written(b)}: leading axes differ"
    return (*a[:-1], b[-1])


def facts(args: tuple[Arg, ...], _params: Params) -> Facts:
    a, b = args
    found, rule = best_range(a, b)
    if not (has_norms(a.facts) or has_norms(b.facts)):
        return Facts(range=found, unit=times(a.facts.unit, b.facts.unit), rule=rule)
    # ||a B|| <= sum_i |a_i| ||B_i|| <= norm1(a) * the largest row of B, and the same for columns
    total, column_total = a.facts.row_norm1, b.facts.col_norm1
    return Facts(
        range=found,
        unit=times(a.facts.unit, b.facts.unit),
        row_norm2_sq=None if total is None else times(total, total, row_norm2_sq(b)),
        row_norm1=None if total is None else times(total, row_norm1(b)),
        col_norm2_sq=None if column_total is None else times(column_total, column_total, col_norm2_sq(a)),
        col_norm1=None if column_total is None else times(column_total, col_norm1(a)),
        rule=rule,
    )


def best_range(a: Arg, b: Arg) -> tuple[Interval | None, str]:
    """The sharpest of: interval sum of k products; Hoelder (infinity, 1), (1, infinity), (2, 2); one-signed
    rows."""
    found_bounds = list(candidates(a, b))
    if not found_bounds:
        return None, ""
    found = found_bounds[0][0]
    for other, _ in found_bounds[1:]:
        found = interval.meet(found, other)
    return found, min(found_bounds, key=lambda c: interval.magnitude(c[0]))[1]


def candidates(a: Arg, b: Arg) -> Iterable[tuple[Interval, str]]:
    x, y, k = a.facts.range, b.facts.range, column_size(b.shape)
    if x is not None and y is not None and k is not None:
        yield interval.scale(interval.mul(x, y), k), "k * range(a) * range(b)"
    norms = (
        (times(max_abs(a), b.facts.col_norm1), "max_abs(a) * norm1(b)"),
        (times(a.facts.row_norm1, max_abs(b)), "norm1(a) * max_abs(b)"),
    )
    yield from ((interval.symmetric(limit), rule) for limit, rule in norms if limit is not None)
    if a.facts.row_norm2_sq is not None or b.facts.col_norm2_sq is not None:
        limit = root(times(row_norm2_sq(a), col_norm2_sq(b)))
        if limit is not None:
            yield interval.symmetric(limit), "norm2(a) * norm2(b)"
    if x is not None and y is not None:
        if x.low >= 0 and a.facts.row_norm1 is not None:
            yield _weighted(a.facts.row_norm1, y), "norm1(a) * range(b)"
        if y.low >= 0 and b.facts.col_norm1 is not None:
            yield _weighted(b.facts.col_norm1, x), "range(a) * norm1(b)"


def _weighted(total: Exact, of: Interval) -> Interval:
    """A sum with nonnegative weights that add up to at most `total`."""
    return Interval(total * min(of.low, 0), total * max(of.high, 0))


def execute(args: tuple[Tensor, ...], params: Params) -> Tensor:
    return products(args[0], transpose.execute((args[1],), params))


def products(a: Tensor, b: Tensor) -> Tensor:
    """`matmul(a, transpose(b))`: dot products of rows, each distinct pair of rows once."""
    shape_a, shape_b = a.shape, b.shape
    height, width = shape_a[-2] if len(shape_a) > 1 else 1, shape_b[-2]
    dots: dict[tuple[int, int], Entry] = {}
    spend(len(a.rows) * len(b.rows) * max(1, row_length(shape_a)))

    def rows() -> Iterable[Row]:
        rendered: dict[tuple[int, int], Row] = {}
        for r, left in enumerate(a.which):
            block = 0 if len(shape_b) == 2 else r // height
            if (left, block) not in rendered:
                others = b.which[block * width : (block + 1) * width]
                rendered[left, block] = tuple(_dot(a, b, left, right, dots) for right in others)
            yield rendered[left, block]

    return of_rows((*shape_a[:-1], width), rows())


def _dot(a: Tensor, b: Tensor, i: int, j: int, dots: dict[tuple[int, int], Entry]) -> Entry:
    if (i, j) not in dots:
        total: Entry = 0
        for x, y in zip(a.rows[i], b.rows[j], strict=True):
            total = entry_sum(total, entry_product(x, y))
        dots[i, j] = total
    return dots[i, j]


def error(args: tuple[Arg, ...], _params: Params) -> Exact | None:
    """The bound of a product, summed: norm1(a') e_b + norm1(b') e_a + k e_a e_b."""
    a, b = args
    e, f, k = a.facts.error, b.facts.error, column_size(b.shape)
    left = 0 if f == 0 else times(row_norm1(a), f)
    right = 0 if e == 0 else times(col_norm1(b), e)
    both = 0 if e == 0 or f == 0 else times(k, e, f)
    return plus(left, right, both)


MATMUL = Primitive(
    name="matmul",
    arity=2,
    shape=shape,
    facts=facts,
    execute=execute,
    polynomial=lambda args, _shapes, _params: polynomial.matmul(args[0], args[1]),
    error=error,
)
