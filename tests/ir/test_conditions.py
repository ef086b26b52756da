"""`where`: every form that states a bound, and the ones that state none."""

from __future__ import annotations

import pytest

from pllm_lang.ir.plan import Bound
from tests.ir.lowering import lower

STATED = {
    "abs(x) <= 12": [("max_abs", "<=", "12")],
    "12 >= abs(x)": [("max_abs", "<=", "12")],
    "max_abs(x) <= 1/128": [("max_abs", "<=", "1/128")],
    "0 <= x": [("min", ">=", "0")],
    "x >= -3": [("min", ">=", "-3")],
    "x <= 35": [("max", "<=", "35")],
    "x == 2": [("max", "<=", "2"), ("min", ">=", "2")],
    "x in 0..35": [("max", "<=", "35"), ("min", ">=", "0")],
    "x in [0..35]": [("max", "<=", "35"), ("min", ">=", "0")],
    "0 <= x and x <= 35": [("max", "<=", "35"), ("min", ">=", "0")],
    "(x <= 35 and 0 <= x)": [("max", "<=", "35"), ("min", ">=", "0")],
    "min(x) >= 1 and max(x) <= 2": [("max", "<=", "2"), ("min", ">=", "1")],
    "norm2(x) <= 40": [("norm2", "<=", "40")],
    "row_norm1(x) <= 64 and row_norm2(x) <= 2": [("row_norm1", "<=", "64"), ("row_norm2", "<=", "2")],
    "error(x) <= 2^-10": [("error", "<=", "1/1024")],
    "abs(x) <= top": [("max_abs", "<=", "7/2")],
    "abs(x) <= 9 and abs(x) <= 4 and abs(x) <= 5": [("max_abs", "<=", "4")],
}


@pytest.mark.parametrize("condition", STATED)
def test_forms_of_a_bound(condition: str) -> None:
    case = lower(f"const top = 3.5\nplan p {{ input x: fx[2] from client where {condition} }}")
    assert case.codes == []
    assert list(case.plan.inputs[0].bounds) == [Bound(*bound) for bound in STATED[condition]]


REFUSED = {
    "abs(x) < 12": "types.not_a_bound",
    "x != 3": "types.not_a_bound",
    "abs(y) <= 12": "types.not_a_bound",
    "3 <= 4": "types.not_a_bound",
    "abs(x) <= 12 or x <= 3": "types.not_a_bound",
    "not x <= 3": "types.not_a_bound",
    "x in 0..<36": "types.not_a_bound",
    "x in 3..2": "types.not_a_bound",
    "abs(x) >= 3": "types.not_a_bound",
    "min(x) <= 3": "types.not_a_bound",
    "abs(x) <= -1": "types.not_a_bound",
    "variance(x) <= 3": "types.not_a_bound",
    "abs(x) <= tip": "names.unknown",
}


@pytest.mark.parametrize("condition", REFUSED)
def test_what_states_no_bound(condition: str) -> None:
    case = lower(f"const top = 3.5\nplan p {{ input x: fx[2] from client where {condition} }}")
    assert case.codes == [REFUSED[condition]]
    assert case.plan.inputs[0].bounds == ()
