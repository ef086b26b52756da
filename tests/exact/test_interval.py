"""Interval operations contain every result of their operands' members, and give ends that are attained."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pllm_lang.exact import interval as iv
from pllm_lang.exact.number import MAX_BITS, Exact, Interval

small = st.fractions(min_value=-9, max_value=9, max_denominator=8)
shares = st.fractions(min_value=0, max_value=1, max_denominator=8)
intervals = st.tuples(small, small).map(lambda ends: Interval(min(ends), max(ends)))


def member(x: Interval, share: Fraction) -> Exact:
    return x.low + (x.high - x.low) * share


BINARY: list[tuple[Callable[..., Interval | None], Callable[[Exact, Exact], Exact]]] = [
    (iv.add, lambda a, b: a + b),
    (iv.sub, lambda a, b: a - b),
    (iv.mul, lambda a, b: a * b),
    (iv.minimum, min),
    (iv.maximum, max),
]


@pytest.mark.parametrize(("operation", "exactly"), BINARY)
@given(x=intervals, y=intervals, s=shares, t=shares)
def test_binary_operations_contain_members(operation, exactly, x, y, s, t) -> None:
    found = operation(x, y)
    assert found.low <= exactly(member(x, s), member(y, t)) <= found.high


@pytest.mark.parametrize(("operation", "exactly"), BINARY)
@given(x=intervals, y=intervals)
def test_binary_ends_are_attained_at_corners(operation, exactly, x, y) -> None:
    corners = [exactly(a, b) for a in (x.low, x.high) for b in (y.low, y.high)]
    assert operation(x, y) == Interval(min(corners), max(corners))


@given(x=intervals, y=intervals, s=shares, t=shares)
def test_division(x, y, s, t) -> None:
    found = iv.div(x, y)
    if y.low <= 0 <= y.high:
        assert found is None
        return
    assert found is not None
    assert found.low <= Fraction(member(x, s)) / member(y, t) <= found.high


@given(x=intervals, n=st.integers(0, 7), s=shares)
def test_powers_are_tight(x, n, s) -> None:
    found = iv.int_power(x, n)
    assert found is not None
    assert found.low <= member(x, s) ** n <= found.high
    attained = {x.low**n, x.high**n} | ({Fraction(0) ** n} if x.low <= 0 <= x.high else set())
    assert {found.low, found.high} <= attained


@given(x=intervals, s=shares)
def test_square_and_absolute(x, s) -> None:
    inner = member(x, s)
    square, size = iv.square(x), iv.absolute(x)
    assert square.low <= inner * inner <= square.high
    assert size.low <= abs(inner) <= size.high
    assert square.low >= 0


@given(x=intervals, s=shares)
def test_sqrt_goes_outward(x, s) -> None:
    found = iv.sqrt(x)
    if x.low < 0:
        assert found is None
        return
    assert found is not None
    assert found.low**2 <= member(x, s) <= found.high**2


def test_sqrt_of_squares_is_exact() -> None:
    assert iv.sqrt(Interval(Fraction(9, 4), 16)) == Interval(Fraction(3, 2), 4)


@given(x=intervals, y=intervals, s=shares)
def test_meet_keeps_common_members_and_hull_keeps_all(x, y, s) -> None:
    inner = member(x, s)
    both, either = iv.meet(x, y), iv.hull(x, y)
    assert either.low <= inner <= either.high
    if y.low <= inner <= y.high:
        assert both.low <= inner <= both.high


@given(st.fractions(), st.fractions(), st.integers(0, 3000))
def test_outward_contains_and_is_bounded(a, b, shift) -> None:
    wide = Interval(min(a, b) / (3**400 * 2**shift + 1), max(a, b) * 3**300)
    if wide.low > wide.high:
        return
    found = iv.outward(wide)
    assert found is not None
    assert found.low <= wide.low
    assert wide.high <= found.high
    assert max(found.low.numerator.bit_length(), found.low.denominator.bit_length()) <= iv.COMPACT_BITS + 2


def test_what_is_too_large_is_unknown() -> None:
    assert iv.outward(Interval(0, 2 ** (MAX_BITS + 1))) is None
    assert iv.outward(Interval(Fraction(1, 3), Fraction(2 ** (MAX_BITS + 400), 3))) is None
    assert iv.int_power(Interval(2, 3), 2**40) is None
