"""The public failures about protocols, placement and material: code, place, numbers and words of the JSON answer.

Figures are counted by hand from the files: a mask of 90 bits over a value below 2^60 leaves 30; three requests of 100 products
burn 300 triples.
"""

import json

import pytest
from click.testing import CliRunner

from pllm_lang.cli.app import app
from tests.corpus_harness import CORPUS

REPORTS = CORPUS / "reports"

# file, code, text under the span, numbers, words of the message
REFUSED = [
    ("R06_refused", "protocol.scale", "p0: o0", {}, "36 fraction bits and one with 54"),
    ("R06_distance_refused", "protocol.distance", "interactive_truncation", {"value": "30", "limit": "40"}, "the mask `m`"),
    ("R09_refused", "placement.reveals", "using open_gather", {}, "`indices` to `server` (here `ids`)"),
    ("R10_refused", "placement.leak", "using beaver_multiply", {}, "`p0` learns"),
    ("R11_refused", "material.used_twice", "bundle tuple", {}, "every execution uses it again"),
    ("R11_refused", "protocol.leak", "client -> p0: y.p0", {"term": "y.p01 - y.p02 = x1 - x2"}, "`p0` learns"),
    ("R11_two_values_refused", "protocol.leak", "client -> p0: v", {"term": "u - v = x - y"}, "`p0` learns"),
    ("R12_refused", "material.shortage", "using beaver_multiply", {"value": "300", "limit": "299"}, "300 of `triple`"),
    (
        "R17_refused",
        "coverage.missing_conversion",
        "x",
        {},
        "no component converts `replicated` to `boolean_shares` against a malicious adversary",
    ),
    ("R18_refused", "protocol.knowledge", "server: looked_at", {}, "server does not hold the key secret_key"),
]  # fmt: skip
ACCEPTED = ("R06", "R09", "R10", "R11", "R12", "R17", "R18")


def checked(name: str) -> dict:
    path = REPORTS / f"{name}.pllm"
    result = CliRunner().invoke(
        app, ["check", "--format", "json", "--no-cache", "--no-dependents", str(path)], standalone_mode=False
    )
    assert result.exception is None, result.exception
    return {"exit": result.return_value, **json.loads(result.output)}


@pytest.mark.parametrize(("name", "code", "under", "numbers", "said"), REFUSED)
def test_refused(name: str, code: str, under: str, numbers: dict[str, str], said: str) -> None:
    document = checked(name)
    assert document["exit"] == 1
    text = (REPORTS / f"{name}.pllm").read_text(encoding="utf-8")
    found = [
        f
        for f in document["findings"]
        if f["code"] == code and text[f["span"]["start"]["offset"] :].startswith(under)
    ]
    assert len(found) == 1
    assert {key: found[0]["data"].get(key) for key in numbers} == numbers
    assert said in found[0]["message"]


@pytest.mark.parametrize("report", ACCEPTED)
def test_accepted(report: str) -> None:
    document = checked(f"{report}_accepted")
    assert (document["exit"], document["findings"]) == (0, [])


def test_the_leaks_of_the_reports_are_executed() -> None:
    for name in ("R10_refused", "R11_refused", "R11_two_values_refused"):
        leaks = [f for f in checked(name)["findings"] if f["code"].endswith(".leak")]
        assert leaks
        assert all(f["verdict"] == "refuted" and f["data"]["witness"] for f in leaks)


@pytest.mark.parametrize(
    "switch",
    [
        ["--ignore", "placement"],
        ["--ignore", "placement.leak"],
        ["--select", "names"],
        ["--format", "concise"],
    ],
)
def test_no_switch_hides_a_leak(switch: list[str]) -> None:
    path = str(REPORTS / "R10_refused.pllm")
    result = CliRunner().invoke(
        app, ["check", "--no-cache", "--no-dependents", *switch, path], standalone_mode=False
    )
    assert result.return_value == 1
    assert "placement.leak" in result.output


def test_a_comment_does_not_hide_a_leak(tmp_path) -> None:
    text = (REPORTS / "R10_refused.pllm").read_text(encoding="utf-8")
    path = tmp_path / "plan.pllm"
    path.write_text(text.replace("#! placement.leak", "# pllm: allow[placement.leak] we trust p0"))
    result = CliRunner().invoke(
        app, ["check", "--no-cache", "--no-dependents", str(path)], standalone_mode=False
    )
    assert result.return_value == 1
    assert "placement.leak" in result.output
