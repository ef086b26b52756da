"""`polynomial(x, coefficients: [c0, c1, ..])`: c0 + c1 x + c2 x^2 + ..., entrywise."""

from __future__ import annotations

from pllm_lang.catalog import polynomial
from pllm_lang.catalog.bounds import Arg, common_unit, times
from pllm_lang.catalog.facts import Exact, Facts, Interval
from pllm_lang.catalog.polynomial import Polynomial
from pllm_lang.catalog.primitives.add import entry_sum
from pllm_lang.catalog.primitives.elementwise import map_entries
from pllm_lang.catalog.primitives.mul import entry_product
from pllm_lang.catalog.primitives.primitive import Params, Primitive
from pllm_lang.catalog.tensor import Entry, Shape, Tensor
from pllm_lang.exact import interval
from pllm_lang.exact.number import MAX_BITS, bits, power, ratio

PIECES = 16
"""The range is cut into this many parts; each gives a sharper enclosure than the whole."""


def coefficients_of(params: Params) -> tuple[Exact, ...]:
    found = params.get("coefficients", ())
    return found if isinstance(found, tuple) else ()


def shape(shapes: tuple[Shape, ...], params: Params) -> Shape | str:
    return shapes[0] if coefficients_of(params) else "polynomial needs `coefficients: [c0, c1, ..]`"


def facts(args: tuple[Arg, ...], params: Params) -> Facts:
    found = args[0].facts.range
    coefficients, unit = coefficients_of(params), args[0].facts.unit
    return Facts(
        range=None if found is None else value_range(coefficients, found),
        unit=None if unit is None else grid(coefficients, unit),
        rule="polynomial",
    )


def grid(coefficients: tuple[Exact, ...], unit: Exact) -> Exact | None:
    """The grid of the values at multiples of `unit`."""
    return common_unit(times(abs(c), power(unit, n)) for n, c in enumerate(coefficients) if c)


def value_range(coefficients: tuple[Exact, ...], x: Interval) -> Interval | None:
    """An enclosure of the polynomial over `x`; exact where it is monotone."""
    if len(coefficients) * max(bits(x.low), bits(x.high)) > MAX_BITS:
        return None
    slope = _sum_of_powers(derivative(coefficients), x)
    if slope is not None and (slope.low >= 0 or slope.high <= 0):
        ends = sorted((horner(coefficients, x.low), horner(coefficients, x.high)))
        return Interval(ends[0], ends[1])
    width = ratio(x.high - x.low, PIECES)
    found: Interval | None = None
    for i in range(PIECES):
        part = Interval(x.low + i * width, x.low + (i + 1) * width)
        piece = _piece(coefficients, part)
        if piece is None:
            return None
        found = piece if found is None else interval.hull(found, piece)
    return found


def _piece(coefficients: tuple[Exact, ...], x: Interval) -> Interval | None:
    powers, nested = _sum_of_powers(coefficients, x), interval.point(0)
    for c in reversed(coefficients):
        nested = interval.add(interval.mul(nested, x), interval.point(c))
    return None if powers is None else interval.meet(powers, nested)


def _sum_of_powers(coefficients: tuple[Exact, ...], x: Interval) -> Interval | None:
    total = interval.point(0)
    for n, c in enumerate(coefficients):
        raised = interval.int_power(x, n)
        if raised is None:
            return None
        total = interval.add(total, interval.scale(raised, c))
    return total


def derivative(coefficients: tuple[Exact, ...]) -> tuple[Exact, ...]:
    return tuple(n * c for n, c in enumerate(coefficients))[1:]


def horner(coefficients: tuple[Exact, ...], x: Exact) -> Exact:
    total: Exact = 0
    for c in reversed(coefficients):
        total = total * x + c
    return total


def execute(args: tuple[Tensor, ...], params: Params) -> Tensor:
    coefficients = coefficients_of(params)

    def value(x: Entry) -> Entry:
        total: Entry = 0
        for c in reversed(coefficients):
            total = entry_sum(entry_product(total, x), c)
        return total

    return map_entries(args[0], value)


def error(args: tuple[Arg, ...], params: Params) -> Exact | None:
    """The largest slope between computed and real values, times the operand's error."""
    e, found = args[0].facts.error, args[0].facts.range
    if e is None or found is None:
        return None
    slope = value_range(derivative(coefficients_of(params)), Interval(found.low - e, found.high + e))
    return None if slope is None else times(e, interval.magnitude(slope))


def expanded(args: tuple[Polynomial, ...], _shapes: tuple[Shape, ...], params: Params) -> Polynomial:
    total = polynomial.ZERO
    for c in reversed(coefficients_of(params)):
        total = polynomial.add(polynomial.mul(total, args[0]), polynomial.number(c))
    return total


POLYNOMIAL = Primitive(
    name="polynomial",
    shape=shape,
    facts=facts,
    execute=execute,
    polynomial=expanded,
    error=error,
    params=("coefficients",),
)
