"""What the audit derives: known largest differences, random polynomials, jumps, and what it does not take."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pllm_lang.audit.derive import Derived, derive
from pllm_lang.audit.formula import enclosed
from pllm_lang.catalog.load import open_project
from pllm_lang.catalog.records import Component
from pllm_lang.exact.number import Interval

OPERATOR = "operator target {F} (x: F[...s]) -> (y: F[...s]) {\n  means y = %s\n}\n"
METHOD = """component method = "test/method" {
  kind: method
  version: "1"
  implements: target
  requires %s else "there"
  computes: %s
}
"""


def derived(
    means: str, computes: str, domain: str = "max_abs(x) <= 1", limits: Sequence[Fraction] = ()
) -> Derived | None:
    text = "pllm 1\n\n" + OPERATOR % means + "\n" + METHOD % (domain, computes)
    opened = open_project(["plan.pllm"], "/nowhere", {"plan.pllm": text})
    assert not opened.findings, opened.findings
    (component,) = (
        found
        for key in opened.library.keys("component")
        if isinstance(found := opened.library.get(key), Component) and found.id == "test/method"
    )
    operator = opened.library.operator(component.implements[0])
    assert operator is not None
    return derive(component, operator, None, limits)


@pytest.mark.parametrize(
    ("means", "computes", "domain", "worst"),
    [
        ("x", "x + 0.25", "max_abs(x) <= 1", Fraction(1, 4)),
        ("x^2", "x", "max_abs(x) <= 1", 2),
        ("x^2", "x", "min(x) >= 0 and max(x) <= 1", Fraction(1, 4)),
        ("abs(x)", "x", "max_abs(x) <= 3", 6),
        (
            "x",
            "floor(x)",
            "min(x) >= 0 and max(x) <= 8",
            1,
        ),  # nowhere reached, in every neighbourhood of a whole number
        ("x", "where(x < 0.5, 0, x)", "min(x) >= 0 and max(x) <= 2", Fraction(1, 2)),
        ("exp(x)", "0", "min(x) >= -2 and max(x) <= 0", 1),
        ("max(x, 0)", "x / 2", "max_abs(x) <= 4", 2),
        ("1 / x", "1", "min(x) >= 0.5 and max(x) <= 1", 1),
    ],
)
def test_both_ends_hold_the_largest_difference(
    means: str, computes: str, domain: str, worst: Fraction
) -> None:
    found = derived(means, computes, domain)
    assert found is not None
    assert found.low <= worst <= found.high
    assert found.high <= found.low * Fraction(103, 100)


def test_an_equal_formula_is_off_by_almost_nothing() -> None:
    found = derived("x * x - 1", "(x - 1) * (x + 1)")
    assert found is not None
    assert (found.low, found.high <= Fraction(1, 2**16)) == (0, True)


coefficients = st.lists(st.integers(-8, 8), min_size=1, max_size=4)


@settings(max_examples=40, deadline=None)
@given(coefficients, coefficients, st.integers(-64, 64))
def test_no_point_is_further_off_than_the_upper_end(a: list[int], b: list[int], place: int) -> None:
    def polynomial(c: list[int]) -> str:
        return " + ".join(f"({k}) * x^{n}" for n, k in enumerate(c)).replace(" * x^0", "")

    found = derived(polynomial(a), polynomial(b))
    assert found is not None
    x = Fraction(place, 64)
    off = abs(sum(k * x**n for n, k in enumerate(a)) - sum(k * x**n for n, k in enumerate(b)))
    assert off <= found.high
    at = Fraction(found.at)
    reached = abs(sum(k * at**n for n, k in enumerate(a)) - sum(k * at**n for n, k in enumerate(b)))
    assert reached >= found.low


@pytest.mark.parametrize(
    ("computes", "domain"),
    [
        ("x", "max(x) <= 1"),  # open below
        ("x", "fraction_bits(x) >= 3"),  # open at both ends
        ("row_sum(x)", "max_abs(x) <= 1"),  # no function of one entry
        ("1 / x", "max_abs(x) <= 1"),  # unbounded
    ],
)
def test_what_cannot_be_derived_is_not_guessed(computes: str, domain: str) -> None:
    assert derived("x", computes, domain) is None


def test_a_limit_between_both_ends_is_decided() -> None:
    """max |x^2 - x| on 0 to 1 is a quarter: a limit just above it is met, one just below is not."""
    for limit, met in ((Fraction(2501, 10_000), True), (Fraction(2499, 10_000), False)):
        found = derived("x^2", "x", "min(x) >= 0 and max(x) <= 1", (limit,))
        assert found is not None
        assert (found.high <= limit, found.low > limit) == (met, not met)


def test_a_limit_that_is_the_difference_itself_ends_the_search() -> None:
    found = derived("exp(x)", "0", "min(x) >= -2 and max(x) <= 0", (Fraction(1),))
    assert found is not None
    assert found.low <= 1 <= found.high


@pytest.mark.parametrize(
    ("limit", "domain"),
    [
        ("2^(20 - fraction_bits(x))", Interval(-256, 256)),
        ("2^(fraction_bits(x) - 20)", None),  # rises: no end holds for all formats
        ("2^(20 + fraction_bits(x))", None),
        ("0.5^(20 - fraction_bits(x))", None),
        ("20 - fraction_bits(x)", Interval(-8, 8)),
    ],
)
def test_an_end_that_depends_on_the_format(limit: str, domain: Interval | None) -> None:
    found = derived("x", "x + 1", f'max_abs(x) <= {limit} else "a"\n  requires fraction_bits(x) >= 12')
    assert (found.domain if found else None) == domain


@pytest.mark.parametrize(
    "computes", ["(x^4096)^4096", "((x + 2)^8000)^8000", "exp(exp(exp(x + 9)))", "x^100000000000"]
)
def test_numbers_without_end_are_unknown_not_worked_out(computes: str) -> None:
    assert derived("x", computes, "min(x) >= 2 and max(x) <= 3") is None


SLOPES = [
    "x^3 - 2 * x",
    "exp(x)",
    "tanh(x)",
    "erf(x)",
    "sin(3 * x)",
    "cos(x)",
    "abs(x)",
    "min(x, 0.25)",
    "x / (x + 3)",
    "sqrt(x + 2)",
]


@pytest.mark.parametrize("text", SLOPES)
@pytest.mark.parametrize("n", range(-8, 8))
def test_a_slope_bounds_how_far_a_formula_moves(text: str, n: int) -> None:
    """f(b) - f(a) lies within the slope over [a, b] times b - a, and both within the range."""
    opened = open_project(["p.pllm"], "/nowhere", {"p.pllm": "pllm 1\n\n" + OPERATOR % text})
    (operator,) = (
        opened.library.operator(k) for k in opened.library.keys("operator") if k.endswith(".target")
    )
    assert operator is not None
    low, high = Fraction(n, 8), Fraction(n + 1, 8)
    whole, first, last = (
        enclosed(operator.means[0].expr, "x", Interval(*ends))
        for ends in ((low, high), (low, low), (high, high))
    )
    assert whole is not None
    assert first is not None
    assert last is not None
    assert whole.slope is not None
    assert last.range.high - first.range.low >= whole.slope.low * (high - low)
    assert last.range.low - first.range.high <= whole.slope.high * (high - low)
    assert whole.range.low <= min(first.range.high, last.range.high)
    assert whole.range.high >= max(first.range.low, last.range.low)
