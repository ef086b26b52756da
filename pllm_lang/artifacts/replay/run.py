"""Replay: the text of a protocol run with symbols: who holds, draws, sends and computes what."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import msgspec

from pllm_lang.artifacts.replay.numbers import MAX_BITS
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.artifacts.replay.sums import Sum, atom, evaluate, plus, times
from pllm_lang.ir import protocol as p

LEVEL = {"weights": 0, "session": 1, "request": 2, "execution": 3}
HIDDEN = "\0"
"""Begins the names that replay makes itself; no text has it."""


# ---- a run of a text ----
class Drawn(msgspec.Struct):
    """A draw: its atom, who knows it, how long it lives, how many bits an integer has; `blocked` where it masks nothing."""

    value: Sum
    holders: set[str]
    level: int
    bits: int = 0
    blocked: bool = False


class Run(msgspec.Struct):
    """`held[party, name]` are the parties' variables; `sent` the messages in order; `level` how long an input lives; `called` the
    keys that a function known by name takes: what it shows of them is not known, so their streams mask nothing."""

    protocol: p.Protocol
    held: dict[tuple[str, str], Sum] = {}
    draws: dict[str, Drawn] = {}
    keys: dict[str, tuple[set[str], int]] = {}
    streams: dict[tuple[str, tuple[str, ...]], str] = {}
    sent: list[tuple[str, tuple[str, ...], str, Sum]] = []
    values: dict[str, Sum] = {}
    level: dict[str, int] = {}
    called: set[str] = set()

    def get(self, party: str, name: str) -> Sum:
        found = self.held.get((party, name))
        if found is None:
            raise ReplayError("certificate.program", f"`{party}` does not hold `{name}`", self.protocol.name)
        return found


def run(protocol: p.Protocol) -> Run:
    """Every party computes from what it holds and was sent; raises ReplayError where it cannot."""
    out = Run(protocol, {}, {}, {}, {}, [], {}, {}, set())
    for given in protocol.inputs:
        _give(out, given)
    for line in protocol.body:
        _line(out, line)
    return out


def sized(name: str, inputs: Iterable[p.Input], outputs: Iterable[p.Output]) -> None:
    """Numbers of bits are small enough to count with."""
    given = [(one.type, one.range_bits) for one in inputs]
    for type_, bits in [*given, *((one.type, max(one.scale_bits, one.failure)) for one in outputs)]:
        own = type_.number.bits if isinstance(type_.number, p.Integer) else 0
        if not 0 <= bits <= MAX_BITS or not 0 <= own <= MAX_BITS:
            raise ReplayError("certificate.program", "a value has more bits than are followed", name)


def _named(out: Run, *names: str) -> None:
    """An atom is told by its name, so no two things may have one; a key has no other use of its name either."""
    taken = out.level.keys() | out.draws.keys() | out.keys.keys()
    if any(HIDDEN in name or name in taken for name in names) or len(set(names)) < len(names):
        raise ReplayError("certificate.program", f"`{names[0]}` names two things", out.protocol.name)


def _give(out: Run, given: p.Input) -> None:
    parties = [party.name for party in out.protocol.parties]
    if isinstance(given.holding, p.Shared):
        pieces = [(piece, f"{given.name}.{piece.label}") for piece in given.holding.pieces]
        _named(out, *(name for _, name in pieces))
        for piece, name in pieces:
            out.level[name] = LEVEL[given.lifetime]
            out.held |= {(party, name): atom(name, given.type) for party in piece.holders}
        out.values[given.name] = plus(
            *(times(piece.coefficient, atom(name, given.type)) for piece, name in pieces)
        )
        return
    _named(out, given.name)
    out.level[given.name] = LEVEL[given.lifetime]
    value = out.values[given.name] = atom(given.name, given.type)
    holders = parties if isinstance(given.holding, p.Public) else given.holding.parties
    out.held |= {(party, given.name): value for party in holders}


def _line(out: Run, line: p.Statement) -> None:
    match line:
        case p.KeyDraw():
            _key(out, line)
        case p.Draw():
            _draw(out, line)
        case p.Assign():
            _assign(out, line)
        case p.Send() if line.name in out.keys:
            if line.sender not in out.keys[line.name][0]:
                raise ReplayError(
                    "certificate.program",
                    f"`{line.sender}` sends a key that it does not hold",
                    out.protocol.name,
                )
            out.keys[line.name][0].update(line.receivers)
        case p.Send():
            value = out.get(line.sender, line.name)
            out.sent.append((line.sender, line.receivers, line.name, value))
            out.held |= {(party, line.name): value for party in line.receivers}
        case p.Check():
            if evaluate(line.value, lambda name: out.get(line.party, name)).terms:
                raise ReplayError(
                    "certificate.beyond",
                    "a check of a value that is not always 0 tells something",
                    out.protocol.name,
                )
        case p.Bundle():
            lives = {name: one.level for name, one in out.draws.items()}
            if any(lives.get(member, LEVEL["execution"]) < LEVEL["execution"] for member in line.members):
                raise ReplayError(
                    "certificate.program",
                    f"`{line.name}` is one-use and outlives an execution",
                    out.protocol.name,
                )
        case _:
            raise ReplayError(
                "certificate.beyond",
                "replay follows no branches and no loops of unknown length",
                out.protocol.name,
            )


def _key(out: Run, line: p.KeyDraw) -> None:
    _named(out, line.name)
    if any(name == line.name for _, name in out.held):
        raise ReplayError("certificate.program", f"`{line.name}` names two things", out.protocol.name)
    out.keys[line.name] = (set(line.holders), LEVEL[line.lifetime])


def _assign(out: Run, line: p.Assign) -> None:
    """A value under a key's name would be sent as the key, and be no message."""
    if line.target in out.keys:
        text = f"`{line.target}` names a key and a value"
        raise ReplayError("certificate.program", text, out.protocol.name)
    _keys_held(out, line.party, line.value)
    out.held[line.party, line.target] = evaluate(line.value, lambda name: out.get(line.party, name))


def _keys_held(out: Run, party: str, expr: p.Expr) -> None:
    if isinstance(expr, p.Call) and any(
        key not in out.keys or party not in out.keys[key][0] for key in expr.keys
    ):
        raise ReplayError(
            "certificate.program", f"`{party}` does not hold a key that it uses", out.protocol.name
        )
    if isinstance(expr, p.Call) and expr.keys:
        out.called.update(expr.keys)
        for (key, _), name in out.streams.items():
            out.draws[name].blocked |= key in out.called
    for field in expr.__struct_fields__:
        inner = getattr(expr, field)
        for one in cast("tuple[Any, ...]", inner if isinstance(inner, tuple) else (inner,)):
            if isinstance(one, msgspec.Struct) and not isinstance(one, p.TensorType | p.Ring | p.Integer):
                _keys_held(out, party, cast("p.Expr", one))


def _draw(out: Run, line: p.Draw) -> None:
    """One key and label give one stream: a second use of them is refused. A key that outlives an execution counts."""
    level, known = LEVEL[line.lifetime], set(line.holders)
    sized(out.protocol.name, (p.Input(line.name, line.type, p.Public()),), ())
    if isinstance(line.via, p.ViaPrf):
        key, label = line.via.key, line.via.label
        if key not in out.keys or not known <= out.keys[key][0]:
            raise ReplayError(
                "certificate.program", f"`{line.name}` is expanded without its key", out.protocol.name
            )
        known, lives = out.keys[key]
        if (key, label) in out.streams or ("counter" not in label and level > lives):
            raise ReplayError("certificate.program", f"`{line.name}` repeats a stream", out.protocol.name)
        out.streams[key, label] = line.name
        level = max(level, lives) if "counter" in label else lives
    _named(out, line.name)
    bits = (
        line.type.number.bits
        if isinstance(line.type.number, p.Integer) and not line.type.number.signed
        else 0
    )
    drawn = out.draws[line.name] = Drawn(atom(line.name, line.type), known, level, bits)
    drawn.blocked = isinstance(line.via, p.ViaPrf) and line.via.key in out.called
    out.held |= {(party, line.name): drawn.value for party in line.holders}
