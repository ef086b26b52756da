"""What a file says, or is called, moves no cursor: control characters come out as their pictures."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.process import pllm

SAID = r"\u001b]0;x\u0007\u202e\u009b2J\nok: accepted"
TEXT = f"""pllm 1

import std.formats [int8]

component odd = "{SAID}" {{
  kind: method
  version: "{SAID}"
  implements: mul
  source: "{SAID}"
  adversaries: [semi_honest]
  assumptions: ["{SAID}"]
  host_features: ["{SAID}"]
  intermediate p: x * y
  requires max_abs(x) < 5 else "{SAID}"
}}

assurance shown {{
  claim: "{SAID}"
  outcome: open
  of: odd
}}

policy one {{
  parties [client]
  adversary semi_honest corrupts 1 of [client]
  learns client: [results]
  requires claim "{SAID}"
}}

plan product under one {{
  input x: int8[4] from client
  y = mul(x, x) using odd
  requires error(y) <= 0 else "{SAID}"
  output y to client
}}
"""
UNTIDY = """pllm 1
import std.formats [int16, int8]
plan p {
 input x: int8[4] from client
 y = neg(x) @ client
 output y to client
}
"""
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
CALLS = (
    "check a.pllm", "check --format concise a.pllm", "check --format github a.pllm", "check --format junit a.pllm",
    "check --format json a.pllm", "check --format sarif a.pllm", "check --format gitlab a.pllm",
    "coverage --format json a.pllm", "cost --format json a.pllm", "diff --format json a.pllm:product a.pllm:product",
    "check --statistics a.pllm", "coverage a.pllm", "coverage --format html a.pllm", "cost a.pllm", "cost --format svg a.pllm",
    "graph a.pllm", "graph --format dot a.pllm", "show a.pllm", "show --stage resolved a.pllm", "show --stage bounds a.pllm",
    "show --stage roles a.pllm", "show --stage views a.pllm", "compile a.pllm", "diff a.pllm:product a.pllm:product",
)  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_what_a_record_says(tmp_path: Path, call: str) -> None:
    (tmp_path / "a.pllm").write_text(TEXT, encoding="utf-8")
    done = pllm(tmp_path, *call.split())
    assert done.stdout + done.stderr
    assert HIDDEN.findall(done.stdout + done.stderr) == []
    if "--format" not in call:  # where a line is one thing that is said
        assert not re.search("^ok: accepted", done.stdout + done.stderr, re.MULTILINE)


@pytest.mark.parametrize("form", ["json", "sarif", "gitlab"])
def test_a_document_says_what_the_record_says(tmp_path: Path, form: str) -> None:
    """Escapes change nothing of what a program reads."""
    (tmp_path / "a.pllm").write_text(TEXT, encoding="utf-8")
    said = json.loads(f'"{SAID}"')
    assert any(
        said in text for text in texts(json.loads(pllm(tmp_path, "check", "--format", form, "a.pllm").stdout))
    )


def texts(document: object) -> list[str]:
    if isinstance(document, str):
        return [document]
    inside = (
        document.values() if isinstance(document, dict) else document if isinstance(document, list) else ()
    )
    return [text for one in inside for text in texts(one)]


@pytest.mark.parametrize(
    "call", ["check .", "fmt --check .", "fmt --diff .", "check --fix --diff .", "check --fix .", "fmt ."]
)
def test_what_a_file_is_called(tmp_path: Path, call: str) -> None:
    name = "x\x1b]0;x\x07.pllm"
    (tmp_path / name).write_text(UNTIDY, encoding="utf-8")
    done = pllm(tmp_path, *call.split())
    assert "\u241b" in done.stdout + done.stderr
    assert HIDDEN.findall(done.stdout + done.stderr) == []


TAKEN = f"""pllm 1

import std.formats [int8, int32]

## The sum of two tensors.
component sum = "other/sum" {{
  kind: method
  version: "1"
  implements: add
  carrier: ring(32)
  assumptions: ["{SAID}"]
  ensures error(z) <= 0
}}

plan sums {{
  input a: int32[4] from client where abs(a) <= 100
  input b: int32[4] from client where abs(b) <= 100
  y = add(a, b) using sum
  output y to client
}}
"""


def test_what_an_accepted_plan_takes_for_granted(tmp_path: Path) -> None:
    (tmp_path / "a.pllm").write_text(TAKEN, encoding="utf-8")
    (tmp_path / "b.pllm").write_text(TAKEN.replace("ok: accepted", "better"), encoding="utf-8")
    calls = "check a.pllm", "compile a.pllm -o a.json", "replay a.json", "diff a.pllm:sums b.pllm:sums"
    for call in calls:
        done = pllm(tmp_path, *call.split())
        assert HIDDEN.findall(done.stdout + done.stderr) == [], call
        assert "refused" not in done.stdout + done.stderr, (call, done.stdout)
    assert "J\u240aok: accepted" in pllm(tmp_path, "replay", "a.json").stdout


@pytest.mark.parametrize("text", ['{"schema": "\\u001b]0;x\\u0007"}', '{"\\u001b]0;x": 1, "\\u001b]0;x": 2}'])
def test_what_a_lock_says(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    done = pllm(tmp_path, "replay", "a.json")
    assert "refused" in done.stdout + done.stderr
    assert HIDDEN.findall(done.stdout + done.stderr) == []
