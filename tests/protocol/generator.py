"""Random small protocols: sound ones, and ones with the faults that the side conditions are there for.

Two parties compute, a third deals; every protocol has at least three messages and a product. What is drawn
at random: rings (also two of them in one protocol), shapes, slices, permutations, broadcasts, PRF streams
shared or reused, lifetimes, masks that are reused, scaled, lifted or missing, outputs with and without
draws.
"""

from __future__ import annotations

from random import Random

from pllm_lang.ir import protocol as ir

COALITIONS = (("B",), ("B",), ("B",), ("B", "C"))


class Maker:
    """One protocol in the making. `cells` counts bits of entropy, so that enumeration stays small."""

    def __init__(self, rng: Random, bits: int) -> None:
        self.rng, self.bits = rng, bits
        self.modulus = rng.choice((2, 2, 4, 4, 4, 8))
        self.size = (
            rng.choice((1, 2)) if self.modulus == 2 or (self.modulus == 4 and rng.random() < 0.4) else 1
        )
        if self.modulus == 2 and rng.random() < 0.25:
            self.size = 4
        self.body: list[ir.Statement] = []
        self.inputs: list[ir.Input] = []
        self.outputs: list[ir.Output] = []
        self.draws: list[tuple[str, int, int]] = []
        self.fresh: list[str] = []
        self.long_lived = rng.random() < 0.2
        if self.long_lived:
            self.bits //= 2
            self.size = 1
            self.modulus = min(self.modulus, 4)
        self.n = 0
        self.coalition = rng.choice(COALITIONS)

    def type(self, size: int, modulus: int) -> ir.TensorType:
        return ir.TensorType(ir.Ring(modulus), (size,))

    def name(self, stem: str) -> str:
        self.n += 1
        return f"{stem}{self.n}"

    def other(self, size: int) -> int:
        """A size that does not fit."""
        return self.rng.choice([s for s in (1, 2, 4) if s != size and s <= max(2, self.size)])

    # ---- inputs and draws ----
    def give(self, name: str, holding: ir.Holding, size: int) -> None:
        life: ir.Lifetime = "session" if self.long_lived and self.rng.random() < 0.3 else "execution"
        self.inputs.append(ir.Input(name, self.type(size, self.modulus), holding, life))
        self.bits -= size * (self.modulus.bit_length() - 1)

    def draw(self, modulus: int, size: int) -> str | None:
        """A draw that A knows, and not B if all goes well; None where the entropy is used up."""
        cost = size * (modulus.bit_length() - 1)
        if cost > self.bits:
            return None
        self.bits -= cost
        rng, name = self.rng, self.name("r")
        holders = rng.choice((("A",), ("A", "C"), ("C", "A"), ("A", "C")))
        roll = rng.random()
        if roll < 0.05:
            holders = ("A", "B")
        type_ = self.type(size, modulus)
        if "C" in holders and rng.random() < 0.6:
            self.prf_draw(name, type_, holders)
        else:
            life: ir.Lifetime = "session" if self.long_lived and rng.random() < 0.3 else "execution"
            self.body.append(ir.Draw(name, type_, holders, lifetime=life))
        self.draws.append((name, modulus, size))
        self.fresh.append(name)
        return name

    def prf_draw(self, name: str, type_: ir.TensorType, holders: tuple[str, ...]) -> None:
        rng = self.rng
        keys = [s.name for s in self.body if isinstance(s, ir.KeyDraw)]
        if not keys or rng.random() < 0.3:
            key = self.name("key")
            life: ir.Lifetime = "session" if self.long_lived and rng.random() < 0.5 else "execution"
            who = ("C", "A", "B") if rng.random() < 0.04 else ("C", "A")
            self.body.append(ir.KeyDraw(key, who, life))
            keys.append(key)
        key = rng.choice(keys)
        label = name
        if rng.random() < 0.12:
            used = [
                s.via.label[0] for s in self.body if isinstance(s, ir.Draw) and isinstance(s.via, ir.ViaPrf)
            ]
            label = rng.choice(used) if used else name
        counter = ("counter",) if rng.random() < 0.5 else ()
        self.body.append(ir.Draw(name, type_, holders, ir.ViaPrf(key, (label, *counter))))
        if rng.random() < 0.02:
            self.body.append(ir.Send("A", ("B",), key))

    # ---- expressions at A ----
    def sized(self, expr: ir.Expr, have: int, want: int) -> ir.Expr:
        """Another size by slices, sums and repetition; the same size sometimes permuted."""
        rng = self.rng
        if have == want:
            roll = rng.random()
            if have == 4 and roll < 0.25:
                turned = ir.Transpose(ir.Reshape(expr, (2, 2)))
                return ir.Reshape(turned, (4,)) if roll < 0.2 else ir.Reshape(ir.Slice(turned, 0, 0, 2), (4,))
            if have == 4 and roll < 0.3:
                halves = ir.Reshape(expr, (2, 2))
                return ir.Reshape(ir.Gather(halves, rng.randrange(2), (1, 0)), (4,))
            if have == 2 and roll < 0.08:
                return ir.Gather(expr, 0, (1, 0))
            if have == 2 and roll < 0.12:
                return ir.Concat((ir.Slice(expr, 0, 1, 2), ir.Slice(expr, 0, 0, 1)), 0)
            if have == 2 and roll < 0.16:
                return ir.Gather(expr, 0, (0, 0))
            return expr
        if have < want:
            grown = ir.Reshape(ir.Broadcast(expr, 0, want // have), (want,))
            return rng.choice((ir.Concat((expr,) * (want // have), 0), grown, grown))
        if want == 2:
            columns = ir.Reshape(expr, (2, 2))
            start = rng.randrange(3)
            return rng.choice(
                (
                    ir.Slice(expr, 0, start, start + 2),
                    ir.Sum(columns, rng.randrange(2)),
                    ir.Slice(expr, 0, start % 2, 4, 2),
                )
            )
        part = rng.randrange(have)
        return rng.choice((ir.Slice(expr, 0, part, part + 1), ir.Reshape(ir.Sum(expr, 0), (1,))))

    def cast(self, expr: ir.Expr, have: int, want: int) -> ir.Expr:
        return expr if have == want else ir.Cast(expr, ir.Ring(want))

    def mask(self, modulus: int, size: int) -> ir.Expr | None:
        """What hides a message: mostly a fresh draw."""
        rng, roll = self.rng, self.rng.random()
        if roll < 0.02:
            return None
        if roll < 0.07 and self.draws:
            name, have, entries = rng.choice(self.draws)
            return self.sized(self.cast(ir.Ref(name), have, modulus), entries, size)
        own_modulus, own_size = modulus, size
        if roll < 0.1 and modulus > 2:
            own_modulus = 2
        elif roll < 0.14 and modulus == 2:
            own_modulus = self.modulus
        if roll > 0.94:
            own_size = self.other(size)
        name = self.fresh.pop() if self.fresh and rng.random() < 0.5 else self.draw(own_modulus, own_size)
        if name is None:
            return None
        if name in self.fresh:
            self.fresh.remove(name)
        have, entries = next((m, s) for n, m, s in self.draws if n == name)
        expr = self.sized(self.cast(ir.Ref(name), have, modulus), entries, size)
        factor = rng.choice((1,) * 8 + (-1,) * 6 + (3,) * 4 + (2,))
        return expr if factor == 1 else ir.Scale(factor, expr)

    def secret(self, modulus: int, size: int) -> ir.Expr:
        rng = self.rng
        name = rng.choice([i.name for i in self.inputs if i.holding == ir.Clear(("A",))])
        return self.sized(self.cast(ir.Ref(name), self.modulus, modulus), self.size, size)

    def content(self, modulus: int, size: int, product: bool) -> ir.Expr:
        """What is to be hidden: secrets, products of secrets, of secrets and draws, of public values."""
        rng = self.rng
        first = self.secret(modulus, size)
        if not product:
            return rng.choice((first, first, ir.Scale(2, first), ir.Add((first, self.secret(modulus, size)))))
        other = self.secret(modulus, size)
        roll = rng.random()
        if roll < 0.35 and self.draws:
            name, have, entries = rng.choice(self.draws)
            other = self.sized(self.cast(ir.Ref(name), have, modulus), entries, size)
        elif roll < 0.5 and any(i.name == "p" for i in self.inputs):
            other = self.sized(self.cast(ir.Ref("p"), self.modulus, modulus), 1, size)
        if size == 2 and rng.random() < 0.3:
            inner = ir.MatMul(ir.Reshape(first, (1, 2)), ir.Reshape(other, (2, 1)))
            return self.sized(ir.Reshape(inner, (1,)), 1, 2)
        return ir.Mul(first, other)

    def message(self, product: bool) -> None:
        rng = self.rng
        modulus = 2 if rng.random() < 0.15 else self.modulus
        size = self.size if rng.random() < 0.85 else self.other(self.size)
        parts: list[ir.Expr] = [self.content(modulus, size, product)]
        mask = self.mask(modulus, size)
        if mask is not None:
            parts.append(mask)
        if rng.random() < 0.1:
            parts.append(ir.Const(1, self.type(size, modulus)))
        target = self.name("u")
        self.body.append(ir.Assign("A", target, ir.Add(tuple(parts)) if len(parts) > 1 else parts[0]))
        self.body.append(ir.Send("A", ("B",), target))

    def side_message(self) -> None:
        """From the dealer, or from B, or a mask that is handed over."""
        rng = self.rng
        dealt = [s for s in self.body if isinstance(s, ir.Draw) and "C" in s.holders]
        roll = rng.random()
        if roll < 0.55 and len(dealt) >= 1:
            one, two = rng.choice(dealt), rng.choice(dealt)
            size, modulus = one.type.shape[0], _modulus(one)
            assert isinstance(size, int)
            parts: list[ir.Expr] = [ir.Ref(one.name)]
            if two is not one:
                value = self.cast(ir.Ref(two.name), _modulus(two), modulus)
                have = two.type.shape[0]
                assert isinstance(have, int)
                value = self.sized(value, have, size)
                parts.append(value if rng.random() < 0.6 else ir.Mul(value, ir.Ref(one.name)))
            fresh = self.draw(modulus, size) if rng.random() < 0.75 else None
            last = self.body[-1]
            if fresh is not None and isinstance(last, ir.Draw) and last.name == fresh and "C" in last.holders:
                parts.append(ir.Ref(fresh))
                self.fresh.remove(fresh)
            target = self.name("c")
            self.body.append(ir.Assign("C", target, ir.Add(tuple(parts))))
            self.body.append(ir.Send("C", ("B",), target))
        else:
            got = [s.name for s in self.body if isinstance(s, ir.Send) and s.name.startswith("u")]
            if got:
                self.body.append(ir.Send("B", ("C", "A"), rng.choice(got)))
            else:
                self.body.append(ir.Send("B", ("A",), "b"))

    def output(self) -> None:
        """Something that B may learn, from A: without draws, or with one."""
        rng = self.rng
        modulus = self.modulus
        value: ir.Expr = self.content(modulus, self.size, rng.random() < 0.4)
        draws = [(n, m, s) for n, m, s in self.draws]
        if draws and rng.random() < 0.3:
            name, have, entries = rng.choice(draws)
            value = ir.Add((value, self.sized(self.cast(ir.Ref(name), have, modulus), entries, self.size)))
        target = self.name("y")
        self.body += [ir.Assign("A", target, value), ir.Send("A", ("B",), target)]
        party = "B" if rng.random() < 0.8 else "C"
        if party == "C":
            self.body.append(ir.Send("A", ("C",), target))
        self.outputs.append(ir.Output(target, self.type(self.size, modulus), ir.Clear((party,))))

    def protocol(self) -> ir.Protocol:
        rng = self.rng
        self.give("x", ir.Clear(("A",)), self.size)
        if rng.random() < 0.4 and self.bits > 8:
            self.give("y", ir.Clear(("A",)), self.size)
        self.give("b", ir.Clear(("B",)), 1)
        if rng.random() < 0.5:
            self.give("p", ir.Public(), 1)
        count = rng.choice((2, 2, 3))
        where = rng.randrange(count)
        for place in range(count):
            self.message(place == where or rng.random() < 0.25)
        for _ in range(3 - count if count < 3 else int(rng.random() < 0.4)):
            self.side_message()
        if rng.random() < 0.3:
            self.output()
        body = sorted(self.body, key=lambda s: not isinstance(s, ir.KeyDraw))
        parties = tuple(ir.Party(p) for p in "ABC")
        return ir.Protocol("random", parties, tuple(self.inputs), tuple(self.outputs), tuple(body))


def _modulus(draw: ir.Draw) -> int:
    assert isinstance(draw.type.number, ir.Ring)
    return draw.type.number.modulus


def random_protocol(rng: Random, bits: int = 15) -> tuple[ir.Protocol, frozenset[str], int]:
    """A protocol, a coalition, and how many executions decide it (two where something outlives one)."""
    maker = Maker(rng, bits)
    protocol = maker.protocol()
    return protocol, frozenset(maker.coalition), 2 if maker.long_lived else 1
