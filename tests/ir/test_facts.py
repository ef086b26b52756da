"""Facts files: what is true of a checkpoint bounds weights, what was seen on data is assumed."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from pllm_lang.catalog.load import open_project
from pllm_lang.ir.lower.plan import Lowered, lower_plan
from pllm_lang.ir.plan import Bound
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.finding import Finding

CHECKPOINT = "sha256:" + "0" * 64
PLAN = """pllm 1
format fx = fixed(64, 18)
plan p {
  facts "f.json"
  input x: fx[2, 3] from client where abs(x) <= 12
  weight w: fx[3, 3] public where abs(w) <= 4
  weight v[0..<2]: fx[3, 3] public
  y = linear(x, w)
  z = linear(x, v[1])
  output y to client
  output z to client
}
"""


def lowered(tmp_path: Path, facts: dict[str, dict[str, str]], calibrated: list[str] | None = None) -> Lowered:
    document = {
        "schema": "pllm.lang.facts.v1",
        "checkpoint": CHECKPOINT,
        "facts": facts,
        "calibrated": calibrated or [],
    }
    (tmp_path / "f.json").write_text(json.dumps(document))
    path = tmp_path / "p.pllm"
    path.write_text(PLAN)
    opened = open_project([str(path)], str(tmp_path))
    name = opened.project.main[0]
    plan = next(d for d in opened.project.modules[name].file.decls if isinstance(d, syn.Plan))
    return lower_plan(opened.project, opened.library, name, plan)


def codes(findings: tuple[Finding, ...]) -> list[str]:
    return [finding.code for finding in findings]


def test_facts_of_a_weight_meet_what_the_plan_says(tmp_path: Path) -> None:
    plan = lowered(tmp_path, {"w": {"min": "-5", "max": "3", "row_norm1": "64"}}).plan
    weight = plan.weights[0]
    assert weight.facts_key == CHECKPOINT
    assert weight.assumed == ()
    assert set(weight.bounds) == {
        Bound("max_abs", "<=", "4"),
        Bound("max", "<=", "3"),
        Bound("min", ">=", "-5"),
        Bound("row_norm1", "<=", "64"),
    }


def test_squared_norms_become_bounds_from_above(tmp_path: Path) -> None:
    plan = lowered(tmp_path, {"w": {"row_norm2_sq": "9/4", "col_norm2_sq": "2"}}).plan
    bounds = {bound.slot: Fraction(bound.limit) for bound in plan.weights[0].bounds}
    assert bounds["row_norm2"] == Fraction(3, 2)
    assert 2 <= bounds["col_norm2"] ** 2 < 2 + Fraction(1, 10**9)


def test_a_family_has_the_weakest_of_its_members(tmp_path: Path) -> None:
    plan = lowered(tmp_path, {"v[0]": {"row_norm1": "7", "max": "1"}, "v.1": {"row_norm1": "9"}}).plan
    assert plan.weights[1].bounds == (Bound("row_norm1", "<=", "9"),)


def test_a_family_with_a_missing_member_has_none(tmp_path: Path) -> None:
    assert lowered(tmp_path, {"v[0]": {"row_norm1": "7"}}).plan.weights[1].bounds == ()


def test_one_entry_can_speak_of_all_members(tmp_path: Path) -> None:
    assert lowered(tmp_path, {"v": {"max": "7"}}).plan.weights[1].bounds == (Bound("max", "<=", "7"),)


@pytest.mark.parametrize("calibrated", [["x"], []])
def test_what_was_seen_of_an_input_is_kept_apart(tmp_path: Path, calibrated: list[str]) -> None:
    item = lowered(tmp_path, {"x": {"max": "5"}}, calibrated).plan.inputs[0]
    stated, seen = Bound("max_abs", "<=", "12"), Bound("max", "<=", "5")
    assert item.assumed == ((seen,) if calibrated else ())
    assert set(item.bounds) == ({stated} if calibrated else {stated, seen})


def test_what_is_said_of_a_result_is_assumed(tmp_path: Path) -> None:
    found = lowered(tmp_path, {"y": {"min": "-3", "max": "5"}})
    first, second = found.plan.stages[0].body
    assert first.assumes == (Bound("max", "<=", "5"), Bound("min", ">=", "-3"))  # type: ignore[union-attr]
    assert second.assumes == ()  # type: ignore[union-attr]


def test_facts_of_nothing_in_the_plan_are_a_warning(tmp_path: Path) -> None:
    assert codes(lowered(tmp_path, {"ww": {"max": "7"}}).findings) == ["facts.unused"]
    assert codes(lowered(tmp_path, {"w": {"max": "7"}, "ww": {"max": "7"}}).findings) == []
