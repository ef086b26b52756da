"""Random protocols against replay: whatever moves are claimed, no view that leaks is accepted.

The truth is complete enumeration (`tests/protocol/enumeration.py`), which knows no terms. Tried are the moves that the prover
finds, those that it finds with one of its conditions left out, and every sequence of moves that a search over messages, draws and
coefficients comes by.
"""

from __future__ import annotations

from collections import Counter

import pytest

from pllm_lang.artifacts.lock_data import Move
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.artifacts.replay.run import Run, run
from pllm_lang.artifacts.replay.view_rule import proves_view
from pllm_lang.ir import protocol as p
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.protocol.problem import CONDITIONS
from pllm_lang.verify.protocol.report import View
from tests.protocol.judging import Case

CASES = 700
NODES = 120
SEED = 77


def moves_of(view: View) -> tuple[Move, ...]:
    return tuple(
        Move(s.term, s.draw, str(s.coefficient), str(s.divided), str(s.modulus), s.distance)
        for s in view.steps
    )


def proves(done: Run, coalition: frozenset[str], moves: tuple[Move, ...]) -> bool | None:
    """None where a move itself is refused."""
    try:
        proves_view(done, coalition, moves)
    except ReplayError as problem:
        return False if "shows something" in problem.message else None
    return True


def found_by_search(done: Run, coalition: frozenset[str]) -> bool:
    """Whether some sequence of moves is accepted."""
    draws = [line for line in done.protocol.body if isinstance(line, p.Draw)]
    candidates = [
        Move(term, line.name, str(coefficient), str(divided), str(line.type.number.modulus))
        for line in draws
        if isinstance(line.type.number, p.Ring)
        for term in range(len(done.sent))
        for coefficient in {1, line.type.number.modulus - 1}
        for divided in (1, 2)
    ]
    left, seen = [()], 0
    while left and seen < NODES:
        moves = left.pop()
        for one in candidates:
            seen += 1
            ended = proves(done, coalition, (*moves, one))
            if ended:
                return True
            if ended is False and len(moves) < 3:
                left.append((*moves, one))
    return False


@pytest.fixture(scope="module")
def counts() -> Counter[str]:
    found: Counter[str] = Counter()
    for number in range(CASES):
        case = Case(number, SEED)
        found["leaking" if not case.independent else "independent"] += 1
        try:
            done = run(case.protocol)
        except ReplayError:
            found["not followed"] += 1
            continue
        right = case.view()
        tried = (
            [case.view(without) for without in ("", *sorted(CONDITIONS))] if not case.independent else [right]
        )
        accepted = any(
            proves(done, case.coalition, moves_of(view)) for view in (*tried, View((), Verdict.PROVED))
        )
        if not case.independent:
            accepted = accepted or found_by_search(done, case.coalition)
            found["wrongly accepted"] += accepted
        elif right.verdict is Verdict.PROVED and case.pair is None:
            found["proved"] += 1
            found["proved again"] += accepted
    return found


def test_no_leaking_view_is_accepted(counts: Counter[str]) -> None:
    assert counts["wrongly accepted"] == 0


def test_the_cases_are_worth_it(counts: Counter[str]) -> None:
    assert counts["leaking"] > CASES * 0.3
    assert counts["independent"] > CASES * 0.3
    assert counts["not followed"] < CASES * 0.5
    assert counts["proved again"] > counts["proved"] * 0.5
