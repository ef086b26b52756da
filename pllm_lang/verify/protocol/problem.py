"""What has to be shown for one coalition: the terms it sees, what it knows, what is secret, what can mask.

In: a trace and a coalition. Out: a `Problem`, which `search.py` solves. Known are the coalition's inputs,
pieces and draws, whatever a key that it holds expands to, and public inputs. The pieces of a shared input
that honest parties hold are secrets of which the sum is the input's value: the last of them is written as
the value minus the others. Only `needs fresh x` makes the others draws (the composition rule). All other
inputs are secrets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from pllm_lang.ir import protocol as ir
from pllm_lang.verify.protocol import polynomial as pl
from pllm_lang.verify.protocol import tensors as tn
from pllm_lang.verify.protocol.atoms import Atom, Atoms
from pllm_lang.verify.protocol.evaluate import evaluate
from pllm_lang.verify.protocol.polynomial import Poly
from pllm_lang.verify.protocol.scopes import Scope
from pllm_lang.verify.protocol.substitution import substitute
from pllm_lang.verify.protocol.trace import Trace

CONDITIONS = frozenset({"a", "b", "c", "d", "e", "f", "composition"})
"""The side conditions of the rule. Proofs use all of them; tests show that each one is needed."""


class Term(msgspec.Struct, frozen=True):
    """One part of something seen. `part` numbers the parts of a message that is a concatenation.

    `share`: not seen, but an honest piece of an output, to be shown uniform whatever was seen.
    """

    number: int
    message: str
    part: int
    poly: Poly
    origin: int
    share: bool = False


class Problem(msgspec.Struct, frozen=True):
    """`masks` are the draws that may be substituted; `ranges[a]` is e where |a|, centred, is below 2^e;
    `dependent` gives the honest pieces that are written through the value of their input."""

    atoms: Atoms
    terms: tuple[Term, ...]
    known: frozenset[int]
    secrets: frozenset[int]
    masks: frozenset[int]
    scopes: dict[int, Scope]
    outputs: tuple[tuple[str, Poly], ...]
    ranges: dict[int, int]
    dependent: tuple[tuple[int, Poly], ...]
    conditions: frozenset[str] = CONDITIONS


def make_problem(
    trace: Trace,
    coalition: frozenset[str],
    allowed: Sequence[ir.Expr] = (),
    shares: Sequence[tuple[str, str]] = (),
    conditions: frozenset[str] = CONDITIONS,
) -> Problem:
    """`allowed`: further values over the inputs that the coalition may learn; `shares`: honest output pieces
    (party, variable) to be shown uniform besides."""
    known = {a for a, i in trace.inputs.items() if i.holders is None or i.holders & coalition}
    known |= {a for a, d in trace.draws.items() if any(d.known_to(p) for p in coalition)}
    masks = {
        a for a, d in trace.draws.items() if a not in known and not d.blocked and not d.is_of_called_key()
    }
    if "e" not in conditions:
        masks |= set(trace.draws)
        known -= masks
    scopes = {a: d.scope for a, d in trace.draws.items()} | {a: i.scope for a, i in trace.inputs.items()}
    frame = _Frame(trace, known, masks, scopes, conditions)
    terms = _seen_terms(trace, coalition, shares, frame.rewritten)
    outputs = _allowed(trace, coalition, allowed, frame)
    secrets = set(trace.inputs) - known - masks
    return Problem(
        trace.atoms,
        tuple(terms),
        frozenset(known),
        frozenset(secrets | frame.values),
        frozenset(masks),
        scopes,
        tuple(outputs),
        frame.ranges,
        tuple(frame.dependent),
        conditions,
    )


class _Frame:
    """The change of variables for shared inputs, for one coalition."""

    def __init__(
        self,
        trace: Trace,
        known: set[int],
        masks: set[int],
        scopes: dict[int, Scope],
        conditions: frozenset[str],
    ) -> None:
        self.trace = trace
        self.values: set[int] = set()
        self.masks = masks
        self.ranges: dict[int, int] = {}
        self.dependent: list[tuple[int, Poly]] = []
        for atom, facts in trace.inputs.items():
            if facts.piece is None and facts.given.range_bits:
                self.ranges[atom] = facts.given.range_bits
        for copy in trace.copies:
            for name, rows in copy.pieces.items():
                self._value(name, rows, known, masks, scopes, conditions)

    def _value(
        self,
        name: str,
        rows: list[tuple[ir.Piece, int]],
        known: set[int],
        masks: set[int],
        scopes: dict[int, Scope],
        conditions: frozenset[str],
    ) -> None:
        honest = [(piece, atom) for piece, atom in rows if atom not in known]
        units = [(p, a) for p, a in honest if p.coefficient in (1, -1)]
        if not units or any(a == units[-1][1] for a, _ in self.dependent):
            return
        last, atom = units[-1]
        atoms, made = self.trace.atoms, self.trace.atoms[atom]
        facts = self.trace.inputs[atom]
        run = made.name.removeprefix(f"{name}.{last.label}")  # of several executions, which
        called = f"{name}{run}'{made.name}"
        value = atoms.add(Atom(called, "input", made.modulus, made.shape, made.bits, made.signed))
        self.values.add(value)
        scopes[value] = facts.scope
        if facts.given.range_bits:
            self.ranges[value] = facts.given.range_bits
        parts = [pl.whole(value, made.modulus, made.shape)]
        parts += [
            pl.scale(-piece.coefficient, pl.whole(other, made.modulus, made.shape))
            for piece, other in rows
            if other != atom
        ]
        self.dependent.append((atom, pl.scale(last.coefficient, pl.add(*parts))))
        if facts.given.fresh or "composition" not in conditions:
            masks |= {other for _, other in honest if other != atom}

    def rewritten(self, poly: Poly) -> Poly:
        for atom, value in self.dependent:
            poly = substitute(poly, atom, value, self.trace.atoms)
        return poly


def _seen_terms(
    trace: Trace,
    coalition: frozenset[str],
    shares: Sequence[tuple[str, str]],
    rewritten: Callable[[Poly], Poly],
) -> list[Term]:
    terms: list[Term] = []

    def see(name: str, value: tn.Value, origin: int, share: bool = False) -> None:
        number = terms[-1].number + 1 if terms else 0
        for part, poly in enumerate(tn.parts_of(value)):
            terms.append(Term(number, name, part, rewritten(poly), origin, share))

    several = len(trace.copies) > 1
    for message in trace.messages:
        if message.sender not in coalition and coalition & set(message.receivers):
            see(f"{message.name}{message.copy}" if several else message.name, message.value, message.origin)
    for seen in trace.seen:
        if coalition & seen.parties:
            poly = tn.joined(seen.value, trace.atoms)
            bit = trace.atoms.add(Atom("nonzero", "call", 2, (), args=(poly,)))
            see(seen.what, pl.whole(bit, 2, ()), seen.origin)
    for number, copy in enumerate(trace.copies, 1):
        for party, name in shares:
            if (party, name) in copy.outputs:
                see(f"{name}{number}" if several else name, copy.outputs[party, name], -1, True)
    return terms


def _allowed(
    trace: Trace, coalition: frozenset[str], allowed: Sequence[ir.Expr], frame: _Frame
) -> list[tuple[str, Poly]]:
    """What the coalition may learn: outputs to its members that are free of draws (fresh pieces are such), and
    `allowed`."""
    found: list[tuple[str, Poly]] = []
    for copy in trace.copies:
        for output in trace.protocol.outputs:
            parties = output_parties(output, coalition)
            if not parties:
                continue
            if output.meaning is not None and not output.scale_bits and not output.error:
                value = meaning_of(trace, copy.values, output.meaning)
            else:
                value = copy.outputs.get((parties[0], output.name))
            if value is not None and not _draws_in(value, trace):
                parts = [(output.name, frame.rewritten(p)) for p in tn.parts_of(value)]
                found += [row for row in parts if not trace.atoms.in_poly(row[1]) & frame.masks]
        for place, expr in enumerate(allowed):
            value = meaning_of(trace, copy.values, expr)
            found += [(f"allowed {place}", frame.rewritten(p)) for p in tn.parts_of(value)]
    return found


def output_parties(output: ir.Output, coalition: frozenset[str]) -> list[str]:
    """The members that get the output in the clear."""
    match output.holding:
        case ir.Public():
            return sorted(coalition)
        case ir.Clear():
            return [p for p in output.holding.parties if p in coalition]
        case ir.Shared():
            return []


def meaning_of(trace: Trace, values: dict[str, tn.Value], expr: ir.Expr) -> tn.Value:
    return evaluate(expr, lambda name: values[name], trace.atoms, trace.sizes)


def _draws_in(value: tn.Value, trace: Trace) -> bool:
    return any(a in trace.draws for p in tn.parts_of(value) for a in trace.atoms.in_poly(p))
