"""`--baseline`: old warnings are hidden, new ones and every error are not."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.cli.process import pllm

WARNED = """pllm 1

import std.formats [int8, int16]

plan p {
  input x: int8[4] from client where abs(x) <= 9
  y = neg(x) @ client
  output y to client
}
"""
REFUSED = WARNED.replace(" where abs(x) <= 9", "").replace("neg(x)", "add(x, x)")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.pllm").write_text(WARNED)
    return tmp_path


def update(folder: Path) -> None:
    pllm(folder, "check", "--baseline", "old.json", "--update-baseline", ".")


def test_old_warnings_are_hidden_and_new_ones_are_not(folder: Path) -> None:
    update(folder)
    assert pllm(folder, "check", "--baseline", "old.json", ".").returncode == 0
    assert pllm(folder, "check", ".").returncode == 1
    (folder / "a.pllm").write_text(WARNED.replace("int16", "int16, int64"))
    done = pllm(folder, "check", "--baseline", "old.json", "--format", "concise", ".")
    assert done.returncode == 1
    assert "int64" in done.stdout
    assert "int16" not in done.stdout


def test_the_document_fits_its_schema(folder: Path) -> None:
    update(folder)
    schema = json.loads(
        (Path(__file__).parents[2] / "schemas" / "pllm.lang.baseline.v1.json").read_text(encoding="utf-8")
    )
    document = json.loads((folder / "old.json").read_text())
    Draft202012Validator(schema).validate(document)
    assert document["findings"] == [
        {
            "file": "a.pllm",
            "code": "names.unused",
            "message": "`int16` is imported and never used",
            "count": 1,
        }
    ]


def test_lines_may_move(folder: Path) -> None:
    update(folder)
    (folder / "a.pllm").write_text(WARNED.replace("pllm 1\n", "pllm 1\n\n# a line\n"))
    assert pllm(folder, "check", "--baseline", "old.json", ".").returncode == 0


def test_as_many_as_there_were(folder: Path) -> None:
    update(folder)
    (folder / "b.pllm").write_text(WARNED)
    done = pllm(folder, "check", "--baseline", "old.json", "--format", "concise", ".")
    assert done.returncode == 1
    assert "b.pllm" in done.stdout
    assert "a.pllm" not in done.stdout


def test_no_error_can_be_in_a_baseline(folder: Path) -> None:
    (folder / "a.pllm").write_text(REFUSED)
    update(folder)
    written = json.loads((folder / "old.json").read_text())
    assert [one["code"] for one in written["findings"]] == ["names.unused"]
    found = json.loads(pllm(folder, "check", "--format", "json", ".").stdout)["findings"]
    written["findings"] = [
        {"file": "a.pllm", "code": one["code"], "message": one["message"], "count": 9} for one in found
    ]
    (folder / "old.json").write_text(json.dumps(written))
    done = pllm(folder, "check", "--baseline", "old.json", "--format", "json", ".")
    assert done.returncode == 1
    document = json.loads(done.stdout)
    assert [one["code"] for one in document["findings"]] == ["bounds.overflow"]
    assert document["verdict"] == "refused"


def test_paths_are_relative_to_the_baseline(folder: Path) -> None:
    update(folder)
    inner = folder / "inner"
    inner.mkdir()
    done = pllm(inner, "check", "--baseline", "../old.json", "../a.pllm")
    assert done.returncode == 0, done.stdout


def test_a_changed_baseline_is_seen(folder: Path) -> None:
    update(folder)
    assert pllm(folder, "check", "--baseline", "old.json", "a.pllm").returncode == 0
    (folder / "old.json").write_text('{"schema": "pllm.lang.baseline.v1", "findings": []}')
    assert pllm(folder, "check", "--baseline", "old.json", "a.pllm").returncode == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"schema": "v2", "findings": []}',
        '{"schema": "pllm.lang.baseline.v1"}',
        "[" * 100_000,
        "\x00",
    ],
)
def test_a_bad_baseline_is_a_wrong_call(text: str, folder: Path) -> None:
    (folder / "old.json").write_text(text)
    done = pllm(folder, "check", "--baseline", "old.json", ".")
    assert done.returncode == 2
    assert "old.json" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_baseline_says_how_to_write_one(folder: Path) -> None:
    done = pllm(folder, "check", "--baseline", "none.json", ".")
    assert done.returncode == 2
    assert "--update-baseline" in done.stderr
    assert pllm(folder, "check", "--update-baseline", ".").returncode == 2


def test_sarif_lists_what_the_baseline_hides(folder: Path) -> None:
    update(folder)
    done = pllm(folder, "check", "--baseline", "old.json", "--format", "sarif", ".")
    (result,) = json.loads(done.stdout)["runs"][0]["results"]
    assert done.returncode == 0
    assert result["suppressions"] == [{"kind": "external"}]
