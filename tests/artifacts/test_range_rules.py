"""Replay's theorem of each primitive, held against the tensors themselves: what follows of a result is true of it.

Operands are small tensors of exact fractions, and what is stated of them is true, with or without room. The results are worked
out entry by entry by numpy on fractions, by none of replay's code.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from math import cos, erf, floor, gcd, sin
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pllm_lang.artifacts.replay import facts as f
from pllm_lang.artifacts.replay.facts import Fact
from pllm_lang.artifacts.replay.moves import MOVES
from pllm_lang.artifacts.replay.terms import Names, holds, value
from pllm_lang.catalog.expr import Apply, ListOf, Num, Ref

Tensor = Any
"""An array of fractions."""
NEAR = Fraction(1, 10**40)
"""Room for what `decimal` rounds, far below any claim of these rules."""


# ---- what is true of a tensor ----
def grid(entries: list[Fraction]) -> Fraction:
    """The largest number of which all are whole multiples."""
    under = 1
    for one in entries:
        under *= one.denominator
    return Fraction(gcd(*(int(one * under) for one in entries)) or under, under)


def vectors(x: Tensor, axis: int) -> list[list[Fraction]]:
    if x.ndim < -axis:
        return []
    moved = np.moveaxis(x, axis, -1)
    return moved.reshape(-1, x.shape[axis]).tolist() if x.size else []


def norms(x: Tensor, axis: int) -> tuple[Fraction, Fraction]:
    rows = vectors(x, axis)
    square = max((sum((e * e for e in row), Fraction()) for row in rows), default=Fraction())
    return square, max((sum(map(abs, row), Fraction()) for row in rows), default=Fraction())


def unmet(fact: Fact, x: Tensor) -> list[str]:
    """What a fact says of a tensor and is not so. Axes that repeat are of size 1 here."""
    entries = [Fraction(one) for one in x.ravel().tolist()]
    found: list[str] = []
    if tuple(1 if a == f.ANY else a for a in fact.shape) != x.shape:
        return [f"shape {fact.shape}, {x.shape}"]
    if fact.range is not None and any(not fact.range[0] - NEAR <= e <= fact.range[1] + NEAR for e in entries):
        found.append("range")
    if fact.unit is not None and any(e % fact.unit for e in entries):
        found.append("unit")
    for axis, stated in ((-1, fact.rows), (-2, fact.cols)):
        if len(fact.shape) >= -axis and fact.shape[axis] != f.ANY:
            real = norms(x, axis)
            found += [
                f"norm {axis}" for a, b in zip(real, stated, strict=True) if b is not None and a > b + NEAR
            ]
    if fact.peak is not None and any(max(row) < fact.peak - NEAR for row in vectors(x, -1)):
        found.append("peak")
    return found


@st.composite
def tensors(draw: st.DrawFn, shape: tuple[int, ...], low: int = -6, high: int = 6) -> tuple[Tensor, Fact]:
    """Entries on a grid of fourths, with facts that are true of them: tight or with room, or not stated."""
    count, under = int(np.prod(shape)), draw(st.sampled_from([1, 2, 4]))
    numbers = draw(st.lists(st.integers(low, high), min_size=count, max_size=count))
    x = np.array([Fraction(one, under) for one in numbers], dtype=object).reshape(shape)
    entries, room = x.ravel().tolist(), draw(st.sampled_from([0, 0, 1, 5]))
    wide = (min(entries) - room * (low < 0), max(entries) + room)
    sides = [
        tuple(a + room if draw(st.booleans()) else None for a in norms(x, axis))
        if len(shape) >= -axis
        else f.OPEN
        for axis in (-1, -2)
    ]
    peaks = [max(row) for row in vectors(x, -1)]
    peak = min(peaks) - room if peaks and draw(st.booleans()) else None
    unit = grid(entries) if draw(st.booleans()) else None
    return x, f.settled(Fact(shape, wide, *sides, unit=unit, peak=peak))  # type: ignore[arg-type]


def real(function: Callable[[Decimal], Decimal]) -> Callable[[Tensor], Tensor]:
    """Entry by entry, to sixty digits."""

    def each(x: Tensor) -> Tensor:
        with localcontext() as context:
            context.prec = 60
            found = [
                Fraction(function(Decimal(e.numerator) / Decimal(e.denominator))) for e in x.ravel().tolist()
            ]
        return np.array(found, dtype=object).reshape(x.shape)

    return each


def numbers(*given: int) -> ListOf:
    return ListOf(tuple(Num(str(one)) for one in given))


def call(fn: str, *args: Any, **named: Any) -> Apply:
    return Apply(fn, args, tuple((key.strip("_"), one) for key, one in named.items()))


A, B, C = Ref("a"), Ref("b"), Ref("c")
ALL, ROW, ONE, ABOVE, WIDE = (2, 3), (3,), (), (3, 2), (2, 2, 3)
each = np.vectorize
TURN = [[Fraction(3, 5), Fraction(4, 5)], [Fraction(-4, 5), Fraction(3, 5)]]
CASES: dict[str, tuple[Apply, list[tuple[int, ...]], Callable[..., Tensor]]] = {
    "+": (call("+", A, B), [ALL, ALL], lambda a, b: a + b),
    "+ number": (call("+", A, B), [ALL, ONE], lambda a, b: a + b),
    "-": (call("-", A, B), [ALL, ALL], lambda a, b: a - b),
    "- one": (call("-", A), [ALL], lambda a: -a),
    "neg": (call("neg", A), [ALL], lambda a: -a),
    "*": (call("*", A, B), [ALL, ALL], lambda a, b: a * b),
    "* itself": (call("*", A, A), [ALL], lambda a: a * a),
    "^ 2": (call("^", A, Num("2")), [ALL], lambda a: a**2),
    "^ 3": (call("^", A, Num("3")), [ALL], lambda a: a**3),
    "^ 0": (call("^", A, Num("0")), [ALL], lambda a: a * 0 + 1),
    "min": (call("min", A, B), [ALL, ALL], np.minimum),
    "max": (call("max", A, B), [ALL, ALL], np.maximum),
    "clamp": (call("clamp", A, Num("-1"), Num("1/2")), [ALL], lambda a: np.minimum(np.maximum(a, -1), Fraction(1, 2))),
    "where": (call("where", call(">", A, B), B, C), [ALL, ALL, ALL], lambda a, b, c: np.where(a > b, b, c)),
    "where and": (
        call("where", call("and", call(">", A, C), call(">", B, C)), A, C), [ALL, ALL, ALL],
        lambda a, b, c: np.where((a > c) & (b > c), a, c)),
    "where or": (
        call("where", call("or", call(">", A, C), call(">", B, C)), A, C), [ALL, ALL, ALL],
        lambda a, b, c: np.where((a > c) | (b > c), a, c)),
    "/": (call("/", A, call("+", call("abs", B), Num("1/4"))), [ALL, ALL], lambda a, b: a / (abs(b) + Fraction(1, 4))),
    "/ number": (call("/", A, Num("-3")), [ALL], lambda a: a / Fraction(-3)),
    "abs": (call("abs", A), [ALL], abs),
    "sqrt": (call("sqrt", call("abs", A)), [ALL], lambda a: real(lambda e: e.sqrt())(abs(a))),
    "cos": (call("cos", A), [ALL], each(lambda e: Fraction(cos(e)), otypes=[object])),
    "sin": (call("sin", A), [ALL], each(lambda e: Fraction(sin(e)), otypes=[object])),
    "erf": (call("erf", A), [ALL], each(lambda e: Fraction(erf(e)), otypes=[object])),
    "floor": (call("floor", A), [ALL], each(floor, otypes=[object])),
    "round_to": (call("round_to", A, Num("1/2")), [ALL], each(lambda e: Fraction(round(e * 2), 2), otypes=[object])),
    "exp": (call("exp", A), [ALL], real(lambda e: e.exp())),
    "tanh": (call("tanh", A), [ALL], real(lambda e: ((2 * e).exp() - 1) / ((2 * e).exp() + 1))),
    "matmul": (call("matmul", A, B), [ALL, ABOVE], lambda a, b: a.dot(b)),
    "matmul of weights": (
        call("matmul", call("abs", A), call("+", call("abs", B), Num("1"))), [ALL, ABOVE],
        lambda a, b: abs(a).dot(abs(b) + 1)),
    "matmul by weights": (
        call("matmul", call("neg", call("+", call("abs", A), Num("1"))), call("abs", B)), [ALL, ABOVE],
        lambda a, b: (-abs(a) - 1).dot(abs(b))),
    "matmul of a row": (call("matmul", A, B), [ROW, ABOVE], lambda a, b: a.dot(b)),
    "matmul of many": (call("matmul", A, B), [WIDE, ABOVE], lambda a, b: a.dot(b)),
    "outer": (call("outer", A, B), [(2,), ROW], lambda a, b: a[:, None] * b[None]),
    "sum": (call("sum", A), [ALL], lambda a: np.array(a.sum(), dtype=object)),
    "row_sum": (call("row_sum", A), [ALL], lambda a: a.sum(-1)),
    "row_mean": (call("row_mean", A), [ALL], lambda a: a.sum(-1) / 3),
    "row_max": (call("row_max", A), [ALL], lambda a: a.max(-1)),
    "subtract_row_max": (call("subtract_row_max", A), [ALL], lambda a: a - a.max(-1, keepdims=True)),
    "sum of exp": (
        call("row_sum", call("exp", call("subtract_row_max", A))), [ALL],
        lambda a: real(lambda e: e.exp())(a - a.max(-1, keepdims=True)).sum(-1)),
    "transpose": (call("transpose", A), [WIDE], lambda a: np.swapaxes(a, -1, -2)),
    "row_broadcast": (call("row_broadcast", A), [ALL], lambda a: a[None]),
    "col_broadcast": (call("col_broadcast", A), [ROW], lambda a: a[:, None]),
    "+ row": (call("+", A, call("row_broadcast", B)), [ALL, ROW], lambda a, b: a + b[None]),
    "* column": (call("*", A, call("col_broadcast", B)), [ALL, (2,)], lambda a, b: a * b[:, None]),
    "reshape": (call("reshape", A, shape=numbers(1, 4, 3)), [WIDE], lambda a: a.reshape(1, 4, 3)),
    "reshape flat": (call("reshape", A, shape=numbers(6)), [ALL], lambda a: a.reshape(6)),
    "permute": (call("permute", A, order=numbers(1, 2, 0)), [WIDE], lambda a: a.transpose(1, 2, 0)),
    "permute rows": (call("permute", A, order=numbers(1, 0, 2)), [WIDE], lambda a: a.transpose(1, 0, 2)),
    "slice": (call("slice", A, axis=Num("-1"), from_=Num("1"), to=Num("3")), [ALL], lambda a: a[:, 1:3]),
    "slice of rows": (call("slice", A, axis=Num("0"), to=Num("1")), [ALL], lambda a: a[:1]),
    "concat": (call("concat", A, B), [ALL, ALL], lambda a, b: np.concatenate([a, b], -1)),
    "concat of rows": (call("concat", A, B, axis=Num("0")), [ALL, (1, 3)], lambda a, b: np.concatenate([a, b], 0)),
    "repeat": (call("repeat", A, axis=Num("-1"), times=Num("2")), [ALL], lambda a: np.repeat(a, 2, -1)),
    "repeat of rows": (call("repeat", A, axis=Num("0"), times=Num("3")), [ALL], lambda a: np.repeat(a, 3, 0)),
    "causal": (call("causal", A, B), [ALL, ONE], lambda a, b: np.where(np.tri(2, 3, dtype=bool), a, b)),
    "causal_at": (call("causal_at", A, B, C), [ALL, (2,), ONE], lambda a, _, c: np.where(np.eye(2, 3, dtype=bool), a, c)),
    "rotary": (call("rotary", A, B), [(2, 2), (2,)], lambda a, _: a.dot(np.array(TURN, dtype=object))),
    "gather": (
        call("gather", A, call("floor", call("clamp", B, Num("0"), Num("1")))), [ALL, (4,)],
        lambda a, b: a[[int(e >= 1) for e in b]]),
    "top_values": (call("top_values", A, k=Num("2")), [ALL], lambda a: -np.sort(-a, -1)[:, :2]),
    "top_indices": (
        call("top_indices", A, k=Num("2")), [ALL],
        lambda a: each(Fraction, otypes=[object])(np.argsort(-a, -1, kind="stable")[:, :2].astype(object))),
    "polynomial": (
        call("polynomial", A, coefficients=numbers(1, -2, 0, 3)), [ALL], lambda a: 1 - 2 * a + 3 * a**3),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data())
def test_what_follows_of_a_result_is_true_of_it(name: str, data: st.DataObject) -> None:
    expr, shapes, function = CASES[name]
    operands = [data.draw(tensors(shape)) for shape in shapes]
    names = Names(facts=dict(zip("abc", (fact for _, fact in operands), strict=False)))
    found = value(expr, names)
    assert found is not None
    result = np.asarray(function(*(x for x, _ in operands)), dtype=object)
    assert unmet(found, result) == []


def called(expr: Any) -> set[str]:
    return {expr.fn}.union(*map(called, expr.args)) if isinstance(expr, Apply) else set()


def test_every_rule_has_a_case() -> None:
    assert set().union(*(called(expr) for expr, _, _ in CASES.values())) >= {*f.RULES, *MOVES}


# ---- what has no meaning, or is not known, says nothing ----
NO, YES = Fact(ALL, (0, 0)), Fact(ALL, (1, 1))


@pytest.mark.parametrize(
    ("fn", "x", "y"), [("and", NO, YES), ("and", YES, YES), ("or", YES, NO), ("or", NO, NO)]
)
def test_entries_are_not_ordered_by_a_connective(fn: str, x: Fact, y: Fact) -> None:
    """`and` of 0 and 1 was read as `0 < 1`."""
    found = value(call(fn, A, B), Names(facts={"a": x, "b": y}))
    assert found is not None
    assert found.range == (0, 1)


@pytest.mark.parametrize("fn", ["nearest", "round_to"])
def test_what_is_rounded_to_an_unknown_step_is_unknown(fn: str) -> None:
    found = value(call(fn, A, Ref("nobody")), Names(facts={"a": Fact(ALL, (1, 2))}))
    assert found is None or found.range is None


OPEN_ROWS = Fact((f.ANY, 3), (1, 2), unit=1)


@pytest.mark.parametrize(
    "expr",
    [
        call("sum", A),
        call("concat", A, A, axis=Num("0")),
        call("repeat", A, axis=Num("0"), times=Num("2")),
        call("reshape", A, shape=numbers(-3)),
        call("slice", A, axis=Num("0"), to=Num("1")),
        call("top_values", A, k=Num("-1")),
        call("top_values", A, k=Num("4")),
    ],
)
def test_an_axis_of_no_known_size_is_not_counted(expr: Apply) -> None:
    """An axis along which a broadcast repeats was counted as -1 entries."""
    found = value(expr, Names(facts={"a": OPEN_ROWS}))
    assert found is None or (found.range is None and min(found.shape, default=0) >= 0)


def test_an_empty_row_has_no_largest_entry() -> None:
    rows = call("row_sum", call("exp", call("subtract_row_max", A)))
    found = value(rows, Names(facts={"a": Fact((2, 0), (1, 1))}))
    assert found is not None
    assert found.range is None or found.range[0] <= 0


@pytest.mark.parametrize("fn", ["<", "<=", ">", ">=", "==", "!="])
@settings(max_examples=100, deadline=None, derandomize=True)
@given(data=st.data())
def test_a_comparison_that_holds_is_true_of_all_entries(fn: str, data: st.DataObject) -> None:
    (x, a), (y, b) = data.draw(tensors((2,), -1, 1)), data.draw(tensors((2,), -1, 1))
    found = holds(call(fn, A, B), Names(facts={"a": a, "b": b}))
    tests = {"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y, "==": x == y, "!=": x != y}
    assert found is not True or tests[fn].all()
    assert found is not False or not tests[fn].any()
