"""Output for other programs: each format says the same, is well-formed, and cannot be broken into by a name or a message."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from urllib.parse import unquote

import pytest
from jsonschema import Draft4Validator

from tests.cli.process import pllm

SARIF = Draft4Validator(
    json.loads(
        (Path(__file__).parents[1] / "data" / "sarif" / "sarif-2.1.0.json").read_text(encoding="utf-8")
    )
)
# Two errors and two warnings, of which one is suppressed; the first error stands behind letters outside of the 16-bit plane.
TEXT = """pllm 1

import std.formats [int8, int16]
import std.formats [int64]  # pllm: allow[names.unused] kept for the next layer

plan p {
  input x: int8[4] from client where abs(x) <= 100
  ## 𝒳𝒴
  y = add(x, x) @ client
  z = neg(x)
  output y to client
  output z to client
}
"""
CODES = {"bounds.overflow": "error", "coverage.no_component": "error", "names.unused": "warning"}
HOSTILE = [
    "a\n::error file=x::owned\nb",
    "a%0A::warning::b,c:d",
    "quote\"<>&'",
    "]]><failure/>",
    "bell\x07esc\x1b[31m",
    "ümlaut 𝒳 \u202eright",
]


def text_with(name: str) -> str:
    """A plan whose findings quote `name`."""
    return f"pllm 1\n\nimport {json.dumps(name, ensure_ascii=False)} [thing]\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bad.pllm").write_text(TEXT)
    return tmp_path


def said(folder: Path, format_: str, *more: str) -> str:
    done = pllm(folder, "check", "--format", format_, *more, "bad.pllm")
    assert done.returncode == 1, done.stderr
    return done.stdout


def test_every_format_is_listed(folder: Path) -> None:
    help_ = pllm(folder, "check", "--help").stdout
    for name in ("concise", "full", "github", "gitlab", "json", "junit", "sarif"):
        assert name in help_


def test_sarif_is_valid_and_says_everything(folder: Path) -> None:
    document = json.loads(said(folder, "sarif"))
    SARIF.validate(document)
    (run,) = document["runs"]
    shown = [one for one in run["results"] if not one["suppressions"]]
    assert {one["ruleId"]: one["level"] for one in shown} == CODES
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    assert all(rule["help"]["markdown"].startswith(f"# {rule['id']}\n") for rule in rules)
    (hidden,) = [one for one in run["results"] if one["suppressions"]]
    assert hidden["suppressions"] == [{"kind": "inSource", "justification": "kept for the next layer"}]


def test_sarif_places_count_utf_16(folder: Path) -> None:
    (run,) = json.loads(said(folder, "sarif"))["runs"]
    region = next(
        one["locations"][0]["physicalLocation"]["region"]
        for one in run["results"]
        if one["ruleId"] == "bounds.overflow"
    )
    units = TEXT.encode("utf-16-le")
    assert (region["startLine"], region["startColumn"]) == (9, 3)
    assert units[2 * region["charOffset"] :].decode("utf-16-le").startswith("y = add")


def test_sarif_fixes_give_the_text_that_fix_gives(folder: Path) -> None:
    (run,) = json.loads(said(folder, "sarif"))["runs"]
    unused = next(
        one for one in run["results"] if one["ruleId"] == "names.unused" and not one["suppressions"]
    )
    (replacement,) = unused["fixes"][0]["artifactChanges"][0]["replacements"]
    region, units = replacement["deletedRegion"], TEXT.encode("utf-16-le")
    start, end = 2 * region["charOffset"], 2 * (region["charOffset"] + region["charLength"])
    changed = units[:start] + replacement["insertedContent"]["text"].encode("utf-16-le") + units[end:]
    pllm(folder, "check", "--fix", "bad.pllm")
    assert changed.decode("utf-16-le") == (folder / "bad.pllm").read_text()


def test_github(folder: Path) -> None:
    lines = said(folder, "github").splitlines()
    assert [line.split(" ")[0] for line in lines] == ["::error", "::error", "::warning"]
    assert lines[0].startswith(
        "::error file=bad.pllm,line=10,col=7,endLine=10,endColumn=13,title=coverage.no_component::"
    )


def test_gitlab(folder: Path) -> None:
    issues = json.loads(said(folder, "gitlab"))
    assert [(one["check_name"], one["severity"]) for one in issues] == [
        ("coverage.no_component", "critical"),
        ("bounds.overflow", "critical"),
        ("names.unused", "minor"),
    ]
    assert [one["location"]["lines"]["begin"] for one in issues] == [10, 9, 3]
    assert len({one["fingerprint"] for one in issues}) == 3


def test_fingerprints_stay_when_lines_come_above(folder: Path) -> None:
    before = json.loads(said(folder, "gitlab"))
    (folder / "bad.pllm").write_text(TEXT.replace("pllm 1\n", "pllm 1\n\n# more\n\n"))
    after = json.loads(said(folder, "gitlab"))
    assert [one["fingerprint"] for one in after] == [one["fingerprint"] for one in before]
    assert [one["location"]["lines"]["begin"] for one in after] == [13, 12, 6]


def test_junit(folder: Path) -> None:
    root = ET.fromstring(said(folder, "junit"))
    assert (root.tag, root.get("tests"), root.get("failures")) == ("testsuites", "3", "2")
    (suite,) = root
    assert [case.find("failure") is not None for case in suite] == [True, True, False]
    (folder / "bad.pllm").write_text(
        TEXT.replace("= add(x, x)", "= neg(x)")
        .replace("= neg(x)\n", "= neg(x) @ client\n")
        .replace(", int16", "")
    )
    done = pllm(folder, "check", "--format", "junit", "bad.pllm")
    assert done.returncode == 0
    (suite,) = ET.fromstring(done.stdout)
    assert [(case.get("name"), len(case)) for case in suite] == [("p", 0)]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_name_breaks_no_format(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "inner"
    folder.mkdir()
    file = name.replace("/", "_") + ".pllm"
    (folder / file).write_text(TEXT)
    out = {
        f: pllm(folder, "check", "--format", f, ".").stdout
        for f in ("github", "junit", "gitlab", "sarif", "concise")
    }
    assert len(out["github"].splitlines()) == len(out["concise"].splitlines()) - 1 == 3
    assert all(line.startswith(("::error file=", "::warning file=")) for line in out["github"].splitlines())
    assert not [
        char for char in out["github"] + out["junit"] + out["concise"] if ord(char) < 32 and char != "\n"
    ]
    assert len(ET.fromstring(out["junit"])[0].findall("testcase")) == 3
    assert {one["location"]["path"] for one in json.loads(out["gitlab"])} == {file}
    document = json.loads(out["sarif"])
    SARIF.validate(document)
    uris = {
        one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for one in document["runs"][0]["results"]
    }
    assert {unquote(uri) for uri in uris} == {file}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_message_breaks_no_format(name: str, folder: Path) -> None:
    (folder / "bad.pllm").write_text(text_with(name))
    n_found = len(json.loads(said(folder, "json"))["findings"])
    lines = said(folder, "github").splitlines()
    assert len(lines) == n_found
    assert all(line.startswith(("::error file=bad.pllm,", "::warning file=bad.pllm,")) for line in lines)
    assert len(ET.fromstring(said(folder, "junit"))[0].findall("testcase")) == n_found
    assert len(json.loads(said(folder, "gitlab"))) == n_found
    SARIF.validate(json.loads(said(folder, "sarif")))


def test_a_file_name_that_is_not_utf_8_is_a_wrong_call(tmp_path: Path) -> None:
    folder = tmp_path / "inner"
    folder.mkdir()
    with open(bytes(folder) + b"/odd\xff.pllm", "w") as stream:
        stream.write(TEXT)
    for arguments in (["check"], ["check", "--format", "json"], ["fmt"]):
        done = pllm(folder, *arguments, ".")
        assert done.returncode == 2
        assert "odd\\udcff.pllm is not UTF-8" in done.stderr
        assert "Traceback" not in done.stderr


def test_statistics(folder: Path) -> None:
    counted = pllm(folder, "check", "--statistics", "bad.pllm")
    assert counted.returncode == 1
    assert counted.stdout.splitlines() == [
        "1  bounds.overflow        error",
        "1  coverage.no_component  error, 1 fixable",
        "1  names.unused           warning, 1 fixable",
    ]
    document = json.loads(said(folder, "json", "--statistics"))
    assert document["schema"] == "pllm.lang.statistics.v1"
    assert [one["count"] for one in document["statistics"]] == [1, 1, 1]


def test_colours_only_on_a_terminal(folder: Path) -> None:
    assert "\x1b" not in said(folder, "full")
    assert "\x1b" not in said(folder, "concise")


def on_a_terminal(folder: Path, **environment: str) -> str:
    """What a terminal gets to see."""
    ours, theirs = os.openpty()
    with os.fdopen(theirs, "wb") as stream:
        subprocess.run(
            [sys.executable, "-m", "pllm_lang.cli.main", "check", "--no-cache", "bad.pllm"],
            cwd=folder, stdout=stream, check=False, env=os.environ | {"TERM": "xterm", "NO_COLOR": ""} | environment,
        )  # fmt: skip
        seen = os.read(ours, 100_000)
    os.close(ours)
    return seen.decode()


def test_a_terminal_has_colours_unless_it_wants_none(folder: Path) -> None:
    assert "\x1b[1;31merror" in on_a_terminal(folder)
    assert "\x1b" not in on_a_terminal(folder, NO_COLOR="1")
    assert "\x1b" not in on_a_terminal(folder, TERM="dumb")


def test_a_configured_format(folder: Path) -> None:
    (folder / "pllm.toml").write_text('format = "gitlab"\n')
    assert len(json.loads(pllm(folder, "check", "bad.pllm").stdout)) == 3
    (folder / "pllm.toml").write_text('format = "../poem"\n')
    done = pllm(folder, "check", "bad.pllm")
    assert done.returncode == 2
    assert "there is no format `../poem`" in done.stderr


def test_version(folder: Path) -> None:
    assert "0.1.0" in pllm(folder, "--version").stdout
