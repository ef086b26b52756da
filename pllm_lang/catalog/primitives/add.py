"""`a + b`: elementwise on equal shapes, or with a scalar or an explicit broadcast."""

from __future__ import annotations

from pllm_lang.catalog import polynomial
from pllm_lang.catalog.bounds import (
    Arg,
    col_norm1,
    col_norm2_sq,
    has_norms,
    plus,
    row_norm1,
    row_norm2_sq,
    square_of_sum,
    units_of,
)
from pllm_lang.catalog.facts import Exact, Facts
from pllm_lang.catalog.polynomial import Polynomial
from pllm_lang.catalog.primitives.elementwise import fit, fitting_shape, spread, zip_entries
from pllm_lang.catalog.primitives.primitive import Params, Primitive
from pllm_lang.catalog.tensor import Entry, Shape, Tensor, ends
from pllm_lang.exact import interval
from pllm_lang.exact.number import Interval


def facts(args: tuple[Arg, ...], _params: Params) -> Facts:
    a, b = spread(args)
    x, y = a.facts.range, b.facts.range
    return with_norms(a, b, None if x is None or y is None else interval.add(x, y), "sum of ranges")


def with_norms(a: Arg, b: Arg, found: Interval | None, rule: str) -> Facts:
    """Triangle inequality for every norm; the same for a difference."""
    unit = units_of((a, b))
    if not (has_norms(a.facts) or has_norms(b.facts)):
        return Facts(range=found, unit=unit, rule=rule)
    return Facts(
        range=found,
        unit=unit,
        row_norm2_sq=square_of_sum(row_norm2_sq(a), row_norm2_sq(b)),
        row_norm1=plus(row_norm1(a), row_norm1(b)),
        col_norm2_sq=square_of_sum(col_norm2_sq(a), col_norm2_sq(b)),
        col_norm1=plus(col_norm1(a), col_norm1(b)),
        rule=rule,
    )


def execute(args: tuple[Tensor, ...], _params: Params) -> Tensor:
    return zip_entries(args[0], args[1], entry_sum)


def entry_sum(x: Entry, y: Entry) -> Entry:
    if isinstance(x, Interval) or isinstance(y, Interval):
        return interval.add(ends(x), ends(y))
    return x + y


def error(args: tuple[Arg, ...], _params: Params) -> Exact | None:
    return plus(args[0].facts.error, args[1].facts.error)


def total(args: tuple[Polynomial, ...], shapes: tuple[Shape, ...], _params: Params) -> Polynomial | None:
    """The sum over the common shape: what is spread says so."""
    shape = fit(shapes[0], shapes[1])
    if shape is None:
        return None
    left, right = (
        part if own == shape else polynomial.spread(part, shape)
        for part, own in zip(args, shapes, strict=True)
    )
    return polynomial.add(left, right)


ADD = Primitive(
    name="+",
    arity=2,
    shape=fitting_shape,
    facts=facts,
    execute=execute,
    polynomial=total,
    error=error,
)
