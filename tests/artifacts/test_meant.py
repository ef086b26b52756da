"""What a text says of its result is what its operator means: forms that are taken for one another, and such that are not."""

from __future__ import annotations

import pytest

from pllm_lang.artifacts.replay.meanings import Scope, is_meant, unrounded
from pllm_lang.catalog.expr import Apply, Expr, Num, Ref
from pllm_lang.catalog.records import OperandSpec, Operator
from pllm_lang.ir import protocol as p

SPECS = tuple(OperandSpec(name, Ref("F")) for name in ("x", "y"))
SCALE = Operator("scaled", "own", ("F",), SPECS, (), (OperandSpec("z", Ref("F")),))
X, Y = p.Ref("x"), p.Ref("y")
BY = Apply("*", (Ref("by"), Ref("x")))


def scope(number: p.Number) -> Scope:
    return Scope(SCALE, {"x": number, "y": number}, {"by": 3}, lambda: "own.scaled[by=3]")


def bits(width: int) -> p.Call:
    return p.Call("bits", (X,), p.TensorType(p.Ring(2), (4, width)))


def whole(name: str, *args: p.Expr) -> p.Call:
    return p.Call(name, args, p.TensorType(p.Ring(2**64), (4,)))


@pytest.mark.parametrize(
    ("said", "means", "number"),
    [
        (p.Cast(X, p.Ring(2**8)), Ref("x"), p.Ring(2**64)),
        (p.Cast(X, p.Ring(2**8)), Ref("x"), p.Integer(4)),
        (p.Scale(3, X), BY, p.Ring(2**64)),
        (p.Scale(3, X), Apply("*", (Ref("x"), Num("3"))), p.Ring(2**64)),
        (p.Mul(X, Y), Apply("*", (Ref("x"), Ref("y"))), p.Ring(2**64)),
        (bits(64), Ref("x"), p.Ring(2**64)),
        (bits(3), Ref("x"), p.Ring(5)),
        (whole("own.scaled[by=3]", X, Y), BY, p.Ring(2**64)),
    ],
)
def test_what_is_meant(said: p.Expr, means: Expr, number: p.Number) -> None:
    assert is_meant(said, means, scope(number))


@pytest.mark.parametrize(
    ("said", "means"),
    [
        (p.Cast(p.Cast(X, p.Ring(2**8)), p.Ring(2**64)), Ref("x")),
        (p.Cast(X, p.Integer(64)), Ref("x")),
        (p.Scale(2, X), BY),
        (p.Scale(-3, X), BY),
        (p.Mul(X, X), Apply("*", (Ref("x"), Ref("y")))),
        (X, Apply("nearest", (Ref("x"), Ref("to")))),
        (Y, Ref("x")),
        (bits(63), Ref("x")),
        (bits(65), Ref("x")),
        (whole("own.scaled[by=2]", X, Y), BY),
        (whole("scaled[by=3]", X, Y), BY),
        (whole("own.scaled[by=3]", Y, X), BY),
    ],
)
def test_what_is_not_meant(said: p.Expr, means: Expr) -> None:
    assert not is_meant(said, means, scope(p.Ring(2**64)))


@pytest.mark.parametrize(
    ("grid", "taken"), [("F", True), ("finer", True), ("coarser", False), ("unknown", False)]
)
def test_only_the_rounding_to_the_result_s_grid_is_taken_away(grid: str, *, taken: bool) -> None:
    bits: dict[str, int | None] = {"F": 16, "finer": 32, "coarser": 8, "x": 16, "z": 16}
    means = Apply("nearest", (Ref("x"), Ref(grid)))
    assert (unrounded(means, SCALE.results[0], X, bits) == Ref("x")) == taken
