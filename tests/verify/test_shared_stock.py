"""Experiments on one stock are added up as long as there are few of them; of many nothing is worked out."""

from __future__ import annotations

from pathlib import Path

from pllm_lang.catalog.load import open_project
from pllm_lang.catalog.records import Record
from pllm_lang.text.finding import Verdict
from pllm_lang.verify import experiments
from pllm_lang.verify.experiments import MAX_SHARING, check_record

HEAD = """pllm 1
import std.formats [int8]
import std.components [masked_linear]
import std.policies [single_evaluator]

plan layer under single_evaluator {
  input x: int8[2, 4] from client where abs(x) <= 1
  weight w: int8[4, 4] public
  y = linear(x, w) using masked_linear(bits: 32)
  output y to client
}

stock corrections {
  of: correction
  count: COUNT
  provider: preparation
  ring_bits: 32
  fresh: true
}
"""

EXPERIMENT = """
experiment eNUMBER {
  plan: layer
  stock: [corrections]
  budget: { requests: 1 }
}
"""


def judged(others: int, count: int) -> tuple[set[Verdict], int]:
    """Verdicts of `material.shared` for the first experiment, and how many plans were checked for it."""
    text = HEAD.replace("COUNT", str(count))
    text += "".join(EXPERIMENT.replace("NUMBER", str(number)) for number in range(others + 1))
    path = str(Path("plan.pllm").resolve())
    opened = open_project([path], str(Path.cwd()), {path: text})
    record = next(
        found
        for key in opened.library.keys("experiment")
        if isinstance(found := opened.library.get(key), Record) and found.name == "e0"
    )
    checked: list[str] = []

    def counted(*args: object) -> experiments.PlanReport:
        checked.append("a plan")
        return experiments.check_declared(*args)  # pyright: ignore[reportArgumentType]

    report = check_record(opened.project, opened.library, record, counted).report
    found = {f.verdict for f in report.findings if f.code == "material.shared" and f.verdict is not None}
    found |= {o.verdict for o in report.obligations if o.code == "material.shared"}
    return found, len(checked)


def test_as_many_as_are_added_up() -> None:
    whole = 2 * (MAX_SHARING + 1)
    assert judged(MAX_SHARING, whole)[0] == {Verdict.PROVED}
    assert judged(MAX_SHARING, whole - 1)[0] == {Verdict.REFUTED}


def test_of_more_nothing_is_worked_out() -> None:
    verdicts, checked = judged(MAX_SHARING + 1, 10**6)
    assert verdicts == {Verdict.UNPROVED}
    assert checked == 1


def test_experiments_of_one_stock_are_looked_at_once_each() -> None:
    text = HEAD.replace("COUNT", "11")
    text += "".join(EXPERIMENT.replace("NUMBER", str(number)) for number in range(6))
    path = str(Path("plan.pllm").resolve())
    opened = open_project([path], str(Path.cwd()), {path: text})
    found = (opened.library.get(key) for key in opened.library.keys("experiment"))
    own = [record for record in found if isinstance(record, Record)]
    checked: list[str] = []

    def counted(*args: object) -> experiments.PlanReport:
        checked.append("a plan")
        return experiments.check_declared(*args)  # pyright: ignore[reportArgumentType]

    seen = experiments.Seen()
    together = [check_record(opened.project, opened.library, one, counted, seen) for one in own]
    assert len(checked) == len(own) == 6
    alone = [check_record(opened.project, opened.library, one) for one in own]
    assert [one.report.findings for one in together] == [one.report.findings for one in alone]
    assert [one.experiment.drawn for one in together] == [one.experiment.drawn for one in alone]
    assert all(one.experiment.drawn and not one.report.accepted for one in together)
    assert not seen.subjects
