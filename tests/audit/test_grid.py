"""Spans on the grid hold what exact arithmetic gives at every point of their operands."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pllm_lang.audit import grid
from pllm_lang.audit.grid import Span
from pllm_lang.exact import enclose
from pllm_lang.exact.number import Exact, Interval

numbers = st.fractions(-300, 300, max_denominator=10**30) | st.fractions(-1, 1).map(lambda x: x / 2**100)


def around(*points: Fraction) -> Span:
    return grid.spanned(Interval(min(points), max(points)))


def holds(span: Span, value: Exact) -> bool:
    return span[0] <= value * grid.UNIT <= span[1]


BINARY: list[tuple[Callable[[Span, Span], Span], Callable[[Fraction, Fraction], Fraction]]] = [
    (grid.add, lambda x, y: x + y),
    (grid.mul, lambda x, y: x * y),
    (grid.hull, lambda x, _: x),
    (grid.hull, lambda _, y: y),
]
UNARY: list[tuple[Callable[[Span], Span | None], Callable[[Fraction], Fraction]]] = [
    (grid.neg, lambda x: -x),
    (grid.square, lambda x: x * x),
    (grid.absolute, abs),
    (lambda x: grid.scale(x, 7), lambda x: 7 * x),
    (lambda x: grid.power(x, 1), lambda x: x),
    (lambda x: grid.power(x, 2), lambda x: x**2),
    (lambda x: grid.power(x, 5), lambda x: x**5),
    (lambda x: grid.power(x, 12), lambda x: x**12),
]


@pytest.mark.parametrize("n", range(len(BINARY)))
@given(numbers, numbers, numbers, numbers)
def test_two_operands(n: int, a: Fraction, b: Fraction, c: Fraction, d: Fraction) -> None:
    operation, exactly = BINARY[n]
    found = operation(around(a, b), around(c, d))
    assert all(holds(found, exactly(x, y)) for x in (a, b, (a + b) / 2) for y in (c, d, (c + d) / 2))


@pytest.mark.parametrize("n", range(len(UNARY)))
@given(numbers, numbers, st.fractions(0, 1))
def test_one_operand(n: int, a: Fraction, b: Fraction, share: Fraction) -> None:
    operation, exactly = UNARY[n]
    found = operation(around(a, b))
    assert found is not None
    assert all(holds(found, exactly(x)) for x in (a, b, a + share * (b - a)))


@given(numbers, numbers)
def test_an_inverse_is_unknown_where_zero_is_inside(a: Fraction, b: Fraction) -> None:
    found = grid.inverse(around(a, b))
    if min(a, b) <= 0 <= max(a, b):
        assert found is None
    elif found is not None:
        assert all(holds(found, 1 / x) for x in (a, b, (a + b) / 2))


FUNCTIONS: list[tuple[Callable[[Span], Span | None], Callable[[Exact, int], Interval | None]]] = [
    (grid.exp, enclose.exp),
    (grid.tanh, enclose.tanh),
    (grid.erf, enclose.erf),
    (grid.sin, enclose.sin),
    (grid.cos, enclose.cos),
]


@pytest.mark.parametrize("n", range(len(FUNCTIONS)))
@given(
    st.fractions(-20, 20, max_denominator=10**6),
    st.fractions(0, 3, max_denominator=10**6),
    st.fractions(0, 1),
)
def test_functions(n: int, low: Fraction, width: Fraction, share: Fraction) -> None:
    """At a point inside, enclosed to 100 bits: no span leaves that enclosure outside."""
    operation, closely = FUNCTIONS[n]
    found, inner = operation(around(low, low + width)), closely(low + share * width, 100)
    assert found is not None
    assert inner is not None
    assert found[0] <= inner.high * grid.UNIT
    assert found[1] >= inner.low * grid.UNIT


@given(st.fractions(0, 400))
def test_a_root(x: Fraction) -> None:
    found = grid.sqrt(around(x, x))
    assert found is not None
    assert Fraction(found[0], grid.UNIT) ** 2 <= x + Fraction(1, 2**50)
    assert Fraction(found[1], grid.UNIT) ** 2 >= x


@given(st.fractions(max_denominator=10**24), st.integers(0, 24))
def test_decimals_and_their_halves_stand_on_the_grid(x: Fraction, digits: int) -> None:
    decimal = Fraction(round(x * 10**digits), 10**digits) / 2**60
    assert grid.down(decimal) == grid.up(decimal)
    assert grid.value_of(grid.down(decimal)) == decimal
