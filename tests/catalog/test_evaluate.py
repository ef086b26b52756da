"""The evaluator of clauses: slots, three values, words, formats, and unknown that absorbs."""

from __future__ import annotations

from fractions import Fraction

import pytest

from pllm_lang.catalog.bounds import known_facts
from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import exact_term, holds, tensor, term
from pllm_lang.catalog.expr import Apply, Between, Expr, ListOf, Num, Ref
from pllm_lang.catalog.facts import UNKNOWN, Facts, Interval, Known
from pllm_lang.catalog.names import is_exact
from pllm_lang.catalog.records import Format
from pllm_lang.exact.number import exact

X, W, N = Ref("x"), Ref("w"), Ref("n")


def op(fn: str, *args: Expr | int | str) -> Apply:
    return Apply(fn, tuple(Num(str(a)) if isinstance(a, (int, str)) else a for a in args))


def env(**facts: Facts) -> Env:
    return Env(
        facts=facts,
        exact={"n": 4, "eps": Fraction(1, 100), "on": 1},
        formats={"F": Format("fx", "fixed", low="-128", high="127", frac=4, modulus=str(2**64 - 59))},
        words={"per": "row"},
        shapes={"x": (2, 4), "w": (3, 4)},
        context={"n_parties": 3},
    )


KNOWN = env(x=known_facts(Known((2, 4), (3, 4, 0, 0, 1, -1, 1, -1))))
RANGED = env(x=Facts(range=Interval(-2, 5), error=Fraction(1, 8)), w=UNKNOWN)


@pytest.mark.parametrize(
    ("clause", "low", "high"),
    [
        (op("max_abs", X), 4, 4),
        (op("min", X), -1, -1),
        (op("max", X), 4, 4),
        (op("norm2", X), 0, 5),
        (op("row_norm1", X), 0, 7),
        (op("col_norm1", X), 0, 5),
        (op("error", X), 0, 0),
        (op("row_max", X), 1, 4),
    ],
)
def test_slots_of_known_values(clause, low, high) -> None:
    assert term(clause, KNOWN) == Interval(low, high)


@pytest.mark.parametrize(
    ("clause", "low", "high"),
    [
        (op("max_abs", X), 0, 5),
        (op("min", X), -2, 5),
        (op("max", X), -2, 5),
        (op("norm2", X), 0, 10),
        (op("row_norm1", X), 0, 20),
        (op("error", X), 0, Fraction(1, 8)),
        (op("max", op("max", X), 7), 7, 7),
        (op("max_abs", op("*", X, X)), 0, 25),
        (op("+", op("max", X), N), 2, 9),
        (op("sqrt", N), 2, 2),
        (op("^", 2, op("-", N, 1)), 8, 8),
        (op("ulp", Ref("F")), Fraction(1, 16), Fraction(1, 16)),
        (op("lowest", Ref("F")), -8, -8),
        (op("highest", Ref("F")), Fraction(127, 16), Fraction(127, 16)),
        (op("ring_bits", Ref("F")), 64, 64),
        (op("fraction_bits", Ref("F")), 4, 4),
        (Ref("n_parties"), 3, 3),
    ],
)
def test_terms_of_ranges(clause, low, high) -> None:
    assert term(clause, RANGED) == Interval(low, high)


@pytest.mark.parametrize(
    "clause",
    [
        op("max_abs", W),
        op("+", op("max_abs", W), 1),
        op("/", 1, op("max", X)),
        op("^", 2, "1/2"),
        op("^", 2, op("^", 2, 40)),
        op("sqrt", op("min", X)),
        op("max_abs", Ref("nobody")),
        Ref("nobody"),
        op("nothing_known", X),
        op("ulp", Ref("nobody")),
        op("matmul", X, W),
    ],
)
def test_unknown_absorbs(clause) -> None:
    assert term(clause, RANGED) is None
    assert holds(op("<=", clause, 10**9), RANGED) is None


@pytest.mark.parametrize(
    ("clause", "verdict"),
    [
        (op("<", op("max_abs", X), 6), True),
        (op("<", op("max_abs", X), 5), None),
        (op("<=", op("max_abs", X), 5), True),
        (op(">", op("max", X), 5), False),
        (op("<", op("max", X), -2), False),
        (op(">=", op("min", X), -2), True),
        (op("==", N, 4), True),
        (op("!=", N, 4), False),
        (op("==", Ref("per"), Ref("row")), True),
        (op("==", Ref("per"), Ref("column")), False),
        (op("<=", op("norm2", X), 10), True),
        (Ref("on"), True),
        (op("not", Ref("on")), False),
        (Apply("in", (N, ListOf((Num("2"), Num("4"))))), True),
        (Apply("in", (N, ListOf((Num("2"), Num("3"))))), False),
        (Apply("in", (N, Between(Num("0"), Num("4"), True))), True),
        (Apply("in", (N, Between(Num("0"), Num("4"), False))), False),
        (op("and", op("==", N, 4), op("<", op("max", X), 5)), None),
        (op("and", op("==", N, 5), op("<", op("max", X), 5)), False),
        (op("or", op("==", N, 4), op("<", op("max", X), 5)), True),
        (op("or", op("==", N, 5), op("<", op("max", X), 5)), None),
    ],
)
def test_three_values(clause, verdict) -> None:
    assert holds(clause, RANGED) is verdict


def test_roots_are_compared_by_their_squares() -> None:
    """norm2 = sqrt(5) against sqrt(5): equal, though neither root is rational."""
    place = env(x=Facts(range=Interval(-9, 9), row_norm2_sq=5, error=0))
    assert holds(op("<=", op("norm2", X), op("sqrt", 5)), place) is True
    assert holds(op("<", op("norm2", X), op("sqrt", 5)), place) is not True
    assert holds(op("<=", op("norm2", X), op("sqrt", "4999/1000")), place) is not True
    assert holds(op("<=", op("*", op("norm2", X), 2), op("sqrt", 20)), place) is True


def test_squares_of_negative_factors_prove_nothing() -> None:
    """norm2 = 5 is not below a product that may be 2, though the product of the factors' lower ends is 6."""
    place = env(
        x=Facts(range=Interval(-9, 9), row_norm2_sq=25, error=0), w=Facts(range=Interval(-3, -2), error=0)
    )
    place.facts["v"] = Facts(range=Interval(-2, -1), error=0)
    product = op("*", op("max", W), op("max", Ref("v")))
    assert term(product, place) == Interval(2, 6)
    assert holds(op("<=", op("norm2", X), product), place) is None


@pytest.mark.parametrize("limit", [Fraction(49, 10), 5, Fraction(51, 10)])
def test_a_wider_range_never_turns_unknown_into_true(limit) -> None:
    wide = env(x=Facts(range=Interval(-2, 6)), w=UNKNOWN)
    clause = op("<=", op("max_abs", X), str(limit))
    assert not (holds(clause, wide) is True and holds(clause, RANGED) is not True)


def test_exact_names() -> None:
    assert is_exact(op("<=", N, op("ring_bits", Ref("F"))), RANGED)
    assert not is_exact(op("<=", op("max_abs", X), N), RANGED)


def test_squares_and_signs() -> None:
    assert term(op("*", X, X), RANGED) == Interval(0, 25)
    assert term(op("-", X), RANGED) == Interval(-5, 2)
    assert term(op("*", X, op("+", X, 0)), RANGED) == Interval(-10, 25)


def test_raw_reads_the_format() -> None:
    place = RANGED
    place.formats["x"] = place.formats["F"]
    found = tensor(op("raw", X), place)
    assert found is not None
    assert found.facts.range == Interval(-32, 80)
    assert term(op("max_abs", op("*", op("raw", X), op("raw", X))), place) == Interval(0, 6400)


def test_exact_terms() -> None:
    assert exact_term(op("*", N, Ref("eps")), RANGED) == exact("0.04")
    assert exact_term(op("max", X), RANGED) is None
