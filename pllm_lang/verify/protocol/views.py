"""The view of one coalition: proved, refuted with a distinguisher, or unproved; and whether it composes.

A proof holds for every choice of the honest pieces of shared inputs (they are secrets), so a proved
protocol may follow any other whose outputs are exact. A shared output is *fresh* if all its honest pieces
but one are uniform and independent of everything the coalition saw: then a later protocol may use them as
draws (`needs fresh`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, product

from pllm_lang.ir import protocol as ir
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.protocol.cost import entries_of
from pllm_lang.verify.protocol.leak import find_leak
from pllm_lang.verify.protocol.masking import Mask
from pllm_lang.verify.protocol.polynomial import TooLarge
from pllm_lang.verify.protocol.problem import CONDITIONS, make_problem
from pllm_lang.verify.protocol.report import Ended, Learnt, Statistical, Step, View
from pllm_lang.verify.protocol.search import Move, Solution, solve
from pllm_lang.verify.protocol.show import show_index, show_poly
from pllm_lang.verify.protocol.trace import Trace

MAX_SHARE_CHOICES = 16


def prove_view(
    trace: Trace,
    coalition: frozenset[str],
    allowed: Sequence[ir.Expr] = (),
    conditions: frozenset[str] = CONDITIONS,
    look_for_leaks: bool = True,
) -> View:
    """The verdict for one coalition; `conditions` is for tests that show what each condition is for."""
    members = tuple(sorted(coalition))
    try:
        solution = solve(make_problem(trace, coalition, allowed, (), conditions))
    except TooLarge as limit:
        return View(members, Verdict.UNPROVED, reason=str(limit))
    if solution.solved:
        return _proved(members, solution, trace, fresh_outputs(trace, coalition, allowed, conditions))
    leak = find_leak(trace.protocol, coalition, allowed) if look_for_leaks else None
    stuck = tuple(f"{t.message}: {show_poly(t.poly, trace.atoms)}" for t in solution.stuck)
    origins = tuple(sorted({t.origin for t in solution.stuck}))
    verdict = Verdict.UNPROVED if leak is None else Verdict.REFUTED
    return View(members, verdict, stuck=stuck, origins=origins, leak=leak, reason=solution.reason)


def _proved(members: tuple[str, ...], solution: Solution, trace: Trace, fresh: tuple[str, ...]) -> View:
    atoms = trace.atoms
    learnt = tuple(Learnt(name, atoms[secret].name) for name, secret, _ in solution.allowed.equations)
    statistical = tuple(
        Statistical(
            m.term.message, atoms[m.mask.draw].name, m.mask.distance, entries_of(m.term.poly, trace.sizes)
        )
        for m in solution.moves
        if m.mask.distance
    )
    steps = tuple(_step(move, trace) for move in solution.moves)
    ended = _endings(solution)
    return View(members, Verdict.PROVED, learnt, steps, ended, statistical, fresh=fresh)


def _step(move: Move, trace: Trace) -> Step:
    mask: Mask = move.mask
    where = tuple(show_index(i) for i in mask.leaf[1])
    name = trace.atoms[mask.draw].name
    modulus = mask.rest.modulus
    term = move.term
    return Step(term.number, name, mask.coefficient, mask.divided, modulus, where, mask.distance, term.part)


def _endings(solution: Solution) -> tuple[Ended, ...]:
    fresh = {(m.term.number, m.term.part) for m in solution.moves}
    out: list[Ended] = []
    for term in solution.problem.terms:
        how = "fresh" if (term.number, term.part) in fresh else "free"
        out.append(Ended(term.number, term.message, how, term.part))
    return tuple(out)


def fresh_outputs(
    trace: Trace, coalition: frozenset[str], allowed: Sequence[ir.Expr], conditions: frozenset[str]
) -> tuple[str, ...]:
    """The shared outputs that are fresh together, or else one that is; any honest piece may be left out."""
    shared = {o.name: _honest(o, o.holding, coalition) for o in trace.protocol.outputs if _is_shared(o)}
    plain = tuple(name for name, pieces in shared.items() if len(pieces) == 1)
    several = [name for name, pieces in shared.items() if len(pieces) > 1]
    for names in [tuple(several), *((n,) for n in several if len(several) > 1)]:
        choices = [[p[:i] + p[i + 1 :] for i in range(len(p))] for p in (shared[n] for n in names)]
        for chosen in islice(product(*choices), MAX_SHARE_CHOICES):
            if _all_fresh(trace, coalition, allowed, conditions, [piece for row in chosen for piece in row]):
                return (*plain, *names)
    return plain


def _all_fresh(
    trace: Trace,
    coalition: frozenset[str],
    allowed: Sequence[ir.Expr],
    conditions: frozenset[str],
    shares: list[tuple[str, str]],
) -> bool:
    try:
        return solve(make_problem(trace, coalition, allowed, shares, conditions)).solved
    except TooLarge:
        return False


def _is_shared(output: ir.Output) -> bool:
    return isinstance(output.holding, ir.Shared)


def _honest(output: ir.Output, holding: ir.Holding, coalition: frozenset[str]) -> list[tuple[str, str]]:
    """(a holder, variable) of every piece that no member of the coalition holds."""
    pieces = holding.pieces if isinstance(holding, ir.Shared) else ()
    return [(p.holders[0], f"{output.name}.{p.label}") for p in pieces if not coalition & set(p.holders)]
