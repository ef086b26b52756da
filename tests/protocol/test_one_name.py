"""Two values under one name: a composition of them is not looked at as one text."""

from __future__ import annotations

import pytest

from pllm_lang.ir import protocol as ir
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.protocol.compose import prove_composed_view
from pllm_lang.verify.protocol.inlining import Composition, Instance

TYPE = ir.TensorType(ir.Ring(4), (1,))
PIECES = ir.Shared("additive", (ir.Piece("p0", ("p0",)), ir.Piece("p1", ("p1",))))
PARTIES = tuple(map(ir.Party, ("p0", "p1")))
ROLES = (("p0", "p0"), ("p1", "p1"))

PUBLIC = ir.Protocol(
    "public",
    PARTIES,
    (ir.Input("a", TYPE, ir.Public()),),
    (ir.Output("b", TYPE, ir.Clear(("p0",)), ir.Ref("a")),),
    (ir.Assign("p0", "b", ir.Ref("a")),),
)
TELLS = ir.Protocol(
    "tells",
    PARTIES,
    (ir.Input("x", TYPE, PIECES),),
    (ir.Output("y", TYPE, PIECES, ir.Ref("x")),),
    (
        ir.Send("p0", ("p1",), "x.p0"),
        ir.Assign("p0", "y.p0", ir.Ref("x.p0")),
        ir.Assign("p1", "y.p1", ir.Ref("x.p1")),
    ),
)


def composed(name: str) -> Composition:
    inputs = (ir.Input("q", TYPE, PIECES), ir.Input("w", TYPE, ir.Public()))
    steps = (
        Instance(PUBLIC, ROLES, (("a", "w"),), (("b", name),)),
        Instance(TELLS, ROLES, (("x", "q"),), (("y", "z"),)),
    )
    return Composition("whole", PARTIES, inputs, (), steps)


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("b", Verdict.REFUTED),
        ("q.p0", Verdict.UNPROVED),
        ("q", Verdict.UNPROVED),
        ("1:x.p0", Verdict.UNPROVED),
    ],
)
def test_a_value_does_not_hide_a_piece(name: str, verdict: Verdict) -> None:
    """`p1` sees the other piece, whatever p0 calls what it computes of public values."""
    assert prove_composed_view(composed(name), frozenset({"p1"})).verdict is verdict
