"""The view of one coalition: proved, refuted with a distinguisher, or unproved; and whether it composes.

A protocol composes by its own proof, for a coalition, if the coalition's messages are simulated together with
all honest pieces but one of every shared output, the honest pieces of inputs being secrets. Such an output is
*fresh*: its honest pieces are uniform given everything the coalition saw.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

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
        composable, fresh = _composes(trace, coalition, allowed, conditions)
        return _proved(members, solution, trace, composable, fresh)
    leak = find_leak(trace.protocol, coalition, allowed) if look_for_leaks else None
    stuck = tuple(f"{t.message}: {show_poly(t.poly, trace.atoms)}" for t in solution.stuck)
    origins = tuple(sorted({t.origin for t in solution.stuck}))
    verdict = Verdict.UNPROVED if leak is None else Verdict.REFUTED
    reason = "no order of substitutions takes the secrets out of these terms"
    return View(members, verdict, stuck=stuck, origins=origins, leak=leak, reason=reason)


def _proved(
    members: tuple[str, ...], solution: Solution, trace: Trace, composable: bool, fresh: tuple[str, ...]
) -> View:
    atoms = trace.atoms
    learnt = tuple(Learnt(name, atoms[secret].name) for name, secret, _ in solution.allowed.equations)
    statistical = tuple(
        Statistical(m.term.message, atoms[m.mask.draw].name, m.mask.distance, entries_of(m.term.poly, trace.sizes))
        for m in solution.moves
        if m.mask.distance
    )
    steps = tuple(_step(move, trace) for move in solution.moves)
    return View(
        members,
        Verdict.PROVED,
        learnt,
        steps,
        _endings(solution),
        statistical,
        composable=composable,
        fresh=fresh,
    )


def _step(move: Move, trace: Trace) -> Step:
    mask: Mask = move.mask
    where = tuple(show_index(i) for i in mask.leaf[1])
    name = trace.atoms[mask.draw].name
    modulus = mask.rest.modulus
    return Step(move.term.number, name, mask.coefficient, mask.divided, modulus, where, mask.distance)


def _endings(solution: Solution) -> tuple[Ended, ...]:
    fresh = {(m.term.number, m.term.part) for m in solution.moves}
    out: list[Ended] = []
    for term in solution.problem.terms:
        how = "fresh" if (term.number, term.part) in fresh else "free"
        out.append(Ended(term.number, term.message, how, term.part))
    return tuple(out)


def _composes(
    trace: Trace, coalition: frozenset[str], allowed: Sequence[ir.Expr], conditions: frozenset[str]
) -> tuple[bool, tuple[str, ...]]:
    """Try every choice of the one honest piece of each output that need not be simulated."""
    shared = [(o, _honest(o, o.holding, coalition)) for o in trace.protocol.outputs if _is_shared(o)]
    choices = [[pieces[:i] + pieces[i + 1 :] for i in range(len(pieces))] or [[]] for _, pieces in shared]
    for number, chosen in enumerate(product(*choices)):
        if number >= MAX_SHARE_CHOICES:
            break
        shares = [piece for pieces in chosen for piece in pieces]
        if not shares:
            return True, tuple(o.name for o, pieces in shared if len(pieces) == 1)
        try:
            solved = solve(make_problem(trace, coalition, allowed, shares, conditions)).solved
        except TooLarge:
            solved = False
        if solved:
            return True, tuple(o.name for o, pieces in shared if pieces)
    return False, ()


def _is_shared(output: ir.Output) -> bool:
    return isinstance(output.holding, ir.Shared)


def _honest(output: ir.Output, holding: ir.Holding, coalition: frozenset[str]) -> list[tuple[str, str]]:
    """(a holder, variable) of every piece that no member of the coalition holds."""
    pieces = holding.pieces if isinstance(holding, ir.Shared) else ()
    return [(p.holders[0], f"{output.name}.{p.label}") for p in pieces if not coalition & set(p.holders)]
