"""`sum(x)` of all entries, `row_sum(x)` and `row_mean(x)` along the last axis."""

from __future__ import annotations

from math import prod

from pllm_lang.catalog import polynomial
from pllm_lang.catalog.bounds import Arg, row_norm1, row_size, times
from pllm_lang.catalog.facts import Exact, Facts, Interval
from pllm_lang.catalog.primitives.add import entry_sum
from pllm_lang.catalog.primitives.elementwise import lipschitz, written
from pllm_lang.catalog.primitives.mul import entry_product
from pllm_lang.catalog.primitives.primitive import Params, Primitive
from pllm_lang.catalog.tensor import STRETCH, Entry, Row, Shape, Tensor, of_entries, spend
from pllm_lang.exact import interval
from pllm_lang.exact.number import ratio


def whole_shape(shapes: tuple[Shape, ...], _params: Params) -> Shape | str:
    return f"sum of an open broadcast {written(shapes[0])}" if STRETCH in shapes[0] else ()


def rows_shape(shapes: tuple[Shape, ...], _params: Params) -> Shape | str:
    x = shapes[0]
    if not x or STRETCH in x or x[-1] == 0:
        return f"a sum over rows takes a tensor with rows, not {written(x)}"
    return x[:-1]


def whole_facts(args: tuple[Arg, ...], _params: Params) -> Facts:
    x = args[0]
    count = prod(x.shape)
    return _total(x, row_norm1(x), row_size(x.shape) or 1, count)


def row_facts(args: tuple[Arg, ...], _params: Params) -> Facts:
    x = args[0]
    count = row_size(x.shape) or 1
    return _total(x, row_norm1(x), count, count)


def mean_facts(args: tuple[Arg, ...], params: Params) -> Facts:
    total = row_facts(args, params)
    count = row_size(args[0].shape) or 1
    found = None if total.range is None else interval.scale(total.range, ratio(1, count))
    return Facts(range=found, unit=times(total.unit, ratio(1, count)), rule=total.rule)


def _total(x: Arg, norm1: Exact | None, row: int, count: int) -> Facts:
    """`count` entries: the range times the count, met with the norms of the rows."""
    found, rule = x.facts.range, "count * range"
    n_rows = count // row if row else 0
    if found is None:
        return Facts(unit=x.facts.unit)
    total = interval.scale(found, count)
    limit = times(n_rows, norm1)
    if limit is not None and limit < interval.magnitude(total):
        total, rule = interval.meet(total, interval.symmetric(limit)), "norm1 of the rows"
    peak = x.facts.row_max_low
    if peak is not None and found.low >= 0 and n_rows * peak > total.low:
        total = interval.meet(total, Interval(n_rows * peak, total.high))
    return Facts(range=total, unit=x.facts.unit, rule=rule)


def run_whole(args: tuple[Tensor, ...], _params: Params) -> Tensor:
    x = args[0]
    sums = [_row_total(row) for row in x.rows]
    counts = [0] * len(x.rows)
    for r in x.which:
        counts[r] += 1
    total: Entry = 0
    for count, part in zip(counts, sums, strict=True):
        total = entry_sum(total, entry_product(count, part))
    return of_entries((), (total,))


def run_rows(args: tuple[Tensor, ...], _params: Params) -> Tensor:
    x = args[0]
    sums = [_row_total(row) for row in x.rows]
    return of_entries(x.shape[:-1], [sums[r] for r in x.which])


def run_means(args: tuple[Tensor, ...], _params: Params) -> Tensor:
    x = args[0]
    share = ratio(1, x.shape[-1])
    means = [entry_product(share, _row_total(row)) for row in x.rows]
    return of_entries(x.shape[:-1], [means[r] for r in x.which])


def _row_total(row: Row) -> Entry:
    spend(len(row))
    total: Entry = 0
    for entry in row:
        total = entry_sum(total, entry)
    return total


def whole_error(args: tuple[Arg, ...], _params: Params) -> Exact | None:
    return times(prod(args[0].shape), args[0].facts.error)


def row_error(args: tuple[Arg, ...], _params: Params) -> Exact | None:
    return times(row_size(args[0].shape), args[0].facts.error)


def _linear(fn: str) -> polynomial.Map:
    return polynomial.Map(fn)


SUM = Primitive(
    name="sum",
    shape=whole_shape,
    facts=whole_facts,
    execute=run_whole,
    polynomial=lambda args, _shapes, _params: polynomial.linear(args[0], _linear("sum")),
    error=whole_error,
)
ROW_SUM = Primitive(
    name="row_sum",
    shape=rows_shape,
    facts=row_facts,
    execute=run_rows,
    polynomial=lambda args, _shapes, _params: polynomial.linear(args[0], _linear("row_sum")),
    error=row_error,
)
ROW_MEAN = Primitive(
    name="row_mean",
    shape=rows_shape,
    facts=mean_facts,
    execute=run_means,
    error=lipschitz(1),
)
