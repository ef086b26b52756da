"""`pllm coverage`, `show`, `explain`, `init` and `fmt` as a user calls them."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from pllm_lang.cli.app import app
from pllm_lang.verify.registry import rule_codes
from tests.corpus_harness import CORPUS

REFUSED = str(CORPUS / "reports" / "R08_refused.pllm")
ACCEPTED = str(CORPUS / "reports" / "R08_accepted.pllm")


def pllm(*arguments: str, stdin: bytes | None = None) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(arguments), standalone_mode=False, input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.return_value or 0, result.output


def test_coverage_names_every_gap() -> None:
    code, text = pllm("coverage", REFUSED, "--format", "json")
    document = json.loads(text)
    assert (code, document["schema"], document["complete"]) == (1, "pllm.lang.coverage.v1", False)
    missing = {row["subject"] for row in document["rows"] if row["level"] == "missing"}
    assert missing == {"cast", "gather", "relu"}
    aspects = {row["subject"]: row["aspect"] for row in document["rows"]}
    assert (aspects["cast"], aspects["relu"]) == ("conversion", "operator")
    assert all(place.startswith(REFUSED) for row in document["rows"] for place in row["places"])


def test_coverage_of_an_accepted_plan_is_complete() -> None:
    code, text = pllm("coverage", ACCEPTED)
    assert code == 0
    assert text.rstrip().endswith("complete")


def test_coverage_of_an_absent_plan_says_which_there_are() -> None:
    code, text = pllm("coverage", f"{ACCEPTED}:absent")
    assert code == 2
    assert "absent" in text
    assert "head" in text


@pytest.mark.parametrize(
    ("stage", "expected"),
    [("syntax", "Step"), ("resolved", "component std.methods"), ("ir", "%"), ("bounds", "in [")],
)
def test_show(stage: str, expected: str) -> None:
    code, text = pllm("show", ACCEPTED, "--stage", stage)
    assert code == 0
    assert expected in text


@pytest.mark.parametrize("code", rule_codes())
def test_explain_prints_the_page_of_every_rule(code: str) -> None:
    status, text = pllm("explain", code)
    assert status == 0
    assert text.startswith(f"# {code}\n")
    assert "## Refused" in text
    assert "## Accepted" in text


def test_explain_of_an_unknown_code_suggests_one() -> None:
    status, text = pllm("explain", "bounds.overflw")
    assert status == 2
    assert "bounds.overflow" in text


def test_init_writes_a_plan_that_is_accepted_and_keeps_what_is_there(tmp_path: Path) -> None:
    assert pllm("init", str(tmp_path))[0] == 0
    assert pllm("check", "--no-cache", str(tmp_path / "first.pllm"))[0] == 0
    assert pllm("fmt", "--check", str(tmp_path / "first.pllm"))[0] == 0
    (tmp_path / "first.pllm").write_text("mine")
    assert "kept" in pllm("init", str(tmp_path))[1]
    assert (tmp_path / "first.pllm").read_text() == "mine"


UGLY = "pllm 1\nconst   a=1\nconst b =   2\n"


def test_fmt(tmp_path: Path) -> None:
    path = tmp_path / "a.pllm"
    path.write_text(UGLY)
    assert pllm("fmt", "--check", str(path))[0] == 1
    code, diff = pllm("fmt", "--diff", str(path))
    assert code == 1
    assert "-const   a=1" in diff
    assert path.read_text() == UGLY
    assert pllm("fmt", str(path))[0] == 0
    assert pllm("fmt", "--check", str(path)) == (0, "")
    assert pllm("fmt", "-", stdin=UGLY.encode()) == (0, path.read_text())


def test_fmt_leaves_a_broken_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.pllm"
    path.write_text("pllm 1\nplan p {\n")
    assert pllm("fmt", str(path))[0] == 1
    assert path.read_text() == "pllm 1\nplan p {\n"
