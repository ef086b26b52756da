"""Replay: the text of a protocol run with symbols: who holds, draws, sends and computes what.

Out: the value of every party's variables as sums, every message, every draw with who knows it and how long it lives. Nobody
computes, sends or expands what it does not hold, one name is one thing, and one key with one label is one stream: so what is shown of
the symbols (`outputs`, `view_rule`) holds of every execution.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

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
            raise self.refuse(f"`{party}` does not hold `{name}`")
        return found

    def computed(self, party: str, expr: p.Expr) -> Sum:
        return evaluate(expr, lambda name: self.get(party, name))

    def refuse(self, text: str, code: str = "certificate.program") -> ReplayError:
        return ReplayError(code, text, self.protocol.name)


def run(protocol: p.Protocol) -> Run:
    """Every party computes from what it holds and was sent; raises ReplayError where it cannot."""
    out = Run(protocol)
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
        raise out.refuse(f"`{names[0]}` names two things")


def _give(out: Run, given: p.Input) -> None:
    """Pieces at their holders, of which the value is the sum; or the value in the clear."""
    if isinstance(given.holding, p.Shared):
        pieces = [(f"{given.name}.{one.label}", one.holders, one.coefficient) for one in given.holding.pieces]
    else:
        everybody = tuple(party.name for party in out.protocol.parties)
        holders = everybody if isinstance(given.holding, p.Public) else given.holding.parties
        pieces = [(given.name, holders, 1)]
    _named(out, *(name for name, _, _ in pieces))
    for name, holders, _ in pieces:
        out.level[name] = LEVEL[given.lifetime]
        out.held |= {(party, name): atom(name, given.type) for party in holders}
    out.values[given.name] = plus(*(times(c, atom(name, given.type)) for name, _, c in pieces))


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
                raise out.refuse(f"`{line.sender}` sends a key that it does not hold")
            out.keys[line.name][0].update(line.receivers)
        case p.Send():
            value = out.get(line.sender, line.name)
            out.sent.append((line.sender, line.receivers, line.name, value))
            out.held |= {(party, line.name): value for party in line.receivers}
        case p.Check():
            if out.computed(line.party, line.value).terms:
                text = "a check of a value that is not always 0 tells something"
                raise out.refuse(text, "certificate.beyond")
        case p.Bundle():
            drawn = [out.draws[member].level for member in line.members if member in out.draws]
            if any(level < LEVEL["execution"] for level in drawn):
                raise out.refuse(f"`{line.name}` is one-use and outlives an execution")
        case _:
            text = "replay follows no branches and no loops of unknown length"
            raise out.refuse(text, "certificate.beyond")


# ---- keys and what is expanded from them ----
def _key(out: Run, line: p.KeyDraw) -> None:
    _named(out, line.name)
    if any(name == line.name for _, name in out.held):
        raise out.refuse(f"`{line.name}` names two things")
    out.keys[line.name] = (set(line.holders), LEVEL[line.lifetime])


def _assign(out: Run, line: p.Assign) -> None:
    """A value under a key's name would be sent as the key, and be no message."""
    if line.target in out.keys:
        raise out.refuse(f"`{line.target}` names a key and a value")
    _keys_held(out, line.party, line.value)
    out.held[line.party, line.target] = out.computed(line.party, line.value)


def _keys_held(out: Run, party: str, expr: p.Expr) -> None:
    if isinstance(expr, p.Call) and expr.keys:
        if not all(key in out.keys and party in out.keys[key][0] for key in expr.keys):
            raise out.refuse(f"`{party}` does not hold a key that it uses")
        out.called.update(expr.keys)
        for (key, _), name in out.streams.items():
            out.draws[name].blocked |= key in out.called
    for inner in inside(expr):
        _keys_held(out, party, inner)


PARTS = ("arg", "args", "left", "right", "terms")
"""The fields of expressions that hold expressions (`tests/artifacts/test_view_rule.py` reads their types)."""


@cache
def _fields(kind: type[p.Expr]) -> tuple[str, ...]:
    return tuple(field for field in kind.__struct_fields__ if field in PARTS)


def inside(expr: p.Expr) -> list[p.Expr]:
    """The expressions that one is made of."""
    found: list[p.Expr] = []
    for field in _fields(type(expr)):
        part = getattr(expr, field)
        found += part if isinstance(part, tuple) else (part,)
    return found


def names_of(expr: p.Expr) -> list[str]:
    """The variables that an expression reads."""
    if isinstance(expr, p.Ref):
        return [expr.name]
    return [name for part in inside(expr) for name in names_of(part)]


def _draw(out: Run, line: p.Draw) -> None:
    """One key and label give one stream: a second use of them is refused. A key that outlives an execution counts."""
    sized(out.protocol.name, (p.Input(line.name, line.type, p.Public()),), ())
    level, known, blocked = LEVEL[line.lifetime], set(line.holders), False
    if isinstance(line.via, p.ViaPrf):
        key, label = line.via.key, line.via.label
        if key not in out.keys or not known <= out.keys[key][0]:
            raise out.refuse(f"`{line.name}` is expanded without its key")
        known, lives = out.keys[key]  # one set: who is sent the key later has had the stream
        if (key, label) in out.streams or ("counter" not in label and level > lives):
            raise out.refuse(f"`{line.name}` repeats a stream")
        out.streams[key, label] = line.name
        level, blocked = max(level, lives) if "counter" in label else lives, key in out.called
    _named(out, line.name)
    number = line.type.number
    bits = number.bits if isinstance(number, p.Integer) and not number.signed else 0
    drawn = out.draws[line.name] = Drawn(atom(line.name, line.type), known, level, bits, blocked)
    out.held |= {(party, line.name): drawn.value for party in line.holders}
