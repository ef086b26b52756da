"""The prover against complete enumeration, on random protocols; and what each side condition is for."""

from __future__ import annotations

from collections import Counter

import pytest

from pllm_lang.text.finding import Verdict
from pllm_lang.verify.protocol.problem import CONDITIONS
from tests.protocol.judging import Case, figures

CASES = 5000
SEARCHED = 12_000


@pytest.fixture(scope="module")
def counts() -> Counter[str]:
    return figures(CASES, seed=3, leaks_every=17)


def test_no_leaking_protocol_is_accepted(counts: Counter[str]) -> None:
    assert counts["cases"] == CASES
    assert counts["wrongly accepted"] == 0


def test_no_independent_protocol_is_refuted(counts: Counter[str]) -> None:
    assert counts["leaks shown"] > 0
    assert counts["wrongly refuted"] == 0


def test_the_cases_are_worth_it(counts: Counter[str]) -> None:
    assert counts["independent"] >= 0.3 * CASES
    assert counts["leaking"] >= 0.3 * CASES
    assert counts["pairs"] >= 0.15 * CASES


def test_most_independent_protocols_are_proved(counts: Counter[str]) -> None:
    assert counts["non-trivial"] >= 0.2 * CASES
    assert counts["non-trivial proved"] >= 0.85 * counts["non-trivial"]


def test_most_leaks_are_shown(counts: Counter[str]) -> None:
    assert counts["leaks shown"] >= 0.8 * counts["leaks looked for"]


@pytest.fixture(scope="module")
def accepted_without() -> dict[str, int]:
    """For each condition the first leaking case that is accepted once the condition is left out."""
    found: dict[str, int] = {}
    for number in range(SEARCHED):
        case = Case(number, seed=4)
        if case.independent:
            continue
        for condition in sorted(CONDITIONS - set(found)):
            if case.view(condition).verdict is Verdict.PROVED:
                found[condition] = number
        if len(found) == len(CONDITIONS):
            break
    return found


@pytest.mark.parametrize("condition", sorted(CONDITIONS))
def test_every_condition_is_needed(accepted_without: dict[str, int], condition: str) -> None:
    number = accepted_without[condition]
    case = Case(number, seed=4)
    assert not case.independent
    assert case.view().verdict is not Verdict.PROVED
    assert case.view(condition).verdict is Verdict.PROVED
