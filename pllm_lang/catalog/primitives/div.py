"""`a / b`: elementwise; unknown where the divisor may be zero."""

from __future__ import annotations

from pllm_lang.catalog import polynomial
from pllm_lang.catalog.bounds import Arg, has_norms, max_abs, row_norm1, row_norm2_sq, times
from pllm_lang.catalog.facts import Exact, Facts
from pllm_lang.catalog.polynomial import Polynomial
from pllm_lang.catalog.primitives.elementwise import fitting_shape, spread, zip_entries
from pllm_lang.catalog.primitives.primitive import Params, Primitive
from pllm_lang.catalog.tensor import Entry, Shape, Tensor, ends
from pllm_lang.exact import interval
from pllm_lang.exact.number import Interval, ratio


def facts(args: tuple[Arg, ...], _params: Params) -> Facts:
    a, b = spread(args)
    x, y = a.facts.range, b.facts.range
    found = None if x is None or y is None else interval.div(x, y)
    unit = None if y is None or y.low != y.high or y.low == 0 else times(a.facts.unit, ratio(1, abs(y.low)))
    least = 0 if y is None else interval.mignitude(y)
    if not has_norms(a.facts) or least == 0:
        return Facts(range=found, unit=unit, rule="quotient of ranges")
    largest = ratio(1, least)
    return Facts(
        range=found,
        unit=unit,
        row_norm2_sq=times(row_norm2_sq(a), largest, largest),
        row_norm1=times(row_norm1(a), largest),
        rule="quotient of ranges",
    )


def execute(args: tuple[Tensor, ...], _params: Params) -> Tensor:
    return zip_entries(args[0], args[1], entry_quotient)


def entry_quotient(x: Entry, y: Entry) -> Entry:
    """ZeroDivisionError where the divisor is, or may be, zero."""
    if isinstance(x, Interval) or isinstance(y, Interval):
        found = interval.div(ends(x), ends(y))
        if found is None:
            raise ZeroDivisionError
        return found
    return ratio(x, y)


def error(args: tuple[Arg, ...], _params: Params) -> Exact | None:
    """|x'/y' - x/y| <= (|x'| e_y / |y'| + e_x) / |y|, with |y| >= |y'| - e_y."""
    a, b = args
    e, f, y = a.facts.error, b.facts.error, b.facts.range
    if e is None or f is None or y is None:
        return None
    near = interval.mignitude(y)
    if near <= f:
        return None
    limit = 0 if f == 0 else times(max_abs(a), ratio(f, near))
    return None if limit is None else ratio(limit + e, near - f)


def by_number(args: tuple[Polynomial, ...], _shapes: tuple[Shape, ...], _params: Params) -> Polynomial | None:
    """A polynomial only when the divisor is a number."""
    divisor = polynomial.constant(args[1])
    return polynomial.mul(args[0], polynomial.number(ratio(1, divisor))) if divisor else None


DIV = Primitive(
    name="/",
    arity=2,
    shape=fitting_shape,
    facts=facts,
    execute=execute,
    polynomial=by_number,
    error=error,
)
