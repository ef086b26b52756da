"""Protocols of the library that rest on an assumed primitive, and the check of a product; and the whole
library."""

from __future__ import annotations

from pllm_lang.ir import protocol as ir
from tests.protocol.library import (
    Z64,
    X,
    add,
    additive,
    additive_add,
    additive_reveal,
    additive_share,
    additive_to_replicated,
    beaver,
    beaver_matmul,
    local_truncation,
    masked_linear,
    masked_truncation,
    parties,
    ref,
    replicated_matmul,
    replicated_multiply,
    replicated_reveal,
    replicated_share,
    sub,
    t,
)


def arithmetic_to_boolean(bits: int = 8, n: ir.Dim = "n") -> ir.Protocol:
    """An assumed primitive takes the shares and gives shares of the bits."""
    ring, bit = ir.Ring(1 << bits), ir.Ring(2)
    v, b = t((n,), ring), t((n, bits), bit)
    primitive = ir.Party("a2b", ir.Assumption("bit-decomposition", 128), ir.IdealCost(8, 64))
    word = ir.Call("bits", (add(ref("x.p0"), ref("x.p1")),), b)
    return ir.Protocol(
        "arithmetic_to_boolean",
        (*parties("p0", "p1"), primitive),
        (ir.Input("x", v, additive("p0", "p1"), origin=1),),
        (ir.Output("z", b, additive("p0", "p1"), ir.Call("bits", (X,), b), origin=2),),
        (
            ir.Send("p0", ("a2b",), "x.p0", origin=3),
            ir.Send("p1", ("a2b",), "x.p1", origin=4),
            ir.Draw("z.p0", b, ("a2b",), origin=5),
            ir.Assign("a2b", "z.p1", sub(word, ref("z.p0")), origin=6),
            ir.Send("a2b", ("p0",), "z.p0", origin=7),
            ir.Send("a2b", ("p1",), "z.p1", origin=8),
        ),
    )


def freivalds(ring: ir.Number = Z64, shape: tuple[ir.Dim, ir.Dim, ir.Dim] = ("m", "k", "n")) -> ir.Protocol:
    """A server multiplies, the client checks against a secret vector."""
    m, k, n = shape
    r = ref("r")
    value = sub(ir.MatMul(ref("y"), r), ir.MatMul(X, ir.MatMul(ref("w"), r)))
    return ir.Protocol(
        "freivalds",
        parties("client", "server"),
        (
            ir.Input("x", t((m, k), ring), ir.Clear(("client", "server")), origin=1),
            ir.Input("w", t((k, n), ring), ir.Public(), lifetime="weights", origin=2),
        ),
        (ir.Output("y", t((m, n), ring), ir.Clear(("client",)), ir.MatMul(X, ref("w")), origin=3),),
        (
            ir.Draw("r", t((n, 1), ring), ("client",), lifetime="session", origin=4),
            ir.Assign("server", "y", ir.MatMul(X, ref("w")), origin=5),
            ir.Send("server", ("client",), "y", origin=6),
            ir.Check("client", value, 63, origin=7),
        ),
    )


def garbled_table(n: ir.Dim = "n") -> ir.Protocol:
    """A one-use garbled table as an ideal party: y.evaluator = table[x] + mask, the mask known to the
    garbler."""
    q7 = ir.Ring(256)
    v = t((n,), q7)
    table = tuple((i * i) % 256 for i in range(256))
    primitive = ir.Party("table", ir.Assumption("garbled-table", 128), ir.IdealCost(1, 16))
    return ir.Protocol(
        "garbled_table",
        (*parties("client", "evaluator"), primitive),
        (ir.Input("x", v, ir.Clear(("client",)), origin=1),),
        (
            ir.Output(
                "y",
                v,
                ir.Shared("masked", (ir.Piece("e", ("evaluator",)), ir.Piece("c", ("client",)))),
                ir.Call("square", (X,), v, table=table),
                origin=2,
            ),
        ),
        (
            ir.Bundle("bundle", "entry", ("y.c",), origin=3),
            ir.Draw("y.c", v, ("client", "table"), origin=4),
            ir.Send("client", ("table",), "x", origin=5),
            ir.Assign("table", "y.e", sub(ir.Call("square", (X,), v, table=table), ref("y.c")), origin=6),
            ir.Send("table", ("evaluator",), "y.e", origin=7),
        ),
    )


def crt_lookup(n: ir.Dim = "n") -> ir.Protocol:
    """A value modulo 15 looked up by its residues modulo 3 and 5; shares come out modulo 16."""
    v, out = t((n,), ir.Ring(15)), t((n,), ir.Ring(16))
    table = tuple((3 * i + 1) % 16 for i in range(15))
    primitive = ir.Party("lookup", ir.Assumption("crt-lookup", 128), ir.IdealCost(2, 32))
    three, five = ir.Ring(3), ir.Ring(5)
    both = add(ir.Scale(10, ir.Cast(ref("x3"), ir.Ring(15))), ir.Scale(6, ir.Cast(ref("x5"), ir.Ring(15))))
    value = ir.Call("f", (ref("joined"),), out, table=table)
    return ir.Protocol(
        "crt_lookup",
        (*parties("client", "evaluator"), primitive),
        (ir.Input("x", v, ir.Clear(("client",)), origin=1),),
        (
            ir.Output(
                "y",
                out,
                additive("client", "evaluator"),
                ir.Call("f", (ref("x"),), out, table=table),
                origin=2,
            ),
        ),
        (
            ir.Assign("client", "x3", ir.Cast(X, three), origin=3),
            ir.Assign("client", "x5", ir.Cast(X, five), origin=4),
            ir.Send("client", ("lookup",), "x3", origin=5),
            ir.Send("client", ("lookup",), "x5", origin=6),
            ir.Assign("lookup", "joined", both, origin=7),
            ir.Draw("y.client", out, ("lookup",), origin=8),
            ir.Assign("lookup", "y.evaluator", sub(value, ref("y.client")), origin=9),
            ir.Send("lookup", ("client",), "y.client", origin=10),
            ir.Send("lookup", ("evaluator",), "y.evaluator", origin=11),
        ),
    )


def oblivious_transfer(n: ir.Dim = "n") -> ir.Protocol:
    v, bit = t((n,)), t((n,), ir.Ring(2))
    primitive = ir.Party("ot", ir.Assumption("oblivious-transfer", 128), ir.IdealCost(2, 32))
    chosen = add(ref("m0"), ir.Mul(ir.Cast(ref("b"), Z64), sub(ref("m1"), ref("m0"))))
    return ir.Protocol(
        "oblivious_transfer",
        (*parties("sender", "receiver"), primitive),
        (
            ir.Input("m0", v, ir.Clear(("sender",)), origin=1),
            ir.Input("m1", v, ir.Clear(("sender",)), origin=2),
            ir.Input("b", bit, ir.Clear(("receiver",)), origin=3),
        ),
        (ir.Output("m", v, ir.Clear(("receiver",)), chosen, origin=4),),
        (
            ir.Send("sender", ("ot",), "m0", origin=5),
            ir.Send("sender", ("ot",), "m1", origin=6),
            ir.Send("receiver", ("ot",), "b", origin=7),
            ir.Assign("ot", "m", chosen, origin=8),
            ir.Send("ot", ("receiver",), "m", origin=9),
        ),
    )


def encrypted_linear(shape: tuple[ir.Dim, ir.Dim, ir.Dim] = ("m", "k", "n")) -> ir.Protocol:
    """Homomorphic evaluation as an ideal party: the client's ciphertext, the server's weights, the result
    back."""
    m, k, n = shape
    primitive = ir.Party("he", ir.Assumption("homomorphic-encryption", 128), ir.IdealCost(2, 4096))
    return ir.Protocol(
        "encrypted_linear",
        (*parties("client", "server"), primitive),
        (
            ir.Input("x", t((m, k)), ir.Clear(("client",)), origin=1),
            ir.Input("w", t((k, n)), ir.Clear(("server",)), lifetime="weights", origin=2),
        ),
        (ir.Output("y", t((m, n)), ir.Clear(("client",)), ir.MatMul(X, ref("w")), origin=3),),
        (
            ir.Send("client", ("he",), "x", origin=4),
            ir.Send("server", ("he",), "w", origin=5),
            ir.Assign("he", "y", ir.MatMul(X, ref("w")), origin=6),
            ir.Send("he", ("client",), "y", origin=7),
        ),
    )


LIBRARY: dict[str, ir.Protocol] = {
    p.name: p
    for p in (
        masked_linear(),
        additive_share(),
        additive_add(),
        additive_reveal(),
        beaver(),
        beaver_matmul(),
        replicated_share(),
        replicated_multiply(),
        replicated_matmul(),
        replicated_reveal(),
        local_truncation(),
        masked_truncation(),
        additive_to_replicated(),
        arithmetic_to_boolean(),
        freivalds(),
        garbled_table(),
        crt_lookup(),
        oblivious_transfer(),
        encrypted_linear(),
    )
}
