"""The symbolic run of a protocol: every party's variables as terms, every message, and who knows what.

In: a lowered protocol. Out: a `Trace`, the one source for correctness, views, cost and leaks. A party computes
from what it holds or was sent; a statement that needs more is a finding (`knowledge`), and the run goes on with
an unknown in its place, so that one slip gives one finding.

Statements of an unbounded `repeat` and of long-lived inputs run once in a proof (a *generic* copy, see
`scopes.py`) and `copies` times where a leak is looked for.
"""

from __future__ import annotations

import msgspec

from pllm_lang.ir import protocol as ir
from pllm_lang.verify.protocol import polynomial as pl
from pllm_lang.verify.protocol import tensors as tn
from pllm_lang.verify.protocol.atoms import Atom, Atoms
from pllm_lang.verify.protocol.cuts import cut_points
from pllm_lang.verify.protocol.evaluate import Misfit, evaluate, modulus_of
from pllm_lang.verify.protocol.report import Finding
from pllm_lang.verify.protocol.scopes import LEVELS, Scope
from pllm_lang.verify.protocol.sizes import Sizes
from pllm_lang.verify.protocol.tensors import Value

MAX_UNROLLED = 4096


class DrawFacts(msgspec.Struct, frozen=True):
    """A draw: who knows it, from which key instance it comes (-1: none), how long it lives, where it was written."""

    name: str
    holders: frozenset[str]
    key: int
    scope: Scope
    origin: int


class Key:
    """One key value in one run: its holders grow when it is sent; `spoiled` once it is used as a number."""

    def __init__(self, name: str, holders: tuple[str, ...], scope: Scope) -> None:
        self.name, self.holders, self.scope = name, set(holders), scope
        self.streams: dict[tuple[str, ...], list[tuple[tuple[object, ...], list[int]]]] = {}
        self.conflict: set[tuple[str, ...]] = set()


class Message(msgspec.Struct, frozen=True):
    """`copy` counts executions from 1 (0: only one was run). `depth` is the round it belongs to in its phase."""

    name: str
    sender: str
    receivers: tuple[str, ...]
    value: Value
    phase: ir.Phase
    depth: int
    copy: int
    origin: int
    bits: int = 0


class Trace:
    """What a run leaves. `pieces[x]` are the (piece, atom numbers) of a shared input, `values[x]` its value."""

    def __init__(self, protocol: ir.Protocol, sizes: Sizes) -> None:
        self.protocol, self.sizes, self.atoms = protocol, sizes, Atoms()
        self.vars: dict[str, dict[str, Value]] = {p.name: {} for p in protocol.parties}
        self.depths: dict[tuple[str, str], int] = {}
        self.keys: dict[str, Key] = {}
        self.all_keys: list[Key] = []
        self.draws: dict[int, DrawFacts] = {}
        self.inputs: dict[int, tuple[ir.Input, frozenset[str] | None]] = {}
        self.input_scope: dict[int, Scope] = {}
        self.pieces: list[tuple[ir.Input, list[tuple[ir.Piece, list[int]]]]] = []
        self.values: list[dict[str, Value]] = []
        self.messages: list[Message] = []
        self.outputs: list[dict[tuple[str, str], Value]] = []
        self.checks: list[tuple[ir.Check, Value]] = []
        self.conditions: list[tuple[ir.When, Value, frozenset[str]]] = []
        self.findings: list[Finding] = []
        self.assumptions: set[ir.Assumption] = set()
        self.needs: dict[str, int] = {}

    @property
    def ideal(self) -> dict[str, ir.Party]:
        return {p.name: p for p in self.protocol.parties if p.ideal is not None}


def narrate(protocol: ir.Protocol, sizes: Sizes, copies: int = 1) -> Trace:
    """Run the protocol symbolically, `copies` executions that share what outlives one."""
    trace = Trace(protocol, sizes)
    run = _Run(trace, copies, cut_points(protocol))
    for copy in range(copies):
        run.copy = copy
        run.inputs()
        run.block(protocol.body, ())
        trace.outputs.append(run.gathered())
    return trace


class _Run:
    def __init__(self, trace: Trace, copies: int, cuts: dict[str, tuple[int, tuple[int, ...]]]) -> None:
        self.trace, self.copies, self.cuts = trace, copies, cuts
        self.copy = 0
        self.iteration: tuple[int, ...] = ()
        self.lived: dict[tuple[object, ...], object] = {}
        self.blind: set[tuple[str, str]] = set()

    # ---- inputs
    def inputs(self) -> None:
        trace = self.trace
        values: dict[str, Value] = {}
        for store in trace.vars.values():
            store.clear()
        for given in trace.protocol.inputs:
            scope = (LEVELS[given.lifetime], ())
            tag = self._tag(scope)
            match given.holding:
                case ir.Shared():
                    values[given.name] = self._pieces(given, given.holding, scope, tag)
                case _:
                    holders = None if isinstance(given.holding, ir.Public) else given.holding.parties
                    value = self._atom_value(given, given.name, tag, scope, holders)
                    values[given.name] = value
                    for party in trace.vars if holders is None else holders:
                        trace.vars[party][given.name] = value
        trace.values.append(values)

    def _atom_value(
        self, given: ir.Input, name: str, tag: str, scope: Scope, holders: tuple[str, ...] | None
    ) -> Value:
        trace = self.trace
        value = self._new(name, tag, "input", given.type)
        for poly in tn.parts_of(value):
            for atom in pl.atoms_of(poly):
                trace.inputs[atom] = (given, None if holders is None else frozenset(holders))
                trace.input_scope[atom] = scope
        return value

    def _pieces(self, given: ir.Input, holding: ir.Shared, scope: Scope, tag: str) -> Value:
        trace = self.trace
        rows: list[tuple[ir.Piece, list[int]]] = []
        terms: list[Value] = []
        for piece in holding.pieces:
            name = f"{given.name}.{piece.label}"
            value = self._atom_value(given, name, tag, scope, piece.holders)
            rows.append((piece, [next(iter(pl.atoms_of(p))) for p in tn.parts_of(value)]))
            for party in piece.holders:
                trace.vars[party][name] = value
            terms.append(tn.entrywise(lambda ps, c=piece.coefficient: pl.scale(c, ps[0]), [value]))
        if not any(g is given and r == rows for g, r in trace.pieces):
            trace.pieces.append((given, rows))
        return tn.entrywise(lambda ps: pl.add(*ps), terms)

    def _tag(self, scope: Scope) -> str:
        """Distinguishes the copies of what lives no longer than an execution."""
        if scope[0] < LEVELS["execution"]:
            return ""
        copy = f"#{self.copy + 1}" if self.copies > 1 else ""
        return copy + "".join(f"@{i}" for i in self.iteration)

    def _new(self, name: str, tag: str, kind: str, type_: ir.TensorType) -> Value:
        """A new atom, or several side by side where the text slices the variable."""
        trace, number = self.trace, type_.number
        shape = trace.sizes.shape(type_.shape)
        axis, points = self.cuts.get(name, (0, ()))
        points = tuple(p for p in points if shape and 0 < p < shape[axis])
        bits, signed = (number.bits, number.signed) if isinstance(number, ir.Integer) else (0, False)
        modulus = modulus_of(number)
        parts: list[Value] = []
        for low, high in zip((0, *points), (*points, shape[axis] if shape else 1), strict=True):
            part = shape[:axis] + (high - low,) + shape[axis + 1 :] if points else shape
            label = f"{name}{tag}[{low}:{high}]" if points else f"{name}{tag}"
            atom = trace.atoms.add(Atom(label, kind, modulus, part, bits, signed))  # type: ignore[arg-type]
            parts.append(pl.whole(atom, modulus, part))
        return tn.concat(parts, axis) if points else parts[0]

    # ---- statements
    def block(self, body: tuple[ir.Statement, ...], loops: tuple[int, ...]) -> None:
        for place, statement in enumerate(body):
            self.statement(statement, loops, place)

    def statement(self, st: ir.Statement, loops: tuple[int, ...], place: int) -> None:
        del place
        match st:
            case ir.KeyDraw():
                self._key(st, loops)
            case ir.Draw():
                self._draw(st, loops)
            case ir.Assign():
                value = self._value(st.party, st.value, st.origin)
                self.trace.vars[st.party][st.target] = value
                self.trace.depths[st.party, st.target] = self._depth_of(st.party, st.value)
            case ir.Send():
                self._send(st)
            case ir.Check():
                self.trace.checks.append((st, self._value(st.party, st.value, st.origin)))
            case ir.When():
                self._when(st, loops)
            case ir.Repeat():
                self._repeat(st, loops)
            case ir.Bundle():
                pass

    def _key(self, st: ir.KeyDraw, loops: tuple[int, ...]) -> None:
        scope = (LEVELS[st.lifetime], loops)
        key = self.lived.get(("key", st.name, self._tag(scope)))
        if not isinstance(key, Key):
            key = Key(st.name, st.holders, scope)
            self.lived["key", st.name, self._tag(scope)] = key
            self.trace.all_keys.append(key)
        self.trace.keys[st.name] = key

    def _draw(self, st: ir.Draw, loops: tuple[int, ...]) -> None:
        scope = (LEVELS[st.lifetime], loops)
        holders, key, name = frozenset(st.holders), -1, st.name
        if isinstance(st.via, ir.ViaPrf):
            source = self.trace.keys.get(st.via.key)
            if source is None:
                self._finding("knowledge", f"no key {st.via.key}", st.origin)
                return
            for party in [p for p in st.holders if p not in source.holders]:
                text = f"{party} does not hold the key {st.via.key} and cannot expand it"
                self._finding("knowledge", text, st.origin)
            self.trace.assumptions.add(ir.Assumption("prf"))
            key = self.trace.all_keys.index(source)
            if "counter" not in st.via.label:
                scope = min(scope, source.scope)
            name = f"{st.name}"
            self._stream(st, source, scope)
        elif len(st.holders) > 1 and st.phase:
            self._drawn_message(st)
        value = self._new(name, self._draw_tag(st, scope), "draw", st.type)
        value = self._same_stream(st, key, value, scope)
        for poly in tn.parts_of(value):
            for atom in pl.atoms_of(poly):
                self.trace.draws.setdefault(atom, DrawFacts(st.name, holders, key, scope, st.origin))
                known = self.trace.draws[atom]
                if not holders <= known.holders:
                    both = known.holders | holders
                    self.trace.draws[atom] = DrawFacts(known.name, both, key, known.scope, known.origin)
        for party in st.holders:
            self.trace.vars[party][st.name] = value
