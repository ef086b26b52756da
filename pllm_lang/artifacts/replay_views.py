"""Replay, 6 of 6 (first half): the text of a protocol run with symbols, and the view rule used as the certificate says.

A value is a sum of terms, each a whole number times a *shape* of factors: an atom (an input, a piece, a draw), an entrywise or
matrix product, a map that moves or sums entries, a call known by its name alone. Products and maps are spread over sums, so
equal sums are equal values (the reverse need not hold: then replay refuses). Nothing is searched for here: which draw hides
which message is evidence, and the conditions (a) to (f) of `docs/soundness.md` are looked at one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from math import gcd, prod
from typing import Any, TypeAlias, cast

import msgspec

from pllm_lang.artifacts.lock_data import Move
from pllm_lang.artifacts.replay_numbers import MAX_BITS
from pllm_lang.artifacts.replay_read import ReplayError, told
from pllm_lang.ir import protocol as p

Factor: TypeAlias = tuple[Any, ...]
"""("one",); ("atom", name, modulus); ("*", factors); ("@", k, left, right); (map, its data, factor); ("call", name, sums)."""
MAX_TERMS = 4_096
LEVEL = {"weights": 0, "session": 1, "request": 2, "execution": 3}
ONE: Factor = ("one",)
HIDDEN = "\0"
"""Begins the names that replay makes itself; no text has it."""


class Sum(msgspec.Struct, frozen=True):
    """Modulus 0 stands for the integers. `terms` maps factors to coefficients that are not 0."""

    modulus: int
    shape: tuple[p.Dim, ...]
    terms: dict[Factor, int]

    def key(self) -> tuple[Any, ...]:
        return self.modulus, self.shape, frozenset(self.terms.items())


def make(modulus: int, shape: tuple[p.Dim, ...], parts: Iterable[tuple[Factor, int]]) -> Sum:
    terms: dict[Factor, int] = {}
    for factor, coefficient in parts:
        found = terms.get(factor, 0) + coefficient
        terms[factor] = found % modulus if modulus else found
        if len(terms) > MAX_TERMS:
            raise ReplayError("certificate.beyond", f"a value has more than {MAX_TERMS} terms")
    return Sum(modulus, shape, {factor: c for factor, c in terms.items() if c})


def plus(*sums: Sum) -> Sum:
    first = sums[0]
    if any((one.modulus, one.shape) != (first.modulus, first.shape) for one in sums):
        raise ReplayError("certificate.program", "values of different rings or shapes are added")
    return make(first.modulus, first.shape, (term for one in sums for term in one.terms.items()))


def times(factor: int, x: Sum) -> Sum:
    return make(x.modulus, x.shape, ((f, c * factor) for f, c in x.terms.items()))


def atom(name: str, type_: p.TensorType) -> Sum:
    modulus = type_.number.modulus if isinstance(type_.number, p.Ring) else 0
    return Sum(modulus, type_.shape, {("atom", name, modulus, type_.shape): 1})


# ---- what an expression computes ----
def evaluate(expr: p.Expr, look: Callable[[str], Sum]) -> Sum:
    match expr:
        case p.Ref():
            return look(expr.name)
        case p.Const():
            modulus = expr.type.number.modulus if isinstance(expr.type.number, p.Ring) else 0
            return make(modulus, expr.type.shape, [(ONE, expr.value)])
        case p.Add():
            return plus(*(evaluate(one, look) for one in expr.terms))
        case p.Scale():
            return times(expr.factor, evaluate(expr.arg, look))
        case p.Mul():
            return entrywise(evaluate(expr.left, look), evaluate(expr.right, look))
        case p.MatMul():
            return matrix(evaluate(expr.left, look), evaluate(expr.right, look))
        case p.Cast():
            return cast_to(evaluate(expr.arg, look), expr.number)
        case p.Concat():
            return _joined([evaluate(one, look) for one in expr.args], expr.axis)
        case p.Shift():
            arg = evaluate(expr.arg, look)
            return call(("shift", expr.bits, expr.signed), (arg,), arg.modulus, arg.shape)
        case p.Call():
            args = tuple(evaluate(one, look) for one in expr.args)
            modulus = expr.type.number.modulus if isinstance(expr.type.number, p.Ring) else 0
            return call((expr.fn, expr.keys), args, modulus, expr.type.shape)
        case _:
            return _moved(expr, evaluate(expr.arg, look))


def entrywise(x: Sum, y: Sum) -> Sum:
    if (x.modulus, x.shape) != (y.modulus, y.shape):
        raise ReplayError("certificate.program", "values of different rings or shapes are multiplied")

    def factor(a: Factor, b: Factor) -> Factor:
        own = [f for one in (a, b) for f in (one[1] if one[0] == "*" else (one,)) if f != ONE]
        kept = sorted(set(own) if x.modulus == 2 else own, key=repr)  # v * v = v for bits
        return ONE if not kept else kept[0] if len(kept) == 1 else ("*", tuple(kept))

    return make(
        x.modulus, x.shape, ((factor(a, b), c * d) for a, c in x.terms.items() for b, d in y.terms.items())
    )


def matrix(x: Sum, y: Sum) -> Sum:
    if (
        x.modulus != y.modulus
        or x.shape[-1:] != y.shape[-2:-1]
        or x.shape[:-2] not in (y.shape[:-2],)
        or len(x.shape) < 2
    ):
        raise ReplayError("certificate.program", "matrices that do not fit are multiplied")
    inner, shape = x.shape[-1], (*x.shape[:-1], y.shape[-1])
    parts = (
        (("@", inner, x.shape, y.shape, a, b), c * d) for a, c in x.terms.items() for b, d in y.terms.items()
    )
    return make(x.modulus, shape, parts)


def call(name: tuple[Any, ...], args: tuple[Sum, ...], modulus: int, shape: tuple[p.Dim, ...]) -> Sum:
    return Sum(modulus, shape, {("call", name, tuple(one.key() for one in args), modulus, shape): 1})


def cast_to(x: Sum, number: p.Number) -> Sum:
    """Onto a ring whose modulus divides the old one it is a homomorphism; anything else is a call."""
    modulus = number.modulus if isinstance(number, p.Ring) else 0
    if modulus == x.modulus or (modulus and x.modulus % modulus == 0):
        return make(modulus, x.shape, x.terms.items())
    return call(("lift",), (x,), modulus, x.shape)


def _moved(expr: Any, x: Sum) -> Sum:
    rank = len(x.shape)
    match expr:
        case p.Transpose():
            axes = expr.axes or (*range(rank - 2), rank - 1, rank - 2)
            return _mapped(x, ("transpose", axes), tuple(x.shape[axis] for axis in axes))
        case p.Reshape():
            return _mapped(x, ("reshape", x.shape), expr.shape)
        case p.Slice():
            count = len(range(expr.start, expr.stop, expr.step))
            data = ("slice", expr.axis, expr.start, expr.stop, expr.step)
        case p.Gather():
            count, data = len(expr.indices), ("gather", expr.axis, expr.indices)
        case p.Sum():
            return _mapped(x, ("sum", expr.axis, x.shape), (*x.shape[: expr.axis], *x.shape[expr.axis + 1 :]))
        case _:
            return _mapped(
                x, ("spread", expr.axis, expr.size), (*x.shape[: expr.axis], expr.size, *x.shape[expr.axis :])
            )
    return _mapped(x, data, (*x.shape[: expr.axis], count, *x.shape[expr.axis + 1 :]))


def _joined(args: list[Sum], axis: int) -> Sum:
    """A concatenation is the sum of its parts, each at its place among zeros."""
    first, total, out = args[0], sum(cast("int", one.shape[axis]) for one in args), list[Sum]()
    shape = (*first.shape[:axis], total, *first.shape[axis + 1 :])
    before = 0
    for one in args:
        out.append(_mapped(one, ("at", axis, before, total), shape))
        before += cast("int", one.shape[axis])
    return plus(*out)


def _mapped(x: Sum, data: tuple[Any, ...], shape: tuple[p.Dim, ...]) -> Sum:
    return make(x.modulus, shape, ((_map(data, f, shape), c) for f, c in x.terms.items()))


def _map(data: tuple[Any, ...], x: Factor, shape: tuple[p.Dim, ...]) -> Factor:
    """Transposes of transposes and reshapes of reshapes are one; those that do nothing are none."""
    if x[0] == "map" and data[0] == x[1][0] == "transpose":
        data, x = ("transpose", tuple(x[1][1][axis] for axis in data[1])), x[2]
    elif x[0] == "map" and data[0] == x[1][0] == "reshape":
        data, x = ("reshape", x[1][1]), x[2]
    nothing = data == ("transpose", tuple(range(len(shape)))) or data == ("reshape", shape)
    constant = x == ONE and data[0] in ("transpose", "reshape", "slice", "gather", "spread")
    return x if nothing or constant else ("map", data, x, shape)


# ---- atoms inside ----
def atoms(x: Factor) -> frozenset[Factor]:
    """Every atom, inside calls too."""
    match x[0]:
        case "atom":
            return frozenset({x})
        case "*":
            return frozenset[Factor]().union(*map(atoms, x[1]))
        case "@":
            return atoms(x[4]) | atoms(x[5])
        case "map":
            return atoms(x[2])
        case "call":
            return frozenset[Factor]().union(*(atoms(f) for _, _, terms in x[2] for f, _ in terms))
        case _:
            return frozenset()


def calls(x: Factor) -> list[Factor]:
    """The calls of a factor that stand in no other."""
    inner = x[1] if x[0] == "*" else x[4:6] if x[0] == "@" else (x[2],) if x[0] == "map" else ()
    return [x] if x[0] == "call" else [one for part in inner for one in calls(part)]


def names_in(x: Sum) -> set[str]:
    return {one[1] for f in x.terms for one in atoms(f)}


def replaced(x: Sum, name: str, value: Sum) -> Sum:
    """The sum with a value in place of an atom, everywhere."""
    if name not in names_in(x):
        return x
    return plus(
        Sum(x.modulus, x.shape, {}),
        *(times(c, _rebuilt(f, name, value, x.modulus, x.shape)) for f, c in x.terms.items()),
    )


def _rebuilt(x: Factor, name: str, value: Sum, modulus: int, shape: tuple[p.Dim, ...]) -> Sum:
    if not any(one[1] == name for one in atoms(x)):
        return make(modulus, shape, [(x, 1)])
    match x[0]:
        case "atom":
            if value.modulus != modulus and (not modulus or value.modulus % modulus):
                raise ReplayError("certificate.view", f"`{name}` is used in a ring that it does not map to")
            return make(modulus, shape, value.terms.items())
        case "*":
            parts = [_rebuilt(one, name, value, modulus, shape) for one in x[1]]
            out = parts[0]
            for one in parts[1:]:
                out = entrywise(out, one)
            return out
        case "@":
            return matrix(
                _rebuilt(x[4], name, value, modulus, x[2]), _rebuilt(x[5], name, value, modulus, x[3])
            )
        case "map":
            inner = _rebuilt(x[2], name, value, modulus, _before(x))
            return _mapped(inner, x[1], x[3])
        case _:
            args = tuple(replaced(Sum(m, s, dict(terms)), name, value) for m, s, terms in x[2])
            return cast_back(call(x[1], args, x[3], x[4]), modulus)


def cast_back(x: Sum, modulus: int) -> Sum:
    return make(modulus, x.shape, x.terms.items())


def _before(x: Factor) -> tuple[p.Dim, ...]:
    """The shape that a map takes."""
    data, shape = x[1], x[3]
    match data[0]:
        case "transpose":
            out = list(shape)
            for place, axis in enumerate(data[1]):
                out[axis] = shape[place]
            return tuple(out)
        case "reshape":
            return data[1]
        case "sum":
            return data[2]
        case "spread":
            return (*shape[: data[1]], *shape[data[1] + 1 :])
        case _:
            raise ReplayError("certificate.beyond", f"replay does not look into a `{data[0]}`")


# ---- a run of a text ----
class Drawn(msgspec.Struct):
    """A draw: its atom, who knows it, how long it lives, how many bits an integer has; `blocked` where it masks nothing."""

    value: Sum
    holders: set[str]
    level: int
    bits: int = 0
    blocked: bool = False


class Run(msgspec.Struct):
    """`held[party, name]` are the parties' variables; `sent` the messages in order; `level` how long an input lives."""

    protocol: p.Protocol
    held: dict[tuple[str, str], Sum] = {}
    draws: dict[str, Drawn] = {}
    keys: dict[str, tuple[set[str], int]] = {}
    streams: dict[tuple[str, tuple[str, ...]], str] = {}
    sent: list[tuple[str, tuple[str, ...], str, Sum]] = []
    values: dict[str, Sum] = {}
    level: dict[str, int] = {}

    def get(self, party: str, name: str) -> Sum:
        found = self.held.get((party, name))
        if found is None:
            raise ReplayError("certificate.program", f"`{party}` does not hold `{name}`", self.protocol.name)
        return found


def run(protocol: p.Protocol) -> Run:
    """Every party computes from what it holds and was sent; raises ReplayError where it cannot."""
    out = Run(protocol, {}, {}, {}, {}, [], {}, {})
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
    out.held |= {(party, line.name): drawn.value for party in line.holders}


# ---- results ----
def proves_outputs(out: Run) -> None:
    """Every output is its meaning: the pieces add up to it, and all holders of a piece hold the same."""
    for output in out.protocol.outputs:
        if output.meaning is None:
            continue
        meaning = evaluate(output.meaning, lambda name: out.values[name])
        got = _recombined(out, output)
        exact = (
            got.key() == meaning.key()
            if not output.scale_bits and not output.error
            else _truncated(out, output, got, meaning)
        )
        if not exact:
            raise ReplayError(
                "certificate.meaning", f"`{output.name}` is not shown to be what it means", out.protocol.name
            )


def _recombined(out: Run, output: p.Output) -> Sum:
    parties = [party.name for party in out.protocol.parties]

    def agreed(holders: Iterable[str], name: str) -> Sum:
        found = [out.get(party, name) for party in holders]
        if not found or any(one.key() != found[0].key() for one in found):
            raise ReplayError(
                "certificate.meaning", f"the holders of `{name}` do not hold the same", out.protocol.name
            )
        return found[0]

    if isinstance(output.holding, p.Shared):
        pieces = output.holding.pieces
        return plus(
            *(times(one.coefficient, agreed(one.holders, f"{output.name}.{one.label}")) for one in pieces)
        )
    holders = (
        output.holding.parties
        if isinstance(output.holding, p.Clear)
        else [q for q in parties if (q, output.name) in out.held]
    )
    return agreed(holders, output.name)


def _truncated(out: Run, output: p.Output, got: Sum, meaning: Sum) -> bool:
    """The lemma of `docs/soundness.md` for an integer mask: floor(P) - floor(M) + K with P - M = meaning - K 2^f, M a draw
    below 2^bits, 0 <= meaning - K 2^f + M < m: within one unit of meaning / 2^f."""
    f, m = output.scale_bits, got.modulus
    shifts = {
        c: factor
        for factor, c in got.terms.items()
        if factor[0] == "call" and factor[1] == ("shift", f, False)
    }
    extra = got.terms.get(ONE, 0)
    extra -= m if 2 * extra > m else 0
    if (
        output.error < 1
        or not m
        or len(shifts) + (ONE in got.terms) != len(got.terms)
        or sorted(shifts) != [1, m - 1]
    ):
        return False
    (p_sum,), (m_sum,) = ([Sum(a, s, dict(t)) for a, s, t in shifts[c][2]] for c in (1, m - 1))
    draw = next((d for d in out.draws.values() if d.value.key() == m_sum.key()), None)
    gap = (
        plus(p_sum, times(-1, cast_back(m_sum, m)), times(-1, meaning))
        if p_sum.modulus == m and p_sum.shape == meaning.shape
        else None
    )
    width = range_of(out, meaning, output.meaning)
    if (
        draw is None
        or not draw.bits
        or gap is None
        or gap.terms != make(m, gap.shape, [(ONE, -extra << f)]).terms
    ):
        return False
    offset = -extra << f
    return width is not None and offset >= width and (1 << draw.bits) + width + offset <= m


def range_of(out: Run, x: Sum, meaning: p.Expr | None = None) -> int | None:
    """A bound of the size of every entry, from the stated ranges of inputs; None where there is none."""
    stated = {given.name: given for given in out.protocol.inputs}
    if isinstance(meaning, p.Ref) and meaning.name in stated:
        return 1 << stated[meaning.name].range_bits if stated[meaning.name].range_bits else None
    sizes = {
        name: 1 << one.range_bits
        for name, one in stated.items()
        if one.range_bits and not isinstance(one.holding, p.Shared)
    }
    sizes |= {HIDDEN + name: 1 << one.range_bits for name, one in stated.items() if one.range_bits}
    sizes |= {name: 1 << one.bits for name, one in out.draws.items() if one.bits}
    total = 0
    for factor, c in x.terms.items():
        own = _size(factor, sizes)
        if own is None:
            return None
        total += own * (min(c, x.modulus - c) if x.modulus else abs(c))
    return total


def _size(x: Factor, sizes: dict[str, int]) -> int | None:
    match x[0]:
        case "one":
            return 1
        case "atom":
            return sizes.get(x[1])
        case "map" if x[1][0] != "sum":
            return _size(x[2], sizes)
        case "@" | "*":
            parts = [_size(one, sizes) for one in (x[4:6] if x[0] == "@" else x[1])]
            known = [one for one in parts if one is not None]
            count = x[1] if x[0] == "@" else 1
            return prod(known) * count if len(known) == len(parts) and isinstance(count, int) else None
        case _:
            return None


# ---- the view of a coalition ----
class Frame(msgspec.Struct):
    """What a coalition knows, and what it is sent, by number. Whatever it does not know and nobody drew is a secret.
    `changed` are the changes of names made so far, in order."""

    run: Run
    members: frozenset[str]
    known: set[str]
    masks: dict[str, Drawn]
    levels: dict[str, int]
    terms: dict[int, Sum]
    changed: list[tuple[str, Sum]]
    distance: Fraction = Fraction(0)

    def secrets_of(self, x: Sum) -> set[str]:
        return names_in(x) - self.known - self.run.draws.keys()


def proves_view(out: Run, members: Iterable[str], moves: tuple[Move, ...]) -> Fraction:
    """The statistical distance of the view to one that says nothing; raises ReplayError where a secret is left."""
    frame = _frame(out, frozenset(members))
    for name, value in _learnt(out, frame):
        _solve(frame, name, value)
    frame.terms = {number: _unknown(frame, one) for number, one in frame.terms.items()}
    for move in moves:
        _move(frame, move)
    for number, one in frame.terms.items():
        left = frame.secrets_of(one)
        if left:
            text = f"message {number} shows something of `{min(left).strip(HIDDEN)}` to {told(members)}"
            raise ReplayError("certificate.view", text, out.protocol.name)
    return frame.distance


def _frame(out: Run, members: frozenset[str]) -> Frame:
    known = {name for given in out.protocol.inputs for name in _begins_with(given, members)}
    known |= {name for name, one in out.draws.items() if one.holders & members}
    masks = {name: one for name, one in out.draws.items() if name not in known}
    levels = {**out.level, **{name: one.level for name, one in out.draws.items()}}
    seen = [
        value
        for sender, receivers, _, value in out.sent
        if sender not in members and members & set(receivers)
    ]
    frame = Frame(out, members, known, masks, levels, dict(enumerate(seen)), [])
    for given in out.protocol.inputs:
        if isinstance(given.holding, p.Shared):
            _tie(frame, given, given.holding)
    return frame


def _begins_with(given: p.Input, members: frozenset[str]) -> list[str]:
    """What the coalition has of an input from the start, by the input's own word: a variable of that name is no input."""
    match given.holding:
        case p.Public():
            return [given.name]
        case p.Clear():
            return [given.name] if members & set(given.holding.parties) else []
        case p.Shared():
            own = [piece for piece in given.holding.pieces if members & set(piece.holders)]
            return [f"{given.name}.{piece.label}" for piece in own]


def _tie(frame: Frame, given: p.Input, holding: p.Shared) -> None:
    """The last honest piece is the value less the others: a change of names. `needs fresh` makes the others draws; who hands
    such an input over has to show that they are."""
    honest = [one for one in holding.pieces if f"{given.name}.{one.label}" not in frame.known]
    units = [one for one in honest if one.coefficient in (1, -1)]
    if not units:
        return
    last, value = units[-1], HIDDEN + given.name
    frame.levels[value] = LEVEL[given.lifetime]
    others = [
        times(-one.coefficient, atom(f"{given.name}.{one.label}", given.type))
        for one in holding.pieces
        if one != last
    ]
    _everywhere(
        frame, f"{given.name}.{last.label}", times(last.coefficient, plus(atom(value, given.type), *others))
    )


def _everywhere(frame: Frame, name: str, value: Sum) -> None:
    frame.changed.append((name, value))
    frame.terms = {number: replaced(one, name, value) for number, one in frame.terms.items()}


def _learnt(out: Run, frame: Frame) -> list[tuple[str, Sum]]:
    """Outputs in the clear to a member, free of draws: what the coalition may learn."""
    found: list[tuple[str, Sum]] = []
    for output in out.protocol.outputs:
        mine = [q for q in sorted(frame.members) if (q, output.name) in out.held]
        to_members = isinstance(output.holding, p.Public) or (
            isinstance(output.holding, p.Clear) and frame.members & set(output.holding.parties)
        )
        if not to_members or not mine:
            continue
        exact = output.meaning is not None and not output.scale_bits and not output.error
        value = (
            evaluate(output.meaning, lambda name: out.values[name])
            if exact and output.meaning is not None
            else out.get(mine[0], output.name)
        )
        if not names_in(value) & set(out.draws):
            found.append((output.name, value))
    return found


def _solve(frame: Frame, name: str, value: Sum) -> None:
    """An allowed output with a secret once and alone, a unit before it, gives that secret."""
    for changed, by in frame.changed:
        value = replaced(value, changed, by)
    unknown = _unknown(frame, value)
    for factor, c in unknown.terms.items():
        if factor[0] != "atom" or factor[1] not in frame.secrets_of(unknown) or gcd(c, value.modulus) != 1:
            continue
        rest = Sum(value.modulus, value.shape, {f: d for f, d in unknown.terms.items() if f != factor})
        if factor[1] in names_in(rest) or value.modulus != factor[2] or not value.modulus:
            continue
        fresh = f"{HIDDEN}output {name}"
        frame.known.add(fresh)
        frame.levels[fresh] = max((frame.levels[one] for one in names_in(value)), default=0)
        seen = Sum(value.modulus, value.shape, {("atom", fresh, value.modulus, value.shape): 1})
        _everywhere(frame, factor[1], times(pow(c, -1, value.modulus), plus(seen, times(-1, rest))))
        return


def _unknown(frame: Frame, x: Sum) -> Sum:
    """Without the terms that the coalition can work out and subtract."""
    kept = {f: c for f, c in x.terms.items() if not all(one[1] in frame.known for one in atoms(f))}
    return Sum(x.modulus, x.shape, kept)


def _move(frame: Frame, move: Move) -> None:
    """One use of the view rule. The letters are its conditions."""
    where, term = frame.run.protocol.name, frame.terms.get(move.term)
    drawn = frame.masks.get(move.draw)

    def refuse(why: str) -> ReplayError:
        return ReplayError(
            "certificate.view", f"`{move.draw}` does not hide message {move.term}: {why}", where
        )

    if term is None:
        raise refuse("there is no such message, or it was used before")
    if drawn is None or drawn.blocked:
        raise refuse("(e) the coalition knows it, or it is no draw")
    holding = [f for f in term.terms if any(one[1] == move.draw for one in atoms(f))]
    if len(holding) != 1:
        raise refuse("(d) it does not stand there once")
    (place,), inverse = holding, _inverse(holding[0], move.draw)
    if inverse is None:
        raise refuse("(a) its entries are not those of the message, one for one")
    if max(frame.levels[name] for name in names_in(term)) != drawn.level:
        raise refuse("(f) it does not live as long as the message")
    rest = Sum(term.modulus, term.shape, {f: c for f, c in term.terms.items() if f != place})
    if move.distance:
        value = _integer_mask(frame, move, drawn, term.terms[place], rest, term, refuse)
    else:
        value = _ring_mask(move, drawn, term.terms[place], rest, term, refuse)
    fresh = f"{HIDDEN}seen {move.term}"
    frame.known.add(fresh)
    frame.levels[fresh] = drawn.level
    del frame.terms[move.term], frame.masks[move.draw]
    solved = inverse(
        value(Sum(0, term.shape, {("atom", fresh, 0 if move.distance else term.modulus, term.shape): 1}))
    )
    _everywhere(frame, move.draw, solved)
    frame.terms = {number: _unknown(frame, one) for number, one in frame.terms.items()}


Refuse: TypeAlias = Callable[[str], ReplayError]
Solved: TypeAlias = Callable[[Sum], Sum]


def _ring_mask(move: Move, drawn: Drawn, c: int, rest: Sum, term: Sum, refuse: Refuse) -> Solved:
    modulus, divided = term.modulus, int(move.divided)
    if not modulus or drawn.value.modulus != modulus or move.modulus != str(modulus):
        raise refuse("(b) it is not uniform over the ring of the message")
    if divided < 1 or modulus % divided or any(one % divided for one in term.terms.values()):
        raise refuse("(c) the common factor does not divide it")
    unit = c // divided
    if unit != int(move.coefficient) or gcd(unit, modulus) != 1:
        raise refuse("(c) what stands before it is no unit, or not what is stated")
    less = make(modulus, term.shape, ((f, -(one // divided)) for f, one in rest.terms.items()))
    return lambda seen: times(pow(unit, -1, modulus), plus(cast_back(seen, modulus), less))


def _integer_mask(
    frame: Frame, move: Move, drawn: Drawn, c: int, rest: Sum, term: Sum, refuse: Refuse
) -> Solved:
    """`v + r`, r uniform below 2^bits and |v| < 2^e: at most 2^(e - bits) an entry; the other messages take r = u - v."""
    modulus = term.modulus
    sign = 1 if c == 1 else -1 if c in (-1, modulus - 1) else 0
    width = range_of(frame.run, rest)
    if (
        not drawn.bits
        or not sign
        or move.modulus != "0"
        or int(move.coefficient) != sign
        or move.divided != "1"
        or move.distance > MAX_BITS
    ):
        raise refuse("(b) it is no integer mask of this message")
    if width is None or (1 << drawn.bits) < width << move.distance:
        raise refuse("what it hides is not shown to be so small")
    rings = {one[2] for f in rest.terms for one in atoms(f) if one[2]}
    if any(modulus == 0 or ring % modulus for ring in rings if modulus != ring):
        raise refuse("what it hides has no value in this ring")
    for number, other in frame.terms.items():
        inside = {f for f in other.terms if any(one[1] == move.draw for one in atoms(f))}
        hidden = any(move.draw in names_in(Sum(0, (), {call: 1})) for f in inside for call in calls(f))
        if (
            number != move.term
            and inside
            and rings
            and (hidden or not other.modulus or any(r % other.modulus for r in rings))
        ):
            raise refuse("another message uses it in a way that needs more than its residue")
    count = prod(dim for dim in term.shape if isinstance(dim, int))
    frame.distance += Fraction(count, 1 << move.distance)
    centred = {f: one - modulus if modulus and 2 * one > modulus else one for f, one in rest.terms.items()}
    whole = Sum(0, term.shape, {f: -one for f, one in centred.items()})
    return lambda seen: times(sign, plus(seen, whole))


def _inverse(x: Factor, name: str) -> Callable[[Sum], Sum] | None:
    """The map from the message's entries back to the draw's: of transposes, reshapes and permutations of an axis only."""
    if x[0] == "atom":
        return lambda value: value
    if x[0] != "map" or x[1][0] not in ("transpose", "reshape"):
        return None
    inner = _inverse(x[2], name)
    before = _before(x)
    if inner is None:
        return None
    kind, data = x[1]
    if kind == "reshape":
        return lambda value: inner(_mapped(value, ("reshape", value.shape), before))
    back = tuple(data.index(axis) for axis in range(len(data)))
    return lambda value: inner(_mapped(value, ("transpose", back), before))
