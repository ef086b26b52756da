"""Enclosures of transcendental functions: checked against sharper ones, identities, and known decimals."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pllm_lang.exact import enclose

points = st.fractions(min_value=-30, max_value=30, max_denominator=1000)
FUNCTIONS = [enclose.exp, enclose.tanh, enclose.erf, enclose.cos, enclose.sin]

KNOWN = [
    # 50 decimals each, from Abramowitz and Stegun, tables 1.1 and 7.1, and OEIS A001113, A000796, A002162
    (enclose.exp, Fraction(1), "2.71828182845904523536028747135266249775724709369995"),
    (enclose.log, Fraction(2), "0.69314718055994530941723212145817656807550013436025"),
    (enclose.sqrt, Fraction(2), "1.41421356237309504880168872420969807856967187537694"),
    (lambda _x, bits: enclose.pi(bits), Fraction(0), "3.14159265358979323846264338327950288419716939937510"),
]


@pytest.mark.parametrize(("function", "x", "decimals"), KNOWN)
@pytest.mark.parametrize("bits", [8, 64, 140])
def test_contains_the_known_decimals(function, x, decimals, bits) -> None:
    found = function(x, bits)
    value, last = Fraction(decimals), Fraction(1, 10**50)
    assert found.low <= value + last
    assert found.high >= value - last
    assert found.high - found.low <= Fraction(16, 2**bits)


@pytest.mark.parametrize("function", FUNCTIONS)
@settings(max_examples=60)
@given(x=points)
def test_coarse_and_sharp_enclosures_overlap(function, x) -> None:
    """Two computations at different precision both contain the value, so they meet, and the sharp one is
    narrow."""
    coarse, sharp = function(x, 24), function(x, 180)
    assert coarse.low <= sharp.high
    assert sharp.low <= coarse.high
    scale = max(1, sharp.high) if function is enclose.exp else 1
    assert sharp.high - sharp.low <= Fraction(scale, 2**176)


@pytest.mark.parametrize("function", FUNCTIONS)
@given(x=points)
def test_agrees_with_the_c_library(function, x) -> None:
    found = function(x)
    near = Fraction(getattr(math, function.__name__)(float(x)))
    slack = Fraction(1, 10**9) * max(1, abs(near))
    assert found.low - slack <= near <= found.high + slack


@settings(max_examples=60)
@given(x=points, y=points)
def test_exp_of_a_sum(x, y) -> None:
    both, first, second = enclose.exp(x + y), enclose.exp(x), enclose.exp(y)
    assert both is not None
    assert first is not None
    assert second is not None
    assert first.low * second.low <= both.high
    assert both.low <= first.high * second.high


@given(x=st.fractions(min_value=Fraction(1, 10**6), max_value=10**6))
def test_log_inverts_exp(x) -> None:
    found = enclose.log(x, 80)
    below, above = enclose.exp(found.low, 80), enclose.exp(found.high, 80)
    assert below is not None
    assert above is not None
    assert below.low <= x <= above.high


@given(x=st.fractions(min_value=0, max_value=10**12))
def test_root_squares_around(x) -> None:
    found = enclose.sqrt(x)
    assert found.low**2 <= x <= found.high**2


@given(x=points)
def test_circle(x) -> None:
    c, s = enclose.cos(x), enclose.sin(x)
    farthest = max(c.low**2, c.high**2) + max(s.low**2, s.high**2)
    assert farthest >= 1
    assert farthest - 1 <= Fraction(1, 2**58)


def test_limits() -> None:
    assert enclose.exp(enclose.EXP_LIMIT + 1) is None
    small = enclose.exp(-enclose.EXP_LIMIT - 1)
    assert small is not None
    assert 0 == small.low < small.high < Fraction(1, 2**7000)
    for function in (enclose.tanh, enclose.erf):
        assert function(10**9).high == 1
        assert function(-(10**9)).low == -1
        assert function(10**9).low >= 1 - Fraction(1, 2**60)
        assert function(0) == enclose.sqrt(0)


def test_arguments_beyond_the_circle() -> None:
    """2 pi * 10^9 is an integer multiple of the period to 40 bits, so cos is close to one."""
    turns = 2 * enclose.pi(120).low * 10**9
    assert 1 - enclose.cos(turns, 60).low <= Fraction(1, 2**50)
