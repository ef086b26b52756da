"""What is proved of every value of a random plan holds in every run: ranges, norms, errors, grids, formats.

PLLM_RANDOM_PLANS raises the number of plans.
"""

import os
from random import Random

import pytest

from pllm_lang.catalog.facts import Facts
from pllm_lang.cli.checking import check_files
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.check import PlanReport
from tests.verify.random_fixed_point import FORMATS, Array, RandomPlan, draw_plan, ends, norms, run

PLANS = int(os.environ.get("PLLM_RANDOM_PLANS", "200"))
RUNS = 4
FIELDS = {
    "norm2": "row_norm2_sq",
    "row_norm1": "row_norm1",
    "col_norm2": "col_norm2_sq",
    "col_norm1": "col_norm1",
}


def checked(plan: RandomPlan) -> PlanReport:
    name = "/virtual/plan.pllm"
    found = check_files([name], "/virtual", {name: plan.text()})
    assert all(f.code.startswith(("bounds.", "names.unused")) for f in found.findings), [
        (f.code, f.message) for f in found.findings
    ]
    return found.reports[0]


def wrong(facts: Facts, form: str, stored: Array, meant: Array) -> list[str]:
    entries = list(stored.flat)
    found = []
    if form in FORMATS and not ends(form)[0] <= min(entries) <= max(entries) <= ends(form)[1]:
        found.append("format")
    if facts.range is not None and not facts.range.low <= min(entries) <= max(entries) <= facts.range.high:
        found.append("range")
    for name, size in norms(stored).items():
        bound = getattr(facts, FIELDS[name])
        found += [name] if bound is not None and size > bound else []
    if (
        facts.error is not None
        and max(abs(p - q) for p, q in zip(entries, meant.flat, strict=True)) > facts.error
    ):
        found.append("error")
    if facts.unit is not None and any((p / facts.unit).denominator != 1 for p in entries):
        found.append("unit")
    return found


@pytest.mark.parametrize("part", range(4))
def test_what_is_proved_holds(part: int) -> None:
    """Values behind one that is not proved are left out: what is said of them takes it for granted."""
    random, accepted, runs = Random(part), 0, 0
    for _ in range(PLANS // 4):
        plan = draw_plan(random)
        report = checked(plan)
        assert report.flow is not None
        accepted += report.accepted
        numbers = {name: value for value, (name, _) in report.source_map.values.items()}
        unproved = {o.subject for o in report.obligations if o.verdict is not Verdict.PROVED}
        for _ in range(RUNS):
            try:
                values = run(plan, random)
            except ZeroDivisionError:
                assert not report.accepted, plan.text()
                continue
            runs += values is not None
            lost = set[str]()
            for one in (*plan.given, *plan.steps) if values is not None else ():
                if numbers[one.name] in unproved or lost.intersection(getattr(one, "operands", ())):
                    lost.add(one.name)
                    continue
                facts = report.flow.facts[numbers[one.name]]
                assert wrong(facts, one.format, *values[one.name]) == [], (one.name, facts, plan.text())
    assert accepted > PLANS // 20
    assert runs > PLANS // 8
