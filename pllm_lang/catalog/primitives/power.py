"""`a ^ n` for an integer n, entrywise; also how `a * a` is read."""

from __future__ import annotations

from pllm_lang.catalog import polynomial
from pllm_lang.catalog.bounds import (
    Arg,
    col_norm2_sq,
    has_norms,
    max_abs,
    row_norm2_sq,
    times,
)
from pllm_lang.catalog.facts import Exact, Facts
from pllm_lang.catalog.polynomial import Polynomial
from pllm_lang.catalog.primitives.elementwise import map_entries
from pllm_lang.catalog.primitives.primitive import Params, Primitive
from pllm_lang.catalog.tensor import Entry, Shape, Tensor, constant_value
from pllm_lang.exact import interval
from pllm_lang.exact.number import Interval, power

MAX_DEGREE = 64
"""A polynomial of higher degree is not expanded."""


def shape(shapes: tuple[Shape, ...], _params: Params) -> Shape | str:
    return shapes[0] if shapes[1] == () else "an exponent is one number"


def exponent_of(x: Arg) -> int | None:
    value = x.facts.value
    if value is None or not isinstance(value.entries[0], int):
        return None
    return value.entries[0]


def facts(args: tuple[Arg, ...], _params: Params) -> Facts:
    x, n = args[0], exponent_of(args[1])
    found = x.facts.range
    if n is None or found is None:
        return Facts()
    result = interval.int_power(found, n)
    unit = None if x.facts.unit is None or n < 0 else power(x.facts.unit, n)
    if n != 2 or not has_norms(x.facts):
        return Facts(range=result, unit=unit, rule="power of the range")
    return Facts(
        range=result,
        unit=unit,
        row_norm1=row_norm2_sq(x),
        row_norm2_sq=times(row_norm2_sq(x), max_abs(x), max_abs(x)),
        col_norm1=col_norm2_sq(x),
        col_norm2_sq=times(col_norm2_sq(x), max_abs(x), max_abs(x)),
        rule="power of the range",
    )


def execute(args: tuple[Tensor, ...], _params: Params) -> Tensor:
    n = constant_value(args[1])
    if not isinstance(n, int):
        raise ArithmeticError("the exponent is not an integer")

    def raised(entry: Entry) -> Entry:
        found = interval.int_power(entry, n) if isinstance(entry, Interval) else power(entry, n)
        if found is None:
            raise ArithmeticError("the power is undefined or too large")
        return found

    return map_entries(args[0], raised)


def error(args: tuple[Arg, ...], _params: Params) -> Exact | None:
    """|x'^n - x^n| <= n e (|x'| + e)^(n-1) for n >= 1."""
    n, e, limit = exponent_of(args[1]), args[0].facts.error, max_abs(args[0])
    if n is None or n < 1 or e is None or limit is None:
        return None
    return times(n, e, power(limit + e, n - 1))


def expanded(args: tuple[Polynomial, ...], _shapes: tuple[Shape, ...], _params: Params) -> Polynomial | None:
    n = polynomial.constant(args[1])
    if not isinstance(n, int) or not 0 <= n <= MAX_DEGREE:
        return None
    result = polynomial.number(1)
    for _ in range(n):
        result = polynomial.mul(result, args[0])
    return result


POWER = Primitive(
    name="^", arity=2, shape=shape, facts=facts, execute=execute, polynomial=expanded, error=error
)
