"""Witnesses, executed: two inputs that a combination of messages tells apart, or an input where an output
is wrong.

In: a combination of received entries (or an output) and a protocol with concrete sizes. Everything is run
by `execute.py` from the text; nothing that the prover derived decides here. What the coalition knows (its
inputs, its draws) is the same in both runs, the draws that it does not know are drawn anew several times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random

import msgspec

from pllm_lang.ir import protocol as ir
from pllm_lang.verify.protocol.allowed import learn
from pllm_lang.verify.protocol.dense import Tensor, compute
from pllm_lang.verify.protocol.execute import Executed, InputKey, execute, input_variables, random_tensor
from pllm_lang.verify.protocol.instances import settings_of
from pllm_lang.verify.protocol.polynomial import Poly
from pllm_lang.verify.protocol.problem import Problem, output_parties
from pllm_lang.verify.protocol.scalars import Variable, entries_of, value_of
from pllm_lang.verify.protocol.sizes import Sizes
from pllm_lang.verify.protocol.trace import Trace

MAX_TRIES = 40
DRAWS = 4
POINTS = 12
MAX_STATEMENTS = 20_000
"""Executed statements that a search for a leak may take: about a second. A leak not found by then stays unproved."""

Inputs = dict[InputKey, Tensor]


class Received(msgspec.Struct, frozen=True):
    """An entry of a message: `place` counts messages in the order sent."""

    place: int
    name: str
    copy: int
    at: tuple[int, ...]


class Work(msgspec.Struct):
    """What a search for a leak has left, in statements: it ends by a count, so that equal texts end alike."""

    left: int = MAX_STATEMENTS


def witnessed(
    parts: Sequence[tuple[Received, int]],
    modulus: int,
    trace: Trace,
    problem: Problem,
    protocol: ir.Protocol,
    coalition: frozenset[str],
    allowed: Sequence[ir.Expr],
    work: Work,
) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], tuple[int, int]] | None:
    """((two inputs), (the two values of the combination)), or None; also where no work is left."""
    copies = len(trace.copies)
    known = {trace.draws[a].name for a in trace.draws if a in problem.known}
    free = frozenset(name for name, _ in problem.outputs)
    rng = Random(1)
    for attempt in range(MAX_TRIES):
        pair = None if work.left <= 0 else _pair(rng, protocol, copies, problem, trace, attempt)
        if pair is None:
            return None
        told: tuple[int, int] | None = None
        for seed in range(DRAWS):
            work.left -= 2 * copies * len(protocol.body)
            first, second = (_run(protocol, inputs, known, attempt, seed, copies) for inputs in pair)
            values = _combined(parts, modulus, first), _combined(parts, modulus, second)
            learnt = [
                allowed_values(protocol, coalition, allowed, inputs, run, copies, free)
                for inputs, run in zip(pair, (first, second), strict=True)
            ]
            same = told in (None, values) and learnt[0] == learnt[1]
            told = values if same and values[0] != values[1] else None
            if told is None:
                break
        if told is not None:
            return (shown_inputs(pair[0]), shown_inputs(pair[1])), told
    return None


def _run(
    protocol: ir.Protocol, inputs: Inputs, known: set[str], attempt: int, seed: int, copies: int
) -> Executed:
    ours, theirs = Random(f"ours {attempt}"), Random(f"theirs {attempt} {seed}")
    return execute(protocol, {}, inputs, lambda st: ours if st.name in known else theirs, copies)


def _combined(parts: Sequence[tuple[Received, int]], modulus: int, run: Executed) -> int:
    total = sum(coef * run.sent[r.place].value.at(r.at) for r, coef in parts)
    return total % modulus if modulus else total


def allowed_values(
    protocol: ir.Protocol,
    coalition: frozenset[str],
    allowed: Sequence[ir.Expr],
    inputs: Inputs,
    run: Executed,
    copies: int,
    free: frozenset[str] | None = None,
) -> list[tuple[int, ...]]:
    """What the coalition may learn from this run: its outputs, by their meaning where one is stated, and
    `allowed`. `free` names the outputs that are free of draws; others do not count (None: all are)."""
    out: list[tuple[int, ...]] = []
    for copy in range(1, copies + 1):
        values = meaning_inputs(protocol, inputs, copy)
        for output in [o for o in protocol.outputs if free is None or o.name in free]:
            for party in output_parties(output, coalition)[:1]:
                if output.meaning is not None and not output.scale_bits:
                    out.append(compute(output.meaning, lambda n, v=values: v[n], Sizes()).entries)
                elif (party, output.name) in run.outputs[copy - 1]:
                    out.append(run.outputs[copy - 1][party, output.name].entries)
        out += [compute(e, lambda n, v=values: v[n], Sizes()).entries for e in allowed]
    return out


def meaning_inputs(protocol: ir.Protocol, inputs: Inputs, copy: int) -> dict[str, Tensor]:
    """The inputs' values: pieces recombined."""
    out: dict[str, Tensor] = {}
    for given in protocol.inputs:
        run = copy if given.lifetime == "execution" else 0
        if not isinstance(given.holding, ir.Shared):
            out[given.name] = inputs[given.name, run]
            continue
        pieces = [(p.coefficient, inputs[f"{given.name}.{p.label}", run]) for p in given.holding.pieces]
        first = pieces[0][1]
        sums = [sum(c * t.entries[i] for c, t in pieces) for i in range(len(first.entries))]
        reduced = tuple(s % first.modulus if first.modulus else s for s in sums)
        out[given.name] = Tensor(first.shape, reduced, first.modulus)
    return out


# ---- two inputs that agree on what may be learnt ----
def _pair(
    rng: Random, protocol: ir.Protocol, copies: int, problem: Problem, trace: Trace, attempt: int
) -> tuple[Inputs, Inputs] | None:
    """The same known inputs, other secrets; allowed outputs kept equal where they can be solved."""
    small = attempt % 2 == 1
    numbers = _numbers(trace)
    first: dict[Variable, int] = {}
    second: dict[Variable, int] = {}
    for atom in sorted(set(trace.inputs) | problem.secrets):
        made = trace.atoms[atom]
        if made.kind != "input":
            continue
        number = ir.Ring(made.modulus) if made.modulus else ir.Integer(made.bits, made.signed)
        for at, entry in _random_entries(number, made.shape, rng, small).items():
            first[atom, at] = entry
            second[atom, at] = entry
            if atom in problem.secrets:
                second[atom, at] = _random_entries(number, (), rng, small)[()]
    first = _with_dependent(first, problem)
    _keep_outputs(first, second, problem)
    second = _with_dependent(second, problem)
    return (
        _tensors(first, numbers, protocol, copies, trace),
        _tensors(second, numbers, protocol, copies, trace),
    )


def _numbers(trace: Trace) -> dict[str, int]:
    """Atom numbers of inputs by name (`x`, or `x2` in the second of two executions)."""
    return {trace.atoms[a].name: a for a in trace.inputs}


def _random_entries(
    number: ir.Number, shape: tuple[int, ...], rng: Random, small: bool
) -> dict[tuple[int, ...], int]:
    tensor = random_tensor(ir.Ring(2) if small else number, shape, rng)
    places = entries_of(Poly(0, shape, {}))
    return dict(zip(places, tensor.entries, strict=True))


def _with_dependent(values: dict[Variable, int], problem: Problem) -> dict[Variable, int]:
    """Honest pieces that are written through the value of their input."""
    out = dict(values)
    for atom, poly in problem.dependent:
        for at, scalar in entries_of(poly).items():
            out[atom, at] = value_of(scalar, poly.modulus, out)
    return out


def _keep_outputs(first: Mapping[Variable, int], second: dict[Variable, int], problem: Problem) -> None:
    """Solve the second input's secrets so that solvable outputs agree; calls are left to chance."""
    allowed, _ = learn(problem)
    try:
        seen = _seen_outputs(first, problem)
        for _, secret, poly in reversed(allowed.equations):
            for at, scalar in entries_of(poly).items():
                second[secret, at] = value_of(scalar, poly.modulus, {**second, **seen})
    except KeyError:
        return


def _seen_outputs(values: Mapping[Variable, int], problem: Problem) -> dict[Variable, int]:
    """The atoms that `learn` made for solved outputs: output minus what is known, under the first input."""
    out: dict[Variable, int] = {}
    full = dict(values)
    for number, atom in enumerate(problem.atoms.all):
        if atom.kind != "seen" or not atom.name.startswith("output "):
            continue
        poly = problem.outputs[int(atom.name.split()[1])][1]
        known = {m: c for m, c in poly.terms.items() if all(a in problem.known for a, _ in m[1])}
        unknown = Poly(poly.modulus, poly.shape, {m: c for m, c in poly.terms.items() if m not in known})
        for at, scalar in entries_of(unknown).items():
            out[number, at] = value_of(scalar, poly.modulus, full)
    return out


def _tensors(
    values: Mapping[Variable, int],
    numbers: Mapping[str, int],
    protocol: ir.Protocol,
    copies: int,
    trace: Trace,
) -> Inputs:
    out: Inputs = {}
    for (name, run), _, _ in input_variables(protocol, copies):
        atom = numbers[f"{name}{run}" if run and copies > 1 else name]
        made = trace.atoms[atom]
        entries = tuple(values[atom, at] for at in entries_of(Poly(0, made.shape, {})))
        out[name, run] = Tensor(made.shape, entries, made.modulus)
    return out


def shown_inputs(inputs: Inputs) -> tuple[str, ...]:
    """For people: `x = [1, 2]`, with the execution's number where there are several."""
    several = max(run for _, run in inputs) > 1
    return tuple(
        f"{n}{run if several and run else ''} = {list(t.entries)}" for (n, run), t in sorted(inputs.items())
    )


# ---- outputs ----
def differing_point(protocol: ir.Protocol, output: ir.Output) -> tuple[str, ...] | None:
    """An input where the executed output is not its meaning."""
    for setting in settings_of(protocol)[:1]:
        for attempt in range(POINTS):
            inputs = random_inputs(setting.protocol, Random(attempt))
            try:
                run = execute(setting.protocol, {}, inputs, one_source(attempt))
                wrong = not output_right(setting.protocol, output.name, inputs, run)
            except (KeyError, IndexError, ValueError):
                return None
            if wrong:
                return shown_inputs(inputs) + ((setting.text,) if setting.text else ())
    return None


def one_source(seed: int) -> Callable[[ir.Draw], Random]:
    """All draws from one seeded source."""
    rng = Random(seed)
    return lambda _: rng


def random_inputs(protocol: ir.Protocol, rng: Random, copies: int = 1) -> Inputs:
    """Uniform inputs, within their stated ranges where they are in the clear."""
    sizes = Sizes()
    return {
        key: random_tensor(t.number, sizes.shape(t.shape), rng)
        for key, t, _ in input_variables(protocol, copies)
    }


def output_right(protocol: ir.Protocol, name: str, inputs: Inputs, run: Executed) -> bool:
    """Whether an output, recombined, is its meaning, and the copies of its pieces agree."""
    output = next(o for o in protocol.outputs if o.name == name)
    assert output.meaning is not None
    values = meaning_inputs(protocol, inputs, 1)
    want = compute(output.meaning, lambda n: values[n], Sizes())
    got = run.outputs[0]
    if not isinstance(output.holding, ir.Shared):
        found = [t for (_, n), t in got.items() if n == name]
        return bool(found) and all(t.entries == want.entries for t in found)
    total = [0] * len(want.entries)
    for piece in output.holding.pieces:
        held = [got[h, f"{name}.{piece.label}"] for h in piece.holders]
        if any(t.entries != held[0].entries for t in held):
            return False
        total = [a + piece.coefficient * b for a, b in zip(total, held[0].entries, strict=True)]
    return all((a - b) % want.modulus == 0 for a, b in zip(total, want.entries, strict=True))
