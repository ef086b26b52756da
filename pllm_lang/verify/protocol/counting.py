"""Complete enumeration at 2 to 4 bits: two inputs that give a coalition's view different distributions.

In: a protocol and a coalition that no linear combination told apart. The text is taken over rings of at
most 4 bits and one entry an axis (where it fits), every input and draw is executed exactly, and views are
counted. Out: a `Leak` that says which view is more frequent under one of two inputs with the same allowed
outputs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product as tuples
from random import Random
from typing import TypeAlias

import msgspec

from pllm_lang.ir import protocol as ir
from pllm_lang.verify.protocol.dense import Tensor, modulus_of
from pllm_lang.verify.protocol.execute import Executed, Sent, execute, input_variables
from pllm_lang.verify.protocol.forms import element_bits
from pllm_lang.verify.protocol.instances import settings_of, with_rings
from pllm_lang.verify.protocol.report import Leak
from pllm_lang.verify.protocol.sizes import Sizes
from pllm_lang.verify.protocol.witness import Inputs, allowed_values, one_source, shown_inputs

MAX_RUNS = 4096
MAX_STATEMENTS = 250_000
"""Executions of one instance, and statements executed in them: one or two seconds. What would take more is not counted."""

RINGS = (4, 2)
SEEDS = 4

Key: TypeAlias = tuple[tuple[int, ...], ...]


def counted_leak(
    protocol: ir.Protocol, coalition: frozenset[str], allowed: Sequence[ir.Expr] = ()
) -> Leak | None:
    """The first pair of inputs whose views differ in distribution, at the smallest instance that shows
    one."""
    for setting in settings_of(protocol, (1, 2)):
        for modulus in RINGS:
            real = setting.protocol
            small = with_rings(real, lambda n, m=modulus: _narrowed(n, m))
            if small != real and not _polynomial(real):
                continue
            ring = "" if small == real else f"residues modulo {modulus}"
            text = "; ".join(t for t in (setting.text, ring) if t)
            try:
                leak = _counted(small, real, coalition, allowed, text)
            except (KeyError, IndexError, ValueError, _TooMany):
                continue
            if leak is not None:
                return leak
    return None


class _TooMany(Exception):
    """Not counted: too many executions, or something that one execution does not show."""


def _narrowed(number: ir.Number, modulus: int) -> ir.Number:
    """A power-of-two ring above `modulus` becomes it; the rest stays."""
    if (
        isinstance(number, ir.Ring)
        and number.modulus > modulus
        and number.modulus & (number.modulus - 1) == 0
    ):
        return ir.Ring(modulus)
    return number


def _polynomial(protocol: ir.Protocol) -> bool:
    """One power-of-two ring and nothing but polynomials: then reducing a message is a function of it, and
    uniform draws reduce to uniform draws."""
    text = repr(protocol)
    return not any(f"{form}(" in text for form in ("Cast", "Shift", "Call", "Integer"))


def _counted(
    protocol: ir.Protocol,
    real: ir.Protocol,
    coalition: frozenset[str],
    allowed: Sequence[ir.Expr],
    text: str,
) -> Leak | None:
    """Counted over `protocol`; which inputs may be compared is decided by the allowed outputs of `real`."""
    seen: dict[Key, tuple[Inputs, Counter[Key]]] = {}
    for counted in _executed(protocol, real):
        views: Counter[Key] = Counter()
        for run in counted.runs:
            known = tuple(entries for holders, entries in run.values if coalition & set(holders))
            told = [s for s in run.sent if s.sender not in coalition and coalition & set(s.receivers)]
            views[(*known, *(s.value.entries for s in told))] += 1
        key = (*_own(protocol, coalition, counted.inputs), *_learnt(real, coalition, allowed, counted))
        if key not in seen:
            seen[key] = (counted.inputs, views)
        elif seen[key][1] != views:
            return _leak(protocol, coalition, *seen[key], counted.inputs, views, text)
    return None


class _Run(msgspec.Struct, frozen=True):
    """`values` are the draws, each as who holds it and its entries; `sent` is what was sent."""

    values: tuple[tuple[tuple[str, ...], tuple[int, ...]], ...]
    sent: tuple[Sent, ...]


class _Inputs(msgspec.Struct, frozen=True):
    """An input with all its executions, and a few of the protocol in its own rings with the same numbers."""

    inputs: Inputs
    runs: tuple[_Run, ...]
    given: Inputs
    real: tuple[Executed, ...]


@lru_cache(maxsize=4)
def _executed(protocol: ir.Protocol, real: ir.Protocol) -> tuple[_Inputs, ...]:
    """Every input with every value of the draws. No coalition matters here, so all of them are counted in one execution."""
    draws = _draws(protocol)
    given_bits = sum(_bits(t) for _, t, _ in input_variables(protocol))
    bits = given_bits + sum(_bits(st.type) for st in draws)
    if any(isinstance(st, ir.Repeat | ir.When) for st in protocol.body) or bits > MAX_RUNS.bit_length() - 1:
        raise _TooMany
    if ((1 << bits) + (SEEDS << given_bits)) * len(protocol.body) > MAX_STATEMENTS:
        raise _TooMany
    types = {key: t for key, t, _ in input_variables(real)}
    found: list[_Inputs] = []
    for inputs in _all_inputs(protocol):
        runs = tuple(_run(protocol, draws, inputs, v) for v in _all_tensors([st.type for st in draws]))
        given = {key: Tensor(t.shape, t.entries, modulus_of(types[key].number)) for key, t in inputs.items()}
        seeded = tuple(execute(real, {}, given, one_source(seed)) for seed in range(SEEDS))
        found.append(_Inputs(inputs, runs, given, seeded))
    return tuple(found)


def _run(protocol: ir.Protocol, draws: list[ir.Draw], inputs: Inputs, values: tuple[Tensor, ...]) -> _Run:
    scripted = _Scripted(dict(zip([st.name for st in draws], values, strict=True)))
    sent = execute(protocol, {}, inputs, scripted.source).sent
    return _Run(tuple((st.holders, scripted.values[st.name].entries) for st in draws), sent)


def _learnt(
    real: ir.Protocol, coalition: frozenset[str], allowed: Sequence[ir.Expr], counted: _Inputs
) -> Key:
    """What the coalition may learn under these numbers, in the protocol's own rings."""
    found = {tuple(allowed_values(real, coalition, allowed, counted.given, run, 1)) for run in counted.real}
    if len(found) != 1:
        raise _TooMany  # an output with draws: not something that inputs can be compared by
    return found.pop()


def _leak(
    protocol: ir.Protocol,
    coalition: frozenset[str],
    first: Inputs,
    one: Counter[Key],
    second: Inputs,
    two: Counter[Key],
    text: str,
) -> Leak:
    view = max(one | two, key=lambda v: (abs(one[v] - two[v]), v))
    sends = [s for s in protocol.body if isinstance(s, ir.Send) and coalition & set(s.receivers)]
    names = ", ".join(dict.fromkeys(s.name for s in sends))
    total = sum(one.values())
    secret = f"how often {list(map(list, view))} is seen, of {total}"
    pair = (shown_inputs(first), shown_inputs(second))
    origins = tuple(sorted({s.origin for s in sends}))
    return Leak(f"the joint values of {names}", secret, origins, pair, (one[view], two[view]), text)


class _Scripted:
    """A source that gives each draw the entries chosen for it."""

    def __init__(self, values: Mapping[str, Tensor]) -> None:
        self.values = values
        self._sources = {name: _Listed(value.entries) for name, value in values.items()}

    def source(self, st: ir.Draw) -> Random:
        """The same source each time that an entry of the draw is asked for."""
        return self._sources[st.name]


class _Listed(Random):
    """Numbers from a list, in place of random ones."""

    def __init__(self, entries: tuple[int, ...]) -> None:
        super().__init__(0)
        self._entries = iter(entries)

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        del start, stop, step
        return next(self._entries)

    def getrandbits(self, k: int, /) -> int:
        del k
        return next(self._entries)


def _draws(protocol: ir.Protocol) -> list[ir.Draw]:
    """The draws; streams that repeat, or outlive an execution, are not counted here."""
    found = [st for st in protocol.body if isinstance(st, ir.Draw)]
    labels = [(st.via.key, st.via.label) for st in found if isinstance(st.via, ir.ViaPrf)]
    if len(set(labels)) != len(labels) or len({st.name for st in found}) != len(found):
        raise _TooMany
    return found


def _bits(type_: ir.TensorType) -> int:
    entries = 1
    for dim in Sizes().shape(type_.shape):
        entries *= dim
    return entries * element_bits(type_.number)


def _all_inputs(protocol: ir.Protocol) -> Iterator[Inputs]:
    rows = input_variables(protocol)
    for values in _all_tensors([t for _, t, _ in rows]):
        yield dict(zip([key for key, _, _ in rows], values, strict=True))


def _all_tensors(types: list[ir.TensorType]) -> Iterator[tuple[Tensor, ...]]:
    return tuples(*(list(_tensors(t)) for t in types))


def _tensors(type_: ir.TensorType) -> Iterator[Tensor]:
    shape, number = Sizes().shape(type_.shape), type_.number
    entries = 1
    for dim in shape:
        entries *= dim
    if isinstance(number, ir.Ring):
        values = range(number.modulus)
    else:
        values = range(1 - (1 << number.bits) if number.signed else 0, 1 << number.bits)
    for chosen in tuples(values, repeat=entries):
        yield Tensor(shape, chosen, modulus_of(number))


def _own(protocol: ir.Protocol, coalition: frozenset[str], inputs: Inputs) -> Key:
    """The inputs and pieces that the coalition holds."""
    out: list[tuple[int, ...]] = []
    for given in protocol.inputs:
        match given.holding:
            case ir.Public():
                names = [given.name]
            case ir.Clear():
                names = [given.name] if coalition & set(given.holding.parties) else []
            case ir.Shared():
                pieces = [p for p in given.holding.pieces if coalition & set(p.holders)]
                names = [f"{given.name}.{p.label}" for p in pieces]
        out += [t.entries for (n, _), t in sorted(inputs.items()) if n in names]
    return tuple(out)
