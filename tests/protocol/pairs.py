"""Random two-step compositions: a protocol that makes a sharing, and one that uses it.

Three parties hold additive pieces. The first step shares, adds, or shares badly (a piece is the secret
itself, two values get the same pieces); the second opens, opens a piece, masks with a piece, multiplies, or
adds masks. Both have stated meanings, so the prover may take each by its own proof.
"""

from __future__ import annotations

from random import Random

from pllm_lang.ir import protocol as ir
from pllm_lang.verify.protocol.inlining import Composition, Instance

PARTIES = ("A", "B", "C")
SHARED = ir.Shared("additive", tuple(ir.Piece(p.lower(), (p,)) for p in PARTIES))
ROLES = tuple((p, p) for p in PARTIES)


def _parties() -> tuple[ir.Party, ...]:
    return tuple(ir.Party(p) for p in PARTIES)


def _sum(*terms: ir.Expr) -> ir.Expr:
    return ir.Add(terms) if len(terms) > 1 else terms[0]


def _minus(expr: ir.Expr) -> ir.Expr:
    return ir.Scale(-1, expr)


class PairMaker:
    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.modulus = rng.choice((2, 2, 4))
        self.size = rng.choice((1, 2)) if self.modulus == 2 else 1
        self.type = ir.TensorType(ir.Ring(self.modulus), (self.size,))

    def zero(self) -> ir.Expr:
        return ir.Const(0, self.type)

    def first(self) -> ir.Protocol:
        """A shares x (and A's y) as z; how well it does so varies."""
        rng, type_ = self.rng, self.type
        kind = rng.choice(("good", "good", "good", "thin", "bare", "doubled", "seen"))
        body: list[ir.Statement] = [ir.Draw("s", type_, ("A",))]
        s, x = ir.Ref("s"), ir.Ref("x")
        value: ir.Expr = ir.Mul(x, ir.Ref("y")) if rng.random() < 0.6 else _sum(x, ir.Ref("y"))
        if kind == "good":
            body += [ir.Draw("t", type_, ("A",))]
            pieces = (_sum(value, _minus(s), _minus(ir.Ref("t"))), s, ir.Ref("t"))
        elif kind == "thin":
            pieces = (_sum(value, _minus(s)), s, self.zero())
        elif kind == "bare":
            pieces = (value, self.zero(), self.zero())
        elif kind == "doubled":
            pieces = (_sum(value, ir.Scale(-2, s)), s, s)
        else:
            body += [ir.Draw("t", type_, ("A",))]
            pieces = (_sum(value, _minus(s), _minus(ir.Ref("t"))), s, ir.Ref("t"))
        for party, piece in zip(PARTIES, pieces, strict=True):
            name = f"z.{party.lower()}"
            body.append(ir.Assign("A", name, piece))
            if party != "A":
                body.append(ir.Send("A", (party,), name))
        if kind == "seen":
            masked = rng.choice((_sum(ir.Ref("z.c"), s), _sum(ir.Ref("z.c"), x), ir.Ref("z.c")))
            body += [ir.Assign("A", "hint", masked), ir.Send("A", ("B",), "hint")]
        if rng.random() < 0.15:
            body += [ir.Draw("m", type_, ("A",)), ir.Assign("A", "u", _sum(x, ir.Ref("m")))]
            body += [ir.Send("A", ("B",), "u")]
        inputs = (ir.Input("x", type_, ir.Clear(("A",))), ir.Input("y", type_, ir.Clear(("A",))))
        output = ir.Output("z", type_, SHARED, value)
        return ir.Protocol("first", _parties(), inputs, (output,), tuple(body))

    def second(self) -> ir.Protocol:
        """Uses z: the result goes to one party."""
        rng, type_ = self.rng, self.type
        body: list[ir.Statement] = []
        kind = rng.choice(("open", "open", "piece", "mask", "local", "masked", "masked"))
        fresh = rng.random() < 0.5
        to = rng.choice(("A", "B", "B"))
        meaning: ir.Expr = ir.Ref("z")
        if kind in ("open", "masked"):
            to = "B" if kind == "open" else "A"
            if kind == "masked":
                body += self._remasked()
            else:
                body += [ir.Send(p, (to,), f"z.{p.lower()}") for p in PARTIES if p != to]
            body.append(ir.Assign(to, "o", _sum(*(ir.Ref(f"z.{p.lower()}") for p in PARTIES))))
            if kind == "masked":
                body = [*body[:-1], ir.Assign(to, "o", _sum(*(ir.Ref(f"q.{p.lower()}") for p in PARTIES)))]
        elif kind == "piece":
            body += [ir.Send("C", ("B",), "z.c"), ir.Send("A", ("B",), "z.a")]
            if rng.random() < 0.5:
                body = body[:1]
            meaning, to = self.zero(), "A"
            body.append(ir.Assign("A", "o", self.zero()))
        elif kind == "mask":
            piece = rng.choice(("z.a", "z.a", "z.c"))
            party = "A" if piece == "z.a" else "C"
            extra: ir.Expr = ir.Ref("w") if party == "A" else ir.Mul(ir.Ref("z.c"), ir.Ref("z.c"))
            body += [ir.Assign(party, "u", _sum(extra, ir.Ref(piece))), ir.Send(party, ("B",), "u")]
            meaning, to = self.zero(), "A"
            body.append(ir.Assign("A", "o", self.zero()))
        else:
            body += [ir.Draw("m", type_, ("C",)), ir.Assign("C", "u", _sum(ir.Ref("z.c"), ir.Ref("m")))]
            body += [ir.Send("C", ("B",), "u")]
            meaning, to = self.zero(), "A"
            body.append(ir.Assign("A", "o", self.zero()))
        inputs = (ir.Input("z", type_, SHARED, fresh=fresh), ir.Input("w", type_, ir.Clear(("A",))))
        output = ir.Output("o", type_, ir.Clear((to,)), meaning)
        return ir.Protocol("second", _parties(), inputs, (output,), tuple(body))

    def _remasked(self) -> list[ir.Statement]:
        """Fresh pieces of zero are added before the pieces go to A, who may learn z; B sees a masked copy."""
        type_ = self.type
        body: list[ir.Statement] = [ir.Draw("m", type_, ("B", "C"))]
        body += [
            ir.Assign("A", "q.a", ir.Ref("z.a")),
            ir.Assign("B", "q.b", _sum(ir.Ref("z.b"), ir.Ref("m"))),
            ir.Assign("C", "q.c", _sum(ir.Ref("z.c"), _minus(ir.Ref("m")))),
            ir.Send("B", ("A",), "q.b"),
            ir.Send("C", ("A",), "q.c"),
        ]
        if self.rng.random() < 0.5:
            body += [ir.Draw("n", type_, ("A",)), ir.Assign("A", "v", _sum(ir.Ref("z.a"), ir.Ref("n")))]
            body += [ir.Send("A", ("B",), "v")]
        return body


def random_pair(rng: Random) -> tuple[Composition, frozenset[str]]:
    """A composition and a coalition."""
    maker = PairMaker(rng)
    one, two = maker.first(), maker.second()
    to = two.outputs[0].holding
    assert isinstance(to, ir.Clear)
    meaning = None if to.parties[0] == "A" else one.outputs[0].meaning
    inputs = (*one.inputs, ir.Input("w", maker.type, ir.Clear(("A",))))
    outputs = (ir.Output("o", maker.type, to, meaning),)
    steps = (
        Instance(one, ROLES, (("x", "x"), ("y", "y")), (("z", "z"),)),
        Instance(two, ROLES, (("z", "z"), ("w", "w")), (("o", "o"),)),
    )
    return Composition("pair", _parties(), inputs, outputs, steps), frozenset(
        rng.choice((("B",), ("B",), ("C",)))
    )
