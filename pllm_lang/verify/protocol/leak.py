"""A distinguisher for a view that could not be proved: what the coalition computes, and what that tells it.

In: a protocol and a coalition. Out: a `Leak` that was executed exactly, or None (the verdict stays
*unproved*). At a small instance, and with two executions where something outlives one, the entries of
everything received are rows; combinations in which every unknown draw cancels are expressions over secrets.
One is a leak if two inputs with equal allowed outputs give it two values, in the exact execution of the
text (`witness.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pllm_lang.ir import protocol as ir
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.protocol.counting import counted_leak
from pllm_lang.verify.protocol.evaluate import Misfit
from pllm_lang.verify.protocol.forms import calls_of
from pllm_lang.verify.protocol.instances import Setting, settings_of
from pllm_lang.verify.protocol.kernel import Row, eliminate
from pllm_lang.verify.protocol.masking import centred
from pllm_lang.verify.protocol.narration import narrate
from pllm_lang.verify.protocol.polynomial import Poly, TooLarge
from pllm_lang.verify.protocol.problem import Problem, make_problem
from pllm_lang.verify.protocol.report import Correctness, Leak
from pllm_lang.verify.protocol.scalars import Product, Scalar, Variable, entries_of
from pllm_lang.verify.protocol.show import show_entry, show_scalar
from pllm_lang.verify.protocol.sizes import Sizes
from pllm_lang.verify.protocol.substitution import substitute
from pllm_lang.verify.protocol.tensors import shape_of
from pllm_lang.verify.protocol.trace import Trace
from pllm_lang.verify.protocol.witness import Received, Work, differing_point, witnessed

MAX_ROWS = 160
MAX_CANDIDATES = 12


def find_leak(
    protocol: ir.Protocol, coalition: frozenset[str], allowed: Sequence[ir.Expr] = ()
) -> Leak | None:
    """The first leak found, over instances and one or two executions.

    Where numbers of the protocol were made smaller, every instance must show one: a leak that hangs on a size
    (a sum of two equal draws is even) is none of the protocol itself.
    """
    settings, work = settings_of(protocol), Work()
    found = [_leak_in(setting, coalition, allowed, work) for setting in settings if setting.reduced]
    if found:
        return found[0] if all(leak is not None for leak in found) else None
    for setting in settings:
        leak = _leak_in(setting, coalition, allowed, work)
        if leak is not None:
            return leak
    return counted_leak(protocol, coalition, allowed)


def _leak_in(
    setting: Setting, coalition: frozenset[str], allowed: Sequence[ir.Expr], work: Work
) -> Leak | None:
    """In one execution, or in two where something outlives one."""
    for copies in (1, 2) if _outlives(setting.protocol) else (1,):
        try:
            leak = _leak_at(setting, coalition, allowed, copies, work)
        except (TooLarge, Misfit, KeyError):
            continue
        if leak is not None:
            return leak
    return None


def _outlives(protocol: ir.Protocol) -> bool:
    """Whether anything is drawn or given for longer than one execution."""
    lives = [i.lifetime for i in protocol.inputs]
    lives += [s.lifetime for s in protocol.body if isinstance(s, ir.Draw | ir.KeyDraw)]
    return any(life != "execution" for life in lives)


class _Entry(msgspec.Struct, frozen=True):
    received: Received
    scalar: Scalar
    modulus: int


def _leak_at(
    setting: Setting, coalition: frozenset[str], allowed: Sequence[ir.Expr], copies: int, work: Work
) -> Leak | None:
    trace = narrate(setting.protocol, Sizes(), copies)
    if any(f.code == "protocol.misfit" for f in trace.findings):
        return None
    problem = make_problem(trace, coalition, allowed)
    entries = _entries(trace, coalition, problem)
    if not entries or len(entries) > MAX_ROWS:
        return None
    for modulus in sorted({e.modulus for e in entries} | {2}, reverse=True):
        usable = [e for e in entries if e.modulus == modulus or (modulus and e.modulus % modulus == 0)]
        for row in _candidates(usable, modulus, trace, problem):
            leak = _checked(row, usable, modulus, trace, problem, setting, coalition, allowed, work)
            if leak is not None:
                return leak
    return None


def _entries(trace: Trace, coalition: frozenset[str], problem: Problem) -> list[_Entry]:
    """Every entry of every message to the coalition, with honest pieces written through their values."""
    out: list[_Entry] = []
    place = {id(m): i for i, m in enumerate(trace.messages)}
    for message in trace.messages:
        if message.sender in coalition or not coalition & set(message.receivers):
            continue
        single = len(shape_of(message.value)) == 0
        for at, raw in entries_of(message.value).items():
            modulus = _modulus(message.number)
            scalar = _rewritten(raw, modulus, problem)
            if not single or scalar:
                out.append(
                    _Entry(Received(place[id(message)], message.name, message.copy, at), scalar, modulus)
                )
    return out


def _modulus(number: ir.Number) -> int:
    return number.modulus if isinstance(number, ir.Ring) else 0


def _rewritten(raw: Scalar, modulus: int, problem: Problem) -> Scalar:
    """Dependent pieces replaced, entry by entry."""
    atoms = {a for product in raw for a, _ in product}
    if not any(a in atoms for a, _ in problem.dependent):
        return raw
    one = {((), tuple((a, tuple((p, ()) for p in at)) for a, at in product)): c for product, c in raw.items()}
    poly = Poly(modulus, (), one)
    for atom, value in problem.dependent:
        poly = substitute(poly, atom, value, problem.atoms)
    return entries_of(poly)[()]


def _candidates(entries: list[_Entry], modulus: int, trace: Trace, problem: Problem) -> list[Row]:
    """Draw-free combinations that mention a secret, the shortest first."""

    def hides(product: Product) -> bool:
        return any(_is_hidden(a, trace, problem) for atom, _ in product for a in problem.atoms.inside(atom))

    rows = [_reduced(e.scalar, modulus, trace) for e in entries]
    found = eliminate(rows, modulus, hides)
    telling = [r for r in found if any(_is_secret(product, problem) for product in r.value)]
    telling.sort(key=lambda r: (len(r.combination), len(r.value)))
    return [_positive(r, modulus) for r in telling[:MAX_CANDIDATES]]


def _positive(row: Row, modulus: int) -> Row:
    """The first message counted positively."""
    if centred(row.combination[min(row.combination)], modulus) > 0:
        return row

    def negated(coef: int) -> int:
        return -coef % modulus if modulus else -coef

    combination = {i: negated(c) for i, c in row.combination.items()}
    return Row({m: negated(c) for m, c in row.value.items()}, combination)


def _is_hidden(atom: int, trace: Trace, problem: Problem) -> bool:
    return (atom in trace.draws and atom not in problem.known) or atom in problem.masks


def _is_secret(product: Product, problem: Problem) -> bool:
    return any(a in problem.secrets for atom, _ in product for a in problem.atoms.inside(atom))


def _reduced(scalar: Scalar, modulus: int, trace: Trace) -> Scalar:
    """In a smaller ring, and with the entries of one PRF stream under one name."""
    out: Scalar = {}
    for product, coef in scalar.items():
        renamed = tuple(_stream_name(v, trace) for v in product)
        renamed = tuple(sorted(set(renamed) if modulus == 2 else renamed))
        total = out.get(renamed, 0) + coef
        out[renamed] = total % modulus if modulus else total
    return {m: c for m, c in out.items() if c}


def _stream_name(variable: Variable, trace: Trace) -> Variable:
    """One stream under two shapes: its entries are those of the first use with that ring, by position."""
    atom, at = variable
    facts = trace.draws.get(atom)
    if facts is None or not facts.blocked:
        return variable
    flat = 0
    for size, position in zip(trace.atoms[atom].shape, at, strict=True):
        flat = flat * size + position
    same = [a for a, f in trace.draws.items() if f.stream == facts.stream and f.key is facts.key]
    first = min(a for a in same if trace.atoms[a].modulus == trace.atoms[atom].modulus)
    return first, (flat,)


def _checked(
    row: Row,
    entries: list[_Entry],
    modulus: int,
    trace: Trace,
    problem: Problem,
    setting: Setting,
    coalition: frozenset[str],
    allowed: Sequence[ir.Expr],
    work: Work,
) -> Leak | None:
    """The combination, executed; None where no two inputs tell."""
    parts = [(entries[i].received, coef) for i, coef in sorted(row.combination.items())]
    found = witnessed(parts, modulus, trace, problem, setting.protocol, coalition, allowed, work)
    if found is None:
        return None
    several = len(trace.copies) > 1
    known = {m: c for m, c in row.value.items() if not _is_secret(m, problem)}
    secret = {m: c for m, c in row.value.items() if _is_secret(m, problem)}
    plain = len({r.at for r, _ in parts} | {at for m in secret for _, at in m}) == 1
    left = [(show_entry(f"{r.name}{r.copy}" if several else r.name, r.at, plain), c) for r, c in parts]
    left += [(show_scalar({m: 1}, 0, trace.atoms, plain), -c) for m, c in sorted(known.items())]
    origins = tuple(sorted({trace.messages[r.place].origin for r, _ in parts}))
    ring = f"modulo {modulus}" if modulus and any(e.modulus != modulus for e in entries) else ""
    text = "; ".join(t for t in (setting.text, ring) if t)
    combination = show_scalar({}, modulus, trace.atoms, plain, left)
    return Leak(combination, show_scalar(secret, modulus, trace.atoms, plain), origins, *found, text)


def refute_outputs(protocol: ir.Protocol, outputs: list[Correctness]) -> list[Correctness]:
    """Unproved outputs become refuted where an execution gives something else than the meaning.

    A meaning with a function known only by name has no value to compare with: it stays unproved.
    """
    out: list[Correctness] = []
    for result, output in zip(outputs, protocol.outputs, strict=True):
        point = None
        meaning = output.meaning
        exact = meaning is not None and all(call.table for call in calls_of(meaning))
        if result.verdict is Verdict.UNPROVED and exact and not output.scale_bits:
            point = differing_point(protocol, output)
        if point is None:
            out.append(result)
            continue
        how = f"it is not {output.name}'s meaning: executed and compared"
        out.append(msgspec.structs.replace(result, verdict=Verdict.REFUTED, how=how, point=point))
    return out
