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


def masked_linear(
    ring: ir.Number = Z64, shape: tuple[ir.Dim, ir.Dim, ir.Dim] = ("m", "k", "n")
) -> ir.Protocol:
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


X, Y = ref("x"), ref("y")


def additive_share(ring: ir.Number = Z64, n: ir.Dim = "n") -> ir.Protocol:
    """The owner splits x between two parties."""
    v = t((n,), ring)
    return ir.Protocol(
        "additive_share",
        parties("client", "p0", "p1"),
        (ir.Input("x", v, ir.Clear(("client",)), origin=1),),
        (ir.Output("z", v, additive("p0", "p1"), X, origin=2),),
        (
            ir.KeyDraw("seed", ("client", "p1"), origin=3),
            ir.Draw("r", v, ("client", "p1"), ir.ViaPrf("seed", ("r",)), origin=4),
            ir.Assign("client", "z.p0", sub(X, ref("r")), origin=5),
            ir.Send("client", ("p0",), "z.p0", origin=6),
            ir.Assign("p1", "z.p1", ref("r"), origin=7),
        ),
    )


def additive_add(ring: ir.Number = Z64, n: ir.Dim = "n") -> ir.Protocol:
    v = t((n,), ring)
    return ir.Protocol(
        "additive_add",
        parties("p0", "p1"),
        (ir.Input("x", v, additive("p0", "p1"), origin=1), ir.Input("y", v, additive("p0", "p1"), origin=2)),
        (ir.Output("z", v, additive("p0", "p1"), add(X, Y), origin=3),),
        (
            ir.Assign("p0", "z.p0", add(ref("x.p0"), ref("y.p0")), origin=4),
            ir.Assign("p1", "z.p1", add(ref("x.p1"), ref("y.p1")), origin=5),
        ),
    )


def additive_reveal(ring: ir.Number = Z64, n: ir.Dim = "n") -> ir.Protocol:
    """To a third party: the pieces have to be fresh, since it sees each of them."""
    v = t((n,), ring)
    return ir.Protocol(
        "additive_reveal",
        parties("client", "p0", "p1"),
        (ir.Input("x", v, additive("p0", "p1"), fresh=True, origin=1),),
        (ir.Output("z", v, ir.Clear(("client",)), X, origin=2),),
        (
            ir.Send("p0", ("client",), "x.p0", origin=3),
            ir.Send("p1", ("client",), "x.p1", origin=4),
            ir.Assign("client", "z", add(ref("x.p0"), ref("x.p1")), origin=5),
        ),
    )


def beaver(ring: ir.Number = Z64, shape: tuple[ir.Dim, ...] = ("n",)) -> ir.Protocol:
    """Entrywise product of shared values with a dealer's triple."""
    v = t(shape, ring)
    return _beaver("beaver_multiply", v, v, v, ir.Mul)


def beaver_matmul(
    ring: ir.Number = Z64, shape: tuple[ir.Dim, ir.Dim, ir.Dim] = ("m", "k", "n")
) -> ir.Protocol:
    m, k, n = shape
    return _beaver("beaver_matmul", t((m, k), ring), t((k, n), ring), t((m, n), ring), ir.MatMul)


def _beaver(
    name: str, tx: ir.TensorType, ty: ir.TensorType, tz: ir.TensorType, times: type[ir.Mul]
) -> ir.Protocol:
    body: list[ir.Statement] = []
    for p in ("p0", "p1"):
        body.append(ir.KeyDraw(f"k_{p}", ("dealer", p), origin=10))
        body.append(ir.Draw(f"a_{p}", tx, ("dealer", p), ir.ViaPrf(f"k_{p}", ("a",)), origin=11))
        body.append(ir.Draw(f"b_{p}", ty, ("dealer", p), ir.ViaPrf(f"k_{p}", ("b",)), origin=12))
    c = times(add(ref("a_p0"), ref("a_p1")), add(ref("b_p0"), ref("b_p1")))
    body += [
        ir.Draw("c_p0", tz, ("dealer", "p0"), ir.ViaPrf("k_p0", ("c",)), origin=13),
        ir.Assign("dealer", "c_p1", sub(c, ref("c_p0")), "offline", origin=14),
        ir.Send("dealer", ("p1",), "c_p1", "offline", origin=15),
        ir.Bundle("triple", "call", ("a_p0", "a_p1", "b_p0", "b_p1", "c_p0", "c_p1"), origin=16),
    ]
    for p, other in (("p0", "p1"), ("p1", "p0")):
        body += [
            ir.Assign(p, f"d_{p}", sub(ref(f"x.{p}"), ref(f"a_{p}")), origin=17),
            ir.Assign(p, f"e_{p}", sub(ref(f"y.{p}"), ref(f"b_{p}")), origin=18),
            ir.Send(p, (other,), f"d_{p}", origin=19),
            ir.Send(p, (other,), f"e_{p}", origin=20),
        ]
    for p in ("p0", "p1"):
        d, e = add(ref("d_p0"), ref("d_p1")), add(ref("e_p0"), ref("e_p1"))
        terms: list[ir.Expr] = [ref(f"c_{p}"), times(ref("d"), ref(f"b_{p}")), times(ref(f"a_{p}"), ref("e"))]
        if p == "p0":
            terms.append(times(ref("d"), ref("e")))
        body += [ir.Assign(p, "d", d, origin=21), ir.Assign(p, "e", e, origin=22)]
        body.append(ir.Assign(p, f"z.{p}", add(*terms), origin=23))
    holding = additive("p0", "p1")
    inputs = (ir.Input("x", tx, holding, origin=1), ir.Input("y", ty, holding, origin=2))
    output = ir.Output("z", tz, holding, times(X, Y), origin=3)
    return ir.Protocol(name, parties("p0", "p1", "dealer"), inputs, (output,), tuple(body))


THREE = ("p0", "p1", "p2")


def replicated() -> ir.Shared:
    """Party i holds the pieces i and i+1."""
    return ir.Shared("replicated", tuple(ir.Piece(str(i), (THREE[i], THREE[i - 1])) for i in range(3)))


def replicated_share(ring: ir.Number = Z64, n: ir.Dim = "n") -> ir.Protocol:
    v = t((n,), ring)
    return ir.Protocol(
        "replicated_share",
        parties("client", *THREE),
        (ir.Input("x", v, ir.Clear(("client",)), origin=1),),
        (ir.Output("z", v, replicated(), X, origin=2),),
        (
            ir.Draw("z.1", v, ("client", "p1", "p0"), origin=3),
            ir.Draw("z.2", v, ("client", "p2", "p1"), origin=4),
            ir.Assign("client", "z.0", sub(sub(X, ref("z.1")), ref("z.2")), origin=5),
            ir.Send("client", ("p0", "p2"), "z.0", origin=6),
        ),
    )


def replicated_multiply(ring: ir.Number = Z64, shape: tuple[ir.Dim, ...] = ("n",)) -> ir.Protocol:
    v = t(shape, ring)
    return _replicated("replicated_multiply", v, v, v, ir.Mul)


def replicated_matmul(
    ring: ir.Number = Z64, shape: tuple[ir.Dim, ir.Dim, ir.Dim] = ("m", "k", "n")
) -> ir.Protocol:
    m, k, n = shape
    return _replicated("replicated_matmul", t((m, k), ring), t((k, n), ring), t((m, n), ring), ir.MatMul)


def _replicated(
    name: str, tx: ir.TensorType, ty: ir.TensorType, tz: ir.TensorType, times: type[ir.Mul]
) -> ir.Protocol:
    """Products of the pieces a party has, re-randomised by a share of zero, sent to one neighbour."""
    body: list[ir.Statement] = []
    for i, p in enumerate(THREE):
        body.append(ir.KeyDraw(f"k{i}", (p, THREE[i - 1]), "session", origin=10))
        body.append(
            ir.Draw(f"f{i}", tz, (p, THREE[i - 1]), ir.ViaPrf(f"k{i}", ("zero", "counter")), origin=11)
        )
    for i, p in enumerate(THREE):
        j = (i + 1) % 3
        products = add(
            times(ref(f"x.{i}"), ref(f"y.{i}")),
            times(ref(f"x.{i}"), ref(f"y.{j}")),
            times(ref(f"x.{j}"), ref(f"y.{i}")),
            ref(f"f{i}"),
            ir.Scale(-1, ref(f"f{j}")),
        )
        body.append(ir.Assign(p, f"z.{i}", products, origin=12 + i))
        body.append(ir.Send(p, (THREE[i - 1],), f"z.{i}", origin=15 + i))
    inputs = (ir.Input("x", tx, replicated(), origin=1), ir.Input("y", ty, replicated(), origin=2))
    return ir.Protocol(
        name, parties(*THREE), inputs, (ir.Output("z", tz, replicated(), times(X, Y), origin=3),), tuple(body)
    )


def replicated_reveal(ring: ir.Number = Z64, n: ir.Dim = "n") -> ir.Protocol:
    """To p0, from the neighbour that has the missing piece."""
    v = t((n,), ring)
    return ir.Protocol(
        "replicated_reveal",
        parties(*THREE),
        (ir.Input("x", v, replicated(), origin=1),),
        (ir.Output("z", v, ir.Clear(("p0",)), X, origin=2),),
        (
            ir.Send("p1", ("p0",), "x.2", origin=3),
            ir.Assign("p0", "z", add(ref("x.0"), ref("x.1"), ref("x.2")), origin=4),
        ),
    )


def local_truncation(bits: int = 16, range_bits: int = 40, n: ir.Dim = "n") -> ir.Protocol:
    """Two parties shift their shares: within one unit, but for a wrap with probability 2^(range - 64)."""
    v = t((n,))
    minus = ir.Scale(-1, ir.Shift(ir.Scale(-1, ref("x.p1")), bits))
    return ir.Protocol(
        "local_truncation",
        parties("p0", "p1"),
        (ir.Input("x", v, additive("p0", "p1"), range_bits=range_bits, origin=1),),
        (
            ir.Output(
                "z",
                v,
                additive("p0", "p1"),
                X,
                scale_bits=bits,
                error=1,
                failure=64 - range_bits,
                origin=2,
            ),
        ),
        (
            ir.Assign("p0", "z.p0", ir.Shift(ref("x.p0"), bits), origin=3),
            ir.Assign("p1", "z.p1", minus, origin=4),
        ),
    )


def masked_truncation(
    bits: int = 16, range_bits: int = 20, mask_bits: int = 62, n: ir.Dim = "n"
) -> ir.Protocol:
    """A dealer shares an integer mask and its shift; the masked value is opened and shifted in the clear."""
    v, offset = t((n,)), 1 << range_bits
    m = t((n,), ir.Integer(mask_bits))
    body: list[ir.Statement] = [
        ir.Draw("m", m, ("dealer",), origin=10),
        ir.Draw("m_p0", v, ("dealer", "p0"), origin=11),
        ir.Draw("h_p0", v, ("dealer", "p0"), origin=12),
        ir.Assign("dealer", "m_p1", sub(ir.Cast(ref("m"), Z64), ref("m_p0")), "offline", origin=13),
        ir.Assign(
            "dealer", "h_p1", sub(ir.Cast(ir.Shift(ref("m"), bits), Z64), ref("h_p0")), "offline", origin=14
        ),
        ir.Send("dealer", ("p1",), "m_p1", "offline", origin=15),
        ir.Send("dealer", ("p1",), "h_p1", "offline", origin=16),
        ir.Bundle("mask", "entry", ("m_p0", "m_p1", "h_p0", "h_p1"), origin=17),
        ir.Assign("p0", "o_p0", add(ref("x.p0"), ref("m_p0"), ir.Const(offset, v)), origin=18),
        ir.Assign("p1", "o_p1", add(ref("x.p1"), ref("m_p1")), origin=19),
        ir.Send("p0", ("p1",), "o_p0", origin=20),
        ir.Send("p1", ("p0",), "o_p1", origin=21),
        ir.Assign("p0", "o", add(ref("o_p0"), ref("o_p1")), origin=22),
        ir.Assign(
            "p0",
            "z.p0",
            add(ir.Shift(ref("o"), bits), ir.Scale(-1, ref("h_p0")), ir.Const(-(offset >> bits), v)),
            origin=23,
        ),
        ir.Assign("p1", "z.p1", ir.Scale(-1, ref("h_p1")), origin=24),
    ]
    return ir.Protocol(
        "masked_truncation",
        parties("p0", "p1", "dealer"),
        (ir.Input("x", v, additive("p0", "p1"), range_bits=range_bits, origin=1),),
        (ir.Output("z", v, additive("p0", "p1"), X, scale_bits=bits, error=1, origin=2),),
        tuple(body),
    )


def additive_to_replicated(ring: ir.Number = Z64, n: ir.Dim = "n") -> ir.Protocol:
    """Two holders and a helper: each masks its share with a piece that it shares with the helper."""
    v = t((n,), ring)
    pieces = (ir.Piece("0", ("p0", "p2")), ir.Piece("1", ("p1", "p0")), ir.Piece("2", ("p2", "p1")))
    return ir.Protocol(
        "additive_to_replicated",
        parties(*THREE),
        (ir.Input("x", v, additive("p0", "p1"), origin=1),),
        (ir.Output("z", v, ir.Shared("replicated", pieces), X, origin=2),),
        (
            ir.Draw("z.0", v, ("p0", "p2"), origin=3),
            ir.Draw("z.2", v, ("p1", "p2"), origin=4),
            ir.Assign("p0", "u", sub(ref("x.p0"), ref("z.0")), origin=5),
            ir.Assign("p1", "v", sub(ref("x.p1"), ref("z.2")), origin=6),
            ir.Send("p0", ("p1",), "u", origin=7),
            ir.Send("p1", ("p0",), "v", origin=8),
            ir.Assign("p0", "z.1", add(ref("u"), ref("v")), origin=9),
            ir.Assign("p1", "z.1", add(ref("u"), ref("v")), origin=10),
        ),
    )
