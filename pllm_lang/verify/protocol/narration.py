"""The symbolic run of a protocol: every party's variables as terms, every message, and who knows what.

In: a lowered protocol. Out: a `Trace`. A party computes from what it holds or was sent; a statement that
needs more is a finding (`knowledge`), and what depends on it is passed over, so that one slip gives one
finding.

Loops with a number are unrolled. A loop with a symbol, and a long-lived thing, is run `copies` times: once
for a proof (a generic run, see `scopes.py`), twice where a leak is looked for.
"""

from __future__ import annotations

from typing import assert_never

from pllm_lang.ir import protocol as ir
from pllm_lang.verify.protocol import polynomial as pl
from pllm_lang.verify.protocol import tensors as tn
from pllm_lang.verify.protocol.atoms import Atom
from pllm_lang.verify.protocol.evaluate import modulus_of
from pllm_lang.verify.protocol.forms import (
    element_bits,
    output_variables,
    participants,
    size_of,
)
from pllm_lang.verify.protocol.ranges import integer_bits
from pllm_lang.verify.protocol.report import Finding
from pllm_lang.verify.protocol.scopes import Scope, scope_of
from pllm_lang.verify.protocol.sizes import Sizes
from pllm_lang.verify.protocol.store import Store
from pllm_lang.verify.protocol.streams import Path, Streams
from pllm_lang.verify.protocol.tensors import Value
from pllm_lang.verify.protocol.trace import Copy, Delivery, DrawFacts, InputFacts, Key, Message, Seen, Trace

MAX_STATEMENTS = 20_000


def narrate(protocol: ir.Protocol, sizes: Sizes, copies: int = 1) -> Trace:
    """Run the protocol symbolically: `copies` executions that share what outlives one."""
    run = _Run(Trace(protocol, sizes), copies)
    for copy in range(1, copies + 1):
        run.execution(copy)
    return run.trace


class _Run(Store):
    def __init__(self, trace: Trace, copies: int) -> None:
        super().__init__(trace, copies)
        self.statements = 0
        self.made: dict[tuple[object, ...], Key] = {}
        self.streams = Streams()
        self.labels: dict[str, Path] = {}
        self.loops: dict[Path, int] = {}

    def execution(self, copy: int) -> None:
        self.copy = copy
        self.vars = {p.name: {} for p in self.trace.protocol.parties}
        self.depths, self.keys, self.blind = {}, {}, set()
        self.trace.copies.append(Copy())
        for place, given in enumerate(self.trace.protocol.inputs):
            self.give(given, (-1, place))
        self.block(self.trace.protocol.body, (), ())
        for output in self.trace.protocol.outputs:
            self.collect(output)

    # ---- inputs and outputs ----
    def give(self, given: ir.Input, path: Path) -> None:
        scope, copy = scope_of(given.lifetime, ()), self.trace.copies[-1]
        if not isinstance(given.holding, ir.Shared):
            holders = None if isinstance(given.holding, ir.Public) else frozenset(given.holding.parties)
            atom, value = self.atom(given.name, given.type, "input", scope, path)
            self.trace.inputs[atom] = InputFacts(given, None, holders, scope)
            copy.values[given.name] = value
            for party in self.vars if holders is None else holders:
                self.hold(party, given.name, value)
            return
        terms: list[pl.Poly] = []
        rows = copy.pieces.setdefault(given.name, [])
        for place, piece in enumerate(given.holding.pieces):
            name = f"{given.name}.{piece.label}"
            atom, value = self.atom(name, given.type, "input", scope, (*path, place))
            self.trace.inputs[atom] = InputFacts(given, piece, frozenset(piece.holders), scope)
            rows.append((piece, atom))
            terms.append(pl.scale(piece.coefficient, value))
            for party in piece.holders:
                self.hold(party, name, value)
        copy.values[given.name] = pl.add(*terms)

    def collect(self, output: ir.Output) -> None:
        """The output's variables where they have to be; a missing one is a finding."""
        for party, name in output_variables(output, list(self.vars)):
            value = self.vars[party].get(name)
            if value is not None:
                self.trace.copies[-1].outputs[party, name] = value
            elif (party, name) not in self.blind and self.copy == 1:
                text = f"{party} never gets {name}, a part of the output {output.name}"
                self.trace.findings.append(Finding("protocol.missing-output", text, (output.origin,)))

    # ---- statements ----
    def block(self, body: tuple[ir.Statement, ...], loops: tuple[int, ...], path: Path) -> None:
        for place, statement in enumerate(body):
            self.statements += 1
            if self.statements > MAX_STATEMENTS:
                raise pl.TooLarge(f"more than {MAX_STATEMENTS} statements once loops are unrolled")
            self.statement(statement, loops, (*path, place))

    def statement(self, st: ir.Statement, loops: tuple[int, ...], path: Path) -> None:
        match st:
            case ir.KeyDraw():
                self.key(st, scope_of(st.lifetime, loops), path)
            case ir.Draw():
                self.draw(st, loops, path)
            case ir.Assign():
                self.assign(st)
            case ir.Send():
                self.send(st)
            case ir.Check():
                self.check(st)
            case ir.When():
                self.when(st, loops, path)
            case ir.Repeat():
                self.repeat(st, loops, path)
            case ir.Bundle():
                pass
            case _:
                assert_never(st)

    def assign(self, st: ir.Assign) -> None:
        self.told_apart(st.target, st.target in self.keys, st.origin)
        value = self.value(st.party, st.value, st.origin)
        if value is None:
            self.vars[st.party].pop(st.target, None)
            self.blind.add((st.party, st.target))
            return
        shapes = self.trace.computed
        shapes[st.target] = max(shapes.get(st.target, ()), tn.shape_of(value), key=size_of)
        self.hold(st.party, st.target, value, self.depth(st.party, st.value, st.phase))

    def send(self, st: ir.Send) -> None:
        if st.name in self.keys:
            self.send_key(st, self.keys[st.name])
            return
        value = self.value(st.sender, ir.Ref(st.name), st.origin)
        if value is None:
            self.blind |= {(r, st.name) for r in st.receivers}
            return
        depth = self.depth(st.sender, ir.Ref(st.name), st.phase)[1] + self.hop(st.sender, st.receivers)
        number = self.number(value)
        self.trace.messages.append(
            Message(st.name, st.sender, st.receivers, value, number, st.phase, depth, self.copy, st.origin)
        )
        for receiver in st.receivers:
            self.hold(receiver, st.name, value, (st.phase, depth))

    def number(self, value: Value) -> ir.Number:
        """The number type of a value; integers as wide as their atoms say."""
        modulus = tn.modulus_of(value)
        if modulus:
            return ir.Ring(modulus)
        return ir.Integer(
            max((integer_bits(p, self.trace.atoms) for p in tn.parts_of(value)), default=1), True
        )

    def hop(self, sender: str, receivers: tuple[str, ...]) -> int:
        """Rounds that a message takes: a primitive takes its own when it answers, none when it is asked."""
        ideal = {p.name: p for p in self.trace.protocol.parties if p.ideal is not None}
        if sender in ideal:
            assumption = ideal[sender].ideal
            if assumption is not None:
                self.trace.assumptions.add(assumption)
            return ideal[sender].cost.rounds
        return 0 if set(receivers) <= set(ideal) else 1

    def send_key(self, st: ir.Send, key: Key) -> None:
        if st.sender not in key.holders:
            text = f"{st.sender} does not hold the key {st.name} and cannot send it"
            self.trace.findings.append(Finding("protocol.knowledge", text, (st.origin,)))
            return
        key.holders |= set(st.receivers)
        self.trace.deliveries.append(Delivery(st.name, st.sender, st.receivers, 128, 1, st.phase, st.origin))

    def check(self, st: ir.Check) -> None:
        value = self.value(st.party, st.value, st.origin)
        if value is None:
            return
        self.trace.checks.append((st, value))
        everybody = frozenset(p.name for p in self.trace.protocol.parties)
        if any(p.terms for p in tn.parts_of(value)):
            what = f"whether {st.party} aborts"
            self.trace.seen.append(Seen(value, everybody, what, self.copy, st.origin))

    def when(self, st: ir.When, loops: tuple[int, ...], path: Path) -> None:
        value = self.value(st.party, st.condition, st.origin)
        if value is not None:
            what = f"whether the branch on a value of {st.party} is taken"
            self.trace.seen.append(Seen(value, participants(st.body), what, self.copy, st.origin))
        self.apart(st.body, loops, path)

    def repeat(self, st: ir.Repeat, loops: tuple[int, ...], path: Path) -> None:
        outer = self.iteration
        if isinstance(st.count, int):
            for i in range(st.count):
                self.iteration = (*outer, i)
                self.block(st.body, loops, path)
        else:
            for i in range(self.copies):
                self.iteration = (*outer, i)
                self.apart(st.body, (*loops, self.loops.setdefault(path, len(self.loops))), path)
        self.iteration = outer

    def apart(self, body: tuple[ir.Statement, ...], loops: tuple[int, ...], path: Path) -> None:
        """A body that nothing after it can look into."""
        before = {party: dict(store) for party, store in self.vars.items()}
        keys, blind = dict(self.keys), set(self.blind)
        self.block(body, loops, path)
        self.vars, self.keys, self.blind = before, keys, blind

    # ---- draws ----
    def atom(self, name: str, t: ir.TensorType, kind: str, scope: Scope, path: Path) -> tuple[int, pl.Poly]:
        """The atom that this statement makes in this run; two statements never make the same one."""
        label = f"{name}{self.tag(scope)}"
        while self.labels.setdefault(label, path) != path:
            label += "'"
        modulus, shape = modulus_of(t.number), self.trace.sizes.shape(t.shape)
        wide = (t.number.bits, t.number.signed) if isinstance(t.number, ir.Integer) else (0, False)
        made = Atom(label, "draw" if kind == "draw" else "input", modulus, shape, *wide)
        number = self.trace.atoms.add(made)
        return number, pl.whole(number, modulus, shape)

    def key(self, st: ir.KeyDraw, scope: Scope, path: Path) -> None:
        place = (path, self.tag(scope))
        key = self.made.get(place)
        if key is None:
            key = Key(st.name, st.holders, scope)
            self.made[place] = key
        self.keys[st.name] = key
        self.told_apart(st.name, any(st.name in store for store in self.vars.values()), st.origin)
        if len(st.holders) > 1:
            first, rest = st.holders[0], st.holders[1:]
            self.trace.deliveries.append(Delivery(st.name, first, rest, st.bits, 1, st.phase, st.origin))

    def told_apart(self, name: str, clash: bool, origin: int) -> None:
        """A value under a key's name would be sent as the key, and be no message."""
        if clash and self.copy == 1:
            text = f"{name} names a key and a value"
            self.trace.findings.append(Finding("protocol.misfit", text, (origin,)))

    def draw(self, st: ir.Draw, loops: tuple[int, ...], path: Path) -> None:
        self.told_apart(st.name, st.name in self.keys, st.origin)
        scope = scope_of(st.lifetime, loops)
        if isinstance(st.via, ir.ViaPrf):
            self.expand(st, st.via, scope, path)
            return
        atom, value = self.atom(st.name, st.type, "draw", scope, path)
        facts = self.trace.draws.setdefault(atom, DrawFacts(st.name, scope, None, st.origin))
        facts.holders |= set(st.holders)
        depth = 1 if len(st.holders) > 1 else 0
        for place, party in enumerate(st.holders):
            self.hold(party, st.name, value, (st.phase, depth if place else 0))
        if len(st.holders) > 1:
            bits = element_bits(st.type.number)
            entries = size_of(value.shape)
            first, rest = st.holders[0], st.holders[1:]
            self.trace.deliveries.append(Delivery(st.name, first, rest, bits, entries, st.phase, st.origin))

    def expand(self, st: ir.Draw, via: ir.ViaPrf, scope: Scope, path: Path) -> None:
        """`prf(key, label)`: one draw, whatever its length, for every use of the label while the key
        lives."""
        key = self.keys.get(via.key)
        absent = [p for p in st.holders if key is None or p not in key.holders]
        if key is None or absent:
            text = f"{' and '.join(absent)} cannot expand {st.name}: the key {via.key} is not theirs"
            self.trace.findings.append(Finding("protocol.knowledge", text, (st.origin,)))
        if key is None:
            self.blind |= {(p, st.name) for p in st.holders}
            return
        self.trace.assumptions.add(ir.Assumption("prf"))
        if "counter" not in via.label and scope > key.scope:
            text = f"{st.name} repeats: the key {via.key} outlives it and the label has no counter"
            self.reused(text, st.origin)
        value = self.stream(
            st, via, key, key.scope if "counter" not in via.label else max(scope, key.scope), path
        )
        for party in st.holders:
            if party not in absent:
                self.hold(party, st.name, value)

    def stream(self, st: ir.Draw, via: ir.ViaPrf, key: Key, scope: Scope, path: Path) -> Value:
        """The draw that the stream of this key and label is."""
        counted = "counter" in via.label
        stream = self.streams.of(key, via.label, self.tag(scope) if counted else "")
        where = (path, () if counted else self.iteration)
        if stream.used_elsewhere(where):
            text = f"{st.name} repeats: prf({via.key}, {', '.join(via.label)}) is already in use"
            self.reused(text, st.origin)
        kind = (modulus_of(st.type.number), self.trace.sizes.shape(st.type.shape))
        if kind not in stream.draws:
            atom, value = self.atom(st.name, st.type, "draw", scope, path)
            stream.draws[kind] = (atom, value)
            self.trace.draws[atom] = DrawFacts(st.name, scope, key, st.origin, stream.number)
        stream.places.add(where)
        if len(stream.draws) > 1:
            for atom, _ in stream.draws.values():
                self.trace.draws[atom].blocked = "one stream under two shapes"
        atom, value = stream.draws[kind]
        self.trace.draws[atom].holders |= set(st.holders)
        return value

    def reused(self, text: str, origin: int) -> None:
        if self.copy == 1:
            self.trace.findings.append(Finding("protocol.reused-stream", text, (origin,)))
