"""`a * b`: elementwise on equal shapes, or by a scalar or an explicit broadcast."""

from __future__ import annotations

from pllm_lang.catalog import polynomial
from pllm_lang.catalog.bounds import (
    Arg,
    col_norm1,
    col_norm2_sq,
    has_norms,
    least,
    max_abs,
    plus,
    root,
    row_norm1,
    row_norm2_sq,
    times,
)
from pllm_lang.catalog.facts import Exact, Facts
from pllm_lang.catalog.primitives.elementwise import fitting_shape, spread, zip_entries
from pllm_lang.catalog.primitives.primitive import Params, Primitive
from pllm_lang.catalog.tensor import Entry, Tensor, ends
from pllm_lang.exact import interval
from pllm_lang.exact.number import Interval


def facts(args: tuple[Arg, ...], _params: Params) -> Facts:
    a, b = spread(args)
    x, y = a.facts.range, b.facts.range
    found, rule = (None if x is None or y is None else interval.mul(x, y)), "product of ranges"
    if not (has_norms(a.facts) or has_norms(b.facts)):
        return Facts(range=found, unit=times(a.facts.unit, b.facts.unit), rule=rule)
    p, q = max_abs(a), max_abs(b)
    return Facts(
        range=found,
        unit=times(a.facts.unit, b.facts.unit),
        row_norm2_sq=_norm2_sq(row_norm2_sq(a), q, p, row_norm2_sq(b)),
        row_norm1=_norm1(row_norm1(a), q, p, row_norm1(b), row_norm2_sq(a), row_norm2_sq(b)),
        col_norm2_sq=_norm2_sq(col_norm2_sq(a), q, p, col_norm2_sq(b)),
        col_norm1=_norm1(col_norm1(a), q, p, col_norm1(b), col_norm2_sq(a), col_norm2_sq(b)),
        rule=rule,
    )


def execute(args: tuple[Tensor, ...], _params: Params) -> Tensor:
    return zip_entries(args[0], args[1], entry_product)


def entry_product(x: Entry, y: Entry) -> Entry:
    if isinstance(x, Interval) or isinstance(y, Interval):
        return interval.mul(ends(x), ends(y))
    return x * y


def error(args: tuple[Arg, ...], _params: Params) -> Exact | None:
    """|x'y' - xy| <= |x'| e_y + |y'| e_x + e_x e_y, with x', y' as computed."""
    a, b = args
    e, f = a.facts.error, b.facts.error
    if (
        e == 0 or f == 0
    ):  # an exact factor of unknown range still needs its bound, an exact one alone does not
        return plus(_side(a, f), _side(b, e))
    return plus(_side(a, f), _side(b, e), times(e, f))


def _side(x: Arg, other_error: Exact | None) -> Exact | None:
    return 0 if other_error == 0 else times(max_abs(x), other_error)


def _norm2_sq(x_sq: Exact | None, q: Exact | None, p: Exact | None, y_sq: Exact | None) -> Exact | None:
    return least((times(x_sq, q, q), times(p, p, y_sq)))


def _norm1(
    x: Exact | None, q: Exact | None, p: Exact | None, y: Exact | None, x_sq: Exact | None, y_sq: Exact | None
) -> Exact | None:
    """Hoelder for (1, infinity) both ways, Cauchy-Schwarz for (2, 2)."""
    return least((times(x, q), times(p, y), root(times(x_sq, y_sq))))


MUL = Primitive(
    name="*",
    arity=2,
    shape=fitting_shape,
    facts=facts,
    execute=execute,
    polynomial=lambda args, _shapes, _params: polynomial.mul(args[0], args[1]),
    error=error,
)
