"""Several files in one call: each plan has the verdict of what it rests on, and plans of one name are told apart."""

import json
from pathlib import Path

from tests.cli.process import pllm

GOOD = """pllm 1

import std.formats [int8, int32]

plan layer {
  input x: int8[4] from client
  y = cast(x, to: int32) @ client
  output y to client
}
"""
STOCK = """pllm 1

stock shared {
  of: correction
  count: 10
  provider: preparation
}
"""
BAD = GOOD + STOCK.replace("pllm 1\n", "").replace("count", "cuont").replace("shared", "own")


def verdicts(folder: Path, *paths: str) -> dict[str, str]:
    done = pllm(folder, "check", "--format", "json", *paths)
    return {Path(one["file"]).name: one["verdict"] for one in json.loads(done.stdout)["plans"]}


def test_an_error_in_another_file_refuses_no_plan_that_does_not_rest_on_it(tmp_path: Path) -> None:
    (tmp_path / "good.pllm").write_text(GOOD)
    (tmp_path / "bad.pllm").write_text(BAD)
    assert verdicts(tmp_path, ".") == {"good.pllm": "accepted", "bad.pllm": "refused"}
    assert pllm(tmp_path, "check", ".").returncode == 1


def test_an_error_reaches_all_that_are_joined_by_imports(tmp_path: Path) -> None:
    """What could not be read may use up the stock that another file draws from."""
    (tmp_path / "stock.pllm").write_text(STOCK)
    joined = 'import "stock.pllm" [shared]\nimport std.formats'
    (tmp_path / "good.pllm").write_text(GOOD.replace("import std.formats", joined))
    (tmp_path / "bad.pllm").write_text(BAD.replace("import std.formats", joined))
    (tmp_path / "apart.pllm").write_text(GOOD)
    expected = {"good.pllm": "refused", "bad.pllm": "refused", "apart.pllm": "accepted"}
    assert verdicts(tmp_path, "good.pllm", "bad.pllm", "apart.pllm") == expected


def test_an_error_in_a_file_that_was_not_asked_for_refuses_all(tmp_path: Path) -> None:
    (tmp_path / "stock.pllm").write_text(STOCK.replace("count", "cuont"))
    (tmp_path / "uses.pllm").write_text(
        GOOD.replace("import std.formats", 'import "stock.pllm" [shared]\nimport std.formats')
    )
    assert set(verdicts(tmp_path, "uses.pllm").values()) == {"refused"}


def test_plans_of_one_name_are_told_with_their_files(tmp_path: Path) -> None:
    (tmp_path / "good.pllm").write_text(GOOD)
    (tmp_path / "bad.pllm").write_text(BAD)
    told = pllm(tmp_path, "check", ".").stdout
    assert "layer of good.pllm: accepted" in told
    assert "layer of bad.pllm: refused" in told
    assert "\nlayer: refused" in pllm(tmp_path, "check", "bad.pllm").stdout
