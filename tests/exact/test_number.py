"""Exact numbers: text form, size limits, powers."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pllm_lang.exact.number import (
    MAX_BITS,
    TooLargeError,
    exact,
    power,
    ratio,
    round_down,
    round_up,
    text,
)

numbers = st.one_of(st.integers(), st.fractions())


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("12", 12),
        ("1_000", 1000),
        ("-1/128", Fraction(-1, 128)),
        ("0.5", Fraction(1, 2)),
        ("1e-6", Fraction(1, 10**6)),
        ("2.50e1", 25),
        ("6/3", 2),
    ],
)
def test_reads_the_written_forms(written: str, value: Fraction | int) -> None:
    assert exact(written) == value


def test_integral_values_are_integers() -> None:
    assert type(exact("6/3")) is int
    assert type(exact("2.0")) is int
    assert type(ratio(Fraction(1, 2), Fraction(1, 4))) is int


@given(numbers)
def test_the_text_form_reads_back(value: Fraction | int) -> None:
    assert exact(text(value)) == value


@pytest.mark.parametrize("written", ["", "x", "1/0", "1..2", "0x10", "1e", "--1", "nan", "inf"])
def test_refuses_what_is_no_number(written: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        exact(written)


@pytest.mark.parametrize("written", ["9" * 3_000_000, "1e999999", "1e-999999"])
def test_refuses_huge_numbers_without_computing_them(written: str) -> None:
    with pytest.raises(TooLargeError):
        exact(written)


def test_a_huge_power_is_unknown_not_computed() -> None:
    assert power(2, 2**40) is None
    assert power(Fraction(3, 2), -(2**40)) is None
    assert power(2, MAX_BITS) == 2**MAX_BITS
    assert power(2, MAX_BITS + 1) is None


def test_small_bases_have_every_power() -> None:
    assert power(1, 2**40) == 1
    assert power(-1, 2**40 + 1) == -1
    assert power(0, 5) == 0
    assert power(0, 0) == 1
    assert power(0, -1) is None
    assert power(2, Fraction(1, 2)) is None


@given(st.fractions(min_value=-8, max_value=8, max_denominator=9), st.integers(-6, 6))
def test_powers_are_the_product(base: Fraction, exponent: int) -> None:
    if base == 0 and exponent < 0:
        return
    assert power(base, exponent) == base**exponent


@given(st.fractions(), st.integers(4, 80))
def test_rounding_goes_the_stated_way_and_stays_close(value: Fraction, precision: int) -> None:
    low, high = round_down(value, precision), round_up(value, precision)
    assert low <= value <= high
    assert high - low <= abs(value) * Fraction(4, 2**precision)
