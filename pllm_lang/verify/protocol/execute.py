"""Exact execution of a protocol from its text, entry by entry: no term, no normal form, nothing of the
prover.

In: a protocol, sizes for its symbols, inputs and a source of randomness. Out: what was sent, and everybody's
outputs. Witnesses are executed here before they are shown, and correctness tests compare with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

import msgspec

from pllm_lang.ir import protocol as ir
from pllm_lang.verify.protocol.dense import Tensor, compute, modulus_of
from pllm_lang.verify.protocol.forms import output_variables
from pllm_lang.verify.protocol.sizes import Sizes

InputKey = tuple[str, int]
"""(variable, execution from 1; 0 for an input that outlives executions)."""


class Sent(msgspec.Struct, frozen=True):
    """`copy` is the execution that the message belongs to, from 1."""

    name: str
    sender: str
    receivers: tuple[str, ...]
    value: Tensor
    copy: int
    origin: int


class Executed(msgspec.Struct, frozen=True):
    """`outputs` per execution by (party, variable); `aborted` the checks that failed, `branches` what was
    decided."""

    sent: tuple[Sent, ...]
    outputs: tuple[dict[tuple[str, str], Tensor], ...]
    aborted: tuple[int, ...]
    branches: tuple[tuple[int, bool], ...]


def input_variables(protocol: ir.Protocol, copies: int = 1) -> list[tuple[InputKey, ir.TensorType, ir.Input]]:
    """Every input tensor that an execution needs."""
    out: list[tuple[InputKey, ir.TensorType, ir.Input]] = []
    for given in protocol.inputs:
        names = [given.name]
        if isinstance(given.holding, ir.Shared):
            names = [f"{given.name}.{p.label}" for p in given.holding.pieces]
        runs = range(1, copies + 1) if given.lifetime == "execution" else (0,)
        out += [((name, run), given.type, given) for run in runs for name in names]
    return out


def execute(
    protocol: ir.Protocol,
    symbols: Mapping[str, int],
    inputs: Mapping[InputKey, Tensor],
    randomness: Callable[[ir.Draw], Random],
    copies: int = 1,
) -> Executed:
    """Run `copies` executions; `inputs` has a tensor for every key of `input_variables`; `randomness` gives
    the source for each draw."""
    machine = _Machine(protocol, Sizes(dict(symbols)), inputs, randomness, copies)
    outputs = [machine.run(copy) for copy in range(1, copies + 1)]
    return Executed(tuple(machine.sent), tuple(outputs), tuple(machine.aborted), tuple(machine.branches))


class _Machine:
    def __init__(
        self,
        protocol: ir.Protocol,
        sizes: Sizes,
        inputs: Mapping[InputKey, Tensor],
        randomness: Callable[[ir.Draw], Random],
        copies: int,
    ) -> None:
        self.protocol, self.sizes, self.inputs, self.randomness = protocol, sizes, inputs, randomness
        self.copies, self.copy = copies, 1
        self.iteration: tuple[int, ...] = ()
        self.vars: dict[str, dict[str, Tensor]] = {}
        self.drawn: dict[tuple[object, ...], Tensor] = {}
        self.streams: dict[tuple[object, ...], list[int]] = {}
        self.keys: dict[str, tuple[object, ...]] = {}
        self.sent: list[Sent] = []
        self.aborted: list[int] = []
        self.branches: list[tuple[int, bool]] = []

    def run(self, copy: int) -> dict[tuple[str, str], Tensor]:
        self.copy, self.keys = copy, {}
        self.vars = {p.name: {} for p in self.protocol.parties}
        for given in self.protocol.inputs:
            self.give(given, copy if given.lifetime == "execution" else 0)
        self.block(self.protocol.body, ())
        wanted = [v for o in self.protocol.outputs for v in output_variables(o, list(self.vars))]
        return {(p, name): self.vars[p][name] for p, name in wanted if name in self.vars[p]}

    def give(self, given: ir.Input, run: int) -> None:
        match given.holding:
            case ir.Public():
                for store in self.vars.values():
                    store[given.name] = self.inputs[given.name, run]
            case ir.Clear():
                for party in given.holding.parties:
                    self.vars[party][given.name] = self.inputs[given.name, run]
            case ir.Shared():
                for piece in given.holding.pieces:
                    name = f"{given.name}.{piece.label}"
                    for party in piece.holders:
                        self.vars[party][name] = self.inputs[name, run]

    def block(self, body: tuple[ir.Statement, ...], path: tuple[int, ...]) -> None:
        for place, statement in enumerate(body):
            self.statement(statement, (*path, place))

    def statement(self, st: ir.Statement, path: tuple[int, ...]) -> None:
        match st:
            case ir.KeyDraw():
                self.keys[st.name] = (path, self.run_of(st.lifetime))
            case ir.Draw():
                value = self.draw(st, path)
                for party in st.holders:
                    self.vars[party][st.name] = value
            case ir.Assign():
                self.vars[st.party][st.target] = self.value(st.party, st.value)
            case ir.Send():
                self.send(st)
            case ir.Check():
                if any(self.value(st.party, st.value).entries):
                    self.aborted.append(st.origin)
            case ir.When():
                taken = any(self.value(st.party, st.condition).entries)
                self.branches.append((st.origin, taken))
                if taken:
                    self.apart(st.body, path)
            case ir.Repeat():
                self.repeat(st, path)
            case ir.Bundle():
                pass

    def send(self, st: ir.Send) -> None:
        if st.name in self.keys:
            return
        value = self.vars[st.sender][st.name]
        self.sent.append(Sent(st.name, st.sender, st.receivers, value, self.copy, st.origin))
        for receiver in st.receivers:
            self.vars[receiver][st.name] = value

    def repeat(self, st: ir.Repeat, path: tuple[int, ...]) -> None:
        outer = self.iteration
        for i in range(self.sizes.of(st.count)):
            self.iteration = (*outer, i)
            if isinstance(st.count, int):
                self.block(st.body, path)
            else:
                self.apart(st.body, path)
        self.iteration = outer

    def apart(self, body: tuple[ir.Statement, ...], path: tuple[int, ...]) -> None:
        before = {party: dict(store) for party, store in self.vars.items()}
        self.block(body, path)
        self.vars = before

    def run_of(self, lifetime: ir.Lifetime) -> tuple[object, ...]:
        return (self.copy, self.iteration) if lifetime == "execution" else ()

    def draw(self, st: ir.Draw, path: tuple[int, ...]) -> Tensor:
        shape = self.sizes.shape(st.type.shape)
        if isinstance(st.via, ir.ViaPrf):
            return self.expand(st, st.via, shape)
        place = (path, self.run_of(st.lifetime))
        if place not in self.drawn:
            self.drawn[place] = random_tensor(st.type.number, shape, self.randomness(st))
        return self.drawn[place]

    def expand(self, st: ir.Draw, via: ir.ViaPrf, shape: tuple[int, ...]) -> Tensor:
        """A stream of wide words for each key and label; a shorter use is a prefix of a longer one."""
        counted = (self.copy, self.iteration) if "counter" in via.label else ()
        stream = self.streams.setdefault((self.keys[via.key], via.label, counted), [])
        size = 1
        for dim in shape:
            size *= dim
        while len(stream) < size:
            stream.append(self.randomness(st).getrandbits(256))
        below = st.type.number.modulus if isinstance(st.type.number, ir.Ring) else 1 << st.type.number.bits
        return Tensor(shape, tuple(word % below for word in stream[:size]), modulus_of(st.type.number))

    def value(self, party: str, expr: ir.Expr) -> Tensor:
        return compute(expr, lambda name: self.vars[party][name], self.sizes)


def random_tensor(number: ir.Number, shape: tuple[int, ...], randomness: Random) -> Tensor:
    """Uniform entries of a number type."""
    size = 1
    for dim in shape:
        size *= dim
    pick: Callable[[], int]
    if isinstance(number, ir.Ring):
        pick = lambda: randomness.randrange(number.modulus)  # noqa: E731
    else:
        low = 1 - (1 << number.bits) if number.signed else 0
        pick = lambda: randomness.randrange(low, 1 << number.bits)  # noqa: E731
    return Tensor(shape, tuple(pick() for _ in range(size)), modulus_of(number))
