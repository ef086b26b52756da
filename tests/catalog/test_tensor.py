"""Executed tensors: distinct rows kept once, large shapes never expanded, too much work given up."""

from __future__ import annotations

from fractions import Fraction

import pytest

from pllm_lang.catalog.apply import Inferred, Params, Type, execute, infer
from pllm_lang.catalog.facts import Interval, Known
from pllm_lang.catalog.tensor import (
    MAX_OPERATIONS,
    Tensor,
    TooManyOperationsError,
    bounded,
    constant,
    constant_value,
    entries,
    of_entries,
    of_known,
    one_hot,
    row,
    spend,
    to_known,
)
from tests.catalog.library import REAL, operators


def run(name: str, params: Params | None = None, **values: Tensor) -> dict[str, Tensor] | None:
    operator = operators()[name]
    found = infer(operator, {n: Type(REAL, v.shape) for n, v in values.items()}, params or Params())
    assert isinstance(found, Inferred), found
    return execute(operator, found.env, values)


def test_known_values_go_in_and_come_out() -> None:
    known = Known((2, 2), (1, Fraction(1, 2), 1, Fraction(1, 2)))
    tensor = of_known(known)
    assert len(tensor.rows) == 1
    assert to_known(tensor) == known
    assert entries(tensor) == list(known.entries)


def test_one_hot_rows() -> None:
    tensor = one_hot((3, 4), 6, 9)
    assert row(tensor, 0) == (0, 0, 0, 0)
    assert row(tensor, 1) == (0, 0, 9, 0)
    assert len(tensor.rows) == 2
    assert constant_value(tensor) is None


def test_a_constant_layer_of_model_size() -> None:
    found = run("linear", x=constant((1, 4096), 128), w=constant((14336, 4096), 1))
    assert found is not None
    assert found["y"].shape == (1, 14336)
    assert constant_value(found["y"]) == 2**19


def test_a_row_against_two_distinct_rows() -> None:
    w = one_hot((14336, 4096), 4096 * 5 + 7, 3)
    found = run("linear", x=constant((1, 4096), 2), w=w)
    assert found is not None
    only = row(found["y"], 0)
    assert only[5] == 6
    assert sum(1 for entry in only if entry) == 1


def test_sums_of_a_constant_of_model_size() -> None:
    found = run("sum", x=constant((14336, 4096), Fraction(1, 2)))
    assert found is not None
    assert entries(found["y"]) == [14336 * 2048]


def test_structure_of_a_constant_stays_constant() -> None:
    found = run("permute", Params(lists={"order": (1, 0)}), x=constant((14336, 4096), 5))
    assert found is not None
    assert found["y"].shape == (4096, 14336)
    assert constant_value(found["y"]) == 5


def test_too_much_work_is_given_up() -> None:
    dense = of_entries((1, 2048), tuple(range(2048)))
    many = of_entries((2048, 2048), tuple(range(2048 * 2048)))
    assert run("linear", x=dense, w=many) is None
    with pytest.raises(TooManyOperationsError):
        spend(MAX_OPERATIONS + 1)


def test_numbers_that_grow_without_end_are_given_up() -> None:
    assert run("mul", x=constant((), 2**5000), y=constant((), 2**5000)) is None
    with pytest.raises(TooManyOperationsError):
        bounded(constant((), Interval(0, 2**9000)))


def test_an_undefined_step_has_no_result() -> None:
    assert run("reciprocal", x=constant((3,), 0)) is None
    assert run("sqrt", x=constant((3,), -1)) is None
    assert run("exp", x=constant((3,), 10**6)) is None


def test_enclosures_go_on() -> None:
    found = run("exp", x=constant((3,), 1))
    assert found is not None
    value = constant_value(found["y"])
    assert isinstance(value, Interval)
    assert value.low < Fraction(2718281829, 10**9) < value.high + Fraction(1, 10**8)
    assert to_known(found["y"]) is None
