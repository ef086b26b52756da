"""Verdicts of random plans against exact execution: accepted plans never overflow, witnesses really do."""

import os
import re
from fractions import Fraction
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pllm_lang.cli.checking import check_files
from pllm_lang.text.finding import Finding, Verdict
from tests.verify.random_plans import N, RandomPlan, first_overflow, matrices, plans

EXAMPLES = int(os.environ.get("PLLM_RANDOM_PLANS", "200"))
FEW = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


def findings(plan: RandomPlan, widen: int = 0) -> tuple[Finding, ...]:
    name = "/virtual/plan.pllm"
    return check_files([name], str(Path(name).parent), {name: plan.text(widen)}).findings


def bounds(found: tuple[Finding, ...]) -> list[Finding]:
    """The refusals; only unused inputs and overflows can occur in these plans."""
    assert all(f.code in ("bounds.overflow", "names.unused") for f in found), [
        (f.code, f.message) for f in found
    ]
    return [finding for finding in found if finding.code == "bounds.overflow"]


@FEW
@given(plans(), st.data())
def test_nothing_leaves_its_format_in_an_accepted_plan(plan: RandomPlan, data: st.DataObject) -> None:
    if bounds(findings(plan)):
        return
    inputs = {one.name: data.draw(matrices(one)) for one in plan.given}
    assert first_overflow(plan, inputs) == ""


WITNESS = re.compile(r"(\w+): (?:all entries (\S+)|first entry (\S+), the rest 0)")


@FEW
@given(plans())
def test_every_witness_overflows_where_it_says(plan: RandomPlan) -> None:
    for finding in bounds(findings(plan)):
        if finding.verdict is not Verdict.REFUTED:
            continue
        inputs = {one.name: ((one.low,) * N,) * N for one in plan.given}
        for name, every, first in WITNESS.findall(finding.data["witness"].replace(";", " ")):
            inputs[name] = _matrix(every, first)
        for one in plan.given:
            assert all(one.low <= entry <= one.high for row in inputs[one.name] for entry in row)
        assert first_overflow(plan, inputs) != ""


def _matrix(every: str, first: str) -> tuple[tuple[int, ...], ...]:
    if every:
        return ((_whole(every),) * N,) * N
    hot = _whole(first)
    return tuple(tuple(hot if (i, j) == (0, 0) else 0 for j in range(N)) for i in range(N))


def _whole(text: str) -> int:
    value = Fraction(text.rstrip(","))
    assert value.denominator == 1
    return int(value)


@FEW
@given(plans(), st.integers(1, 5))
def test_widening_the_inputs_never_turns_a_refusal_into_acceptance(plan: RandomPlan, widen: int) -> None:
    if not bounds(findings(plan, widen)):
        assert not bounds(findings(plan))


def test_the_random_plans_are_neither_all_accepted_nor_all_refused() -> None:
    seen: list[bool] = []

    @settings(
        max_examples=60,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(plans())
    def collect(plan: RandomPlan) -> None:
        seen.append(bool(bounds(findings(plan))))

    collect()
    assert 0.15 < sum(seen) / len(seen) < 0.85
