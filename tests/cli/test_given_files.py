"""Files of a call that give nothing: every command says what is wrong with the file, and none of them fails on its own account."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from pllm_lang.cli.app import app

ON_PLANS = ("audit", "compile", "cost", "coverage", "export", "graph", "show")
STAGES = ("show --stage syntax", "show --stage resolved", "show --stage bounds", "show --stage views")
ON_DOCUMENTS = ("import", "lower", "coverage")


def pllm(call: str, target: str, stdin: bytes = b"") -> tuple[int, str]:
    done = CliRunner().invoke(app, [*call.split(), target], input=stdin, standalone_mode=False)
    assert done.exception is None, done.exception
    return done.return_value, done.output


@pytest.mark.parametrize("call", [*ON_PLANS, *STAGES])
def test_a_file_with_a_slip_is_told_with_its_place_not_as_empty(call: str, tmp_path: Path) -> None:
    path = tmp_path / "slip.pllm"
    path.write_text("pllm 1\n\nplan layer {\n", encoding="utf-8")
    status, text = pllm(call, str(path))
    assert (status, "error[syntax.unclosed_block]" in text, f"{path}:3:12" in text) == (1, True, True)


@pytest.mark.parametrize("call", [*ON_PLANS, *STAGES])
def test_a_file_that_is_no_text_is_told_so(call: str, tmp_path: Path) -> None:
    path = tmp_path / "binary.pllm"
    path.write_bytes(b"pllm 1\n\0\n")
    status, text = pllm(call, str(path))
    assert (status, "error[file.not_text]" in text) == (1, True)


@pytest.mark.parametrize("call", [one for one in (*ON_PLANS, *STAGES) if one != "export"])
def test_an_input_that_is_no_text_is_not_read_as_another(call: str) -> None:
    status, text = pllm(call, "-", b"pllm 1\n# \xff\n")
    assert (status, "byte 3 of line 2 is not UTF-8" in text) == (1, True)


@pytest.mark.parametrize("call", [*ON_PLANS, *STAGES, "import", "lower"])
def test_a_folder_is_told_to_be_one(call: str, tmp_path: Path) -> None:
    assert pllm(call, str(tmp_path)) == (2, f"{tmp_path}: this is a folder; name a file\n")


@pytest.mark.parametrize("call", [*ON_PLANS, *STAGES, "import", "lower"])
def test_a_device_is_not_read(call: str) -> None:
    assert pllm(call, os.devnull) == (2, f"{os.devnull}: this is not a regular file; name a file\n")


@pytest.mark.parametrize("call", ON_DOCUMENTS)
def test_a_document_that_may_not_be_read(call: str, tmp_path: Path, closed: Callable[[Path], None]) -> None:
    path = tmp_path / "config.json"
    path.write_text("{}", encoding="utf-8")
    closed(path)
    assert pllm(call, str(path)) == (2, f"cannot read {path}: Permission denied\n")


@pytest.mark.parametrize("call", [*ON_PLANS, *STAGES])
def test_a_plan_that_may_not_be_read(call: str, tmp_path: Path, closed: Callable[[Path], None]) -> None:
    path = tmp_path / "closed.pllm"
    path.write_text("pllm 1\n", encoding="utf-8")
    closed(path)
    status, text = pllm(call, str(path))
    assert (status, "the file cannot be read: permission denied" in text) == (1, True)


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Makes a file unreadable, also for one who may read everything."""
    real, shut = open, list[str]()

    def opened(file: object, *arguments: object, **options: object) -> object:
        if str(file) in shut:
            raise PermissionError(13, "Permission denied", str(file))
        return real(file, *arguments, **options)  # type: ignore[call-overload]

    monkeypatch.setattr("builtins.open", opened)
    return lambda path: shut.append(str(path))


@pytest.mark.parametrize("command", ["check", "fmt"])
def test_a_plan_of_a_file_is_not_named_where_files_are_taken_whole(command: str, tmp_path: Path) -> None:
    path = tmp_path / "one.pllm"
    path.write_text("pllm 1\n", encoding="utf-8")
    status, text = pllm(command, f"{path}:one")
    assert (status, text) == (
        2,
        f"no such file, folder or match: {path}:one; a file is taken as a whole: write {path}\n",
    )
    assert pllm(command, f"{path}x")[1] == f"no such file, folder or match: {path}x\n"
