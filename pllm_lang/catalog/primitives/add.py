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
)
from pllm_lang.catalog.facts import Exact, Facts
from pllm_lang.catalog.primitives.elementwise import fitting_shape, zip_entries
from pllm_lang.catalog.primitives.primitive import Params, Primitive
from pllm_lang.catalog.tensor import Entry, Tensor, ends
from pllm_lang.exact import interval
from pllm_lang.exact.number import Interval


def facts(args: tuple[Arg, ...], _params: Params) -> Facts:
    a, b = args
    x, y = a.facts.range, b.facts.range
    return with_norms(a, b, None if x is None or y is None else interval.add(x, y), "sum of ranges")


def with_norms(a: Arg, b: Arg, found: Interval | None, rule: str) -> Facts:
    """Triangle inequality for every norm; the same for a difference."""
    if not (has_norms(a.facts) or has_norms(b.facts)):
        return Facts(range=found, rule=rule)
    return Facts(
        range=found,
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


ADD = Primitive(
    name="+",
    shape=fitting_shape,
    facts=facts,
    execute=execute,
    polynomial=lambda args, _params: polynomial.add(args[0], args[1]),
    error=error,
)
