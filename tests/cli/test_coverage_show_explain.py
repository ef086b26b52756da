"""`pllm coverage`, `show`, `explain`, `init` and `fmt` as a user calls them."""

import json
from pathlib import Path

import click
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
    (relu,) = (row for row in document["rows"] if row["subject"] == "relu")
    assert relu["places"] == [{"file": REFUSED, "line": 16, "column": 12}]


def test_coverage_of_an_accepted_plan_is_complete() -> None:
    code, text = pllm("coverage", ACCEPTED)
    assert code == 0
    assert text.rstrip().endswith("complete")


def test_coverage_of_an_absent_plan_says_which_there_are() -> None:
    code, text = pllm("coverage", f"{ACCEPTED}:absent")
    assert code == 2
    assert "absent" in text
    assert "head" in text


def test_the_standard_input_is_covered_and_shown_like_a_file() -> None:
    text = Path(ACCEPTED).read_bytes()
    assert pllm("coverage", "-", stdin=text)[1].endswith("head: complete\n")
    assert "component std.methods" in pllm("show", "-", "--stage", "resolved", stdin=text)[1]
    assert pllm("show", "-", "--stage", "ir", stdin=text) == pllm("show", ACCEPTED, "--stage", "ir")
    two = text + text[text.index(b"plan head") :].replace(b"plan head", b"plan other")
    code, told = pllm("coverage", "-", stdin=two)
    assert code == 2
    assert "-- -:head" in told
    assert pllm("coverage", "--", "-:other", stdin=two)[0] == 0


def test_a_report_can_be_written_to_a_file(tmp_path: Path) -> None:
    page = tmp_path / "coverage.html"
    assert pllm("coverage", REFUSED, "--format", "html", "-o", str(page)) == (1, "")
    assert "coverage.no_component" in page.read_text()
    assert pllm("coverage", REFUSED, "-o", str(tmp_path / "no" / "folder"))[0] == 2


CONFIG = str(CORPUS.parent / "data" / "configs" / "real" / "qwen2__Qwen2.5-0.5B.json")


def test_coverage_of_a_config_by_a_pipeline() -> None:
    code, text = pllm("coverage", CONFIG, "--pipeline", "masked_linear_cpu", "--format", "json")
    rows = {(row["aspect"], row["subject"], row["level"]): row for row in json.loads(text)["rows"]}
    assert code == 1, "values, placement and material were not looked at"
    # 24 layers of q, k, v, o, gate, up and down, in prefill and in decode
    assert rows["conversion", "quantize", "covered"]["occurrences"] == 2 * 24 * 7
    assert rows["bound", "down_proj", "covered"]["by"] == "4864 * 127 * 127 = 78451456 is below 2^31"
    assert rows["version", "kernels", "covered"]["by"] == "pllm/cpu version 1"
    assert {level for _, _, level in rows} == {"covered"}


def test_coverage_of_a_config_alone_says_what_was_asked(tmp_path: Path) -> None:
    page = tmp_path / "coverage.json"
    code, hint = pllm("coverage", CONFIG, "--format", "json", "-o", str(page))
    document = json.loads(page.read_text())
    assert (code, document["complete"]) == (1, False)
    assert {row["level"] for row in document["rows"]} == {"open"}
    assert document["not_asked"][0] == "what a pipeline covers (none was named)"
    assert "`--pipeline NAME`" in hint
    assert "masked_linear_cpu" in hint
    _, text = pllm("coverage", CONFIG)
    assert "MISSING" not in text
    rows = len(document["rows"])
    assert (
        f"qwen2: no pipeline was named, so {rows} of {rows} rows are open: each lists what could do it\n"
        in text
    )


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ((CONFIG, "--pipeline", "masked_linear_cp"), 1, "did you mean `masked_linear_cpu`"),
        ((REFUSED, "--pipeline", "masked_linear_cpu"), None, ""),
        (("absent.json",), 2, "no such file"),
        ((str(CORPUS.parent / "data/configs/index.json"),), 1, "error[config."),
    ],
)
def test_coverage_of_what_is_no_config(arguments: tuple[str, ...], code: int | None, told: str) -> None:
    if code is None:
        with pytest.raises(click.BadParameter):
            CliRunner().invoke(app, ["coverage", *arguments], standalone_mode=False, catch_exceptions=False)
        return
    status, text = pllm("coverage", *arguments)
    assert status == code
    assert told in text.lower()


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


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        (b"pllm 1\r\n\r\nconst a = 1\r\n", True),
        (b"pllm 1\n\nconst a = 1\r\n", True),
        (b"pllm 1\r\n\r\nconst a =  1\r\n", False),
        (b"pllm 1\n\nconst a =  1\n", False),
    ],
)
def test_fmt_says_where_only_line_ends_differ(text: bytes, alone: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.pllm"
    path.write_bytes(text)
    said = f"{path}: only its line ends differ (CRLF for LF)\n"
    called = said if alone else f"{path}\n"
    assert pllm("fmt", "--check", str(path)) == (1, f"would format {called}")
    code, told = pllm("fmt", "--diff", str(path))
    assert (code, told.endswith(said)) == (1, alone)
    assert pllm("fmt", str(path)) == (0, f"formatted {called}")
    assert path.read_bytes() == b"pllm 1\n\nconst a = 1\n"


def test_fmt_leaves_a_broken_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.pllm"
    path.write_text("pllm 1\nplan p {\n")
    assert pllm("fmt", str(path))[0] == 1
    assert path.read_text() == "pllm 1\nplan p {\n"
