"""The protocols of the library, built by hand: what the front end will lower from the text of the records."""

from __future__ import annotations

from pllm_lang.ir import protocol as ir

Z64 = ir.Ring(1 << 64)


def t(shape: tuple[ir.Dim, ...], ring: ir.Number = Z64) -> ir.TensorType:
    return ir.TensorType(ring, shape)


def ref(name: str) -> ir.Ref:
    return ir.Ref(name)


def add(*terms: ir.Expr) -> ir.Add:
    return ir.Add(terms)


def sub(left: ir.Expr, right: ir.Expr) -> ir.Add:
    return ir.Add((left, ir.Scale(-1, right)))


def parties(*names: str) -> tuple[ir.Party, ...]:
    return tuple(ir.Party(n) for n in names)


def additive(*names: str) -> ir.Shared:
    return ir.Shared("additive", tuple(ir.Piece(n, (n,)) for n in names))


def masked_linear(ring: ir.Number = Z64, shape: tuple[ir.Dim, ir.Dim, ir.Dim] = ("m", "k", "n")) -> ir.Protocol:
    m, k, n = shape
    r, s = t((m, k), ring), t((m, n), ring)
    w = ir.Transpose(ref("w"))
    return ir.Protocol(
        "masked_linear",
        parties("client", "preparation", "inference"),
        (
            ir.Input("x", r, ir.Clear(("client",)), origin=1),
            ir.Input("w", t((n, k), ring), ir.Public(), lifetime="weights", origin=2),
        ),
        (ir.Output("y", s, ir.Clear(("client",)), ir.MatMul(ref("x"), w), origin=3),),
        (
            ir.KeyDraw("seed", ("client", "preparation"), origin=4),
            ir.Draw("r", r, ("client", "preparation"), ir.ViaPrf("seed", ("r",)), origin=5),
            ir.Draw("s", s, ("client", "preparation"), ir.ViaPrf("seed", ("s",)), origin=6),
            ir.Assign("preparation", "c", sub(ir.MatMul(ref("r"), w), ref("s")), "offline", origin=7),
            ir.Send("preparation", ("inference",), "c", "offline", origin=8),
            ir.Assign("client", "u", sub(ref("x"), ref("r")), origin=9),
            ir.Send("client", ("inference",), "u", origin=10),
            ir.Assign("inference", "v", add(ir.MatMul(ref("u"), w), ref("c")), origin=11),
            ir.Send("inference", ("client",), "v", origin=12),
            ir.Assign("client", "y", add(ref("v"), ref("s")), origin=13),
        ),
    )
