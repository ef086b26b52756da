"""What `pllm check` remembers is never older than what is there: all that an answer depends on is looked at again."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pllm_lang.cli import replay
from tests.cli.process import pllm
from tests.cli.test_check import BAD, GOOD

IMPORTS = 'pllm 1\n\nimport "{}" [absent]\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / "inner" / "deep").mkdir(parents=True)
    (project / "pllm.toml").write_text("")
    (project / "good.pllm").write_text(GOOD)
    time.sleep(0.1)  # what changed right before a check is not remembered
    return project


def _new_file(folder: Path) -> None:
    (folder / "inner" / "deep" / "bad.pllm").write_text(BAD)


def _new_user(folder: Path) -> None:
    (folder / "inner" / "deep" / "user.pllm").write_text(IMPORTS.format("../../good.pllm"))


CHANGES = (
    (".", _new_file),
    ("inner", _new_file),
    ("**/*.pllm", _new_file),
    ("good.pllm", _new_user),
)


@pytest.mark.parametrize(("asked", "change"), CHANGES)
def test_a_file_that_appears_in_any_folder_is_seen(
    folder: Path, asked: str, change: Callable[[Path], None]
) -> None:
    assert pllm(folder, "check", asked).returncode == 0
    assert pllm(folder, "check", asked).returncode == 0
    change(folder)
    assert pllm(folder, "check", asked).returncode == 1


def test_a_repository_that_appears_above_the_plans_is_seen(tmp_path: Path) -> None:
    """It is the project's root then, and so is what imports of its other folders are held to."""
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "shared.pllm").write_text("pllm 1\n\nconst width = 4\n")
    (inner / "plan.pllm").write_text('pllm 1\n\nimport "../shared.pllm" [width]\n\nconst twice = 2 * width\n')
    time.sleep(0.1)
    assert pllm(inner, "check", "plan.pllm").returncode == 1
    assert pllm(inner, "check", "plan.pllm").returncode == 1
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    time.sleep(0.1)
    assert pllm(inner, "check", "plan.pllm").returncode == 0
    (tmp_path / ".git" / "index").write_text("")
    assert pllm(inner, "check", "plan.pllm").returncode == 0
    (tmp_path / ".git" / "index").unlink()
    (tmp_path / ".git" / "HEAD").unlink()
    (tmp_path / ".git").rmdir()
    assert pllm(inner, "check", "plan.pllm").returncode == 1


def test_a_named_file_that_was_missing_is_looked_for_again(folder: Path) -> None:
    (folder / "user.pllm").write_text('pllm 1\n\nimport "inner/later.pllm" [narrow]\n\nconst one = 1\n')
    time.sleep(0.1)
    assert "modules.unknown" in pllm(folder, "check", "user.pllm").stdout
    (folder / "inner" / "later.pllm").write_text("pllm 1\n\nformat narrow = int(-10, 10)\n")
    assert "modules.unknown" not in pllm(folder, "check", "user.pllm").stdout


@pytest.mark.parametrize("named", ["../\\u0067ood.pllm", "./" * 700 + "../good.pllm", "../link.pllm"])
def test_a_user_is_found_however_it_writes_the_name(folder: Path, named: str) -> None:
    (folder / "link.pllm").symlink_to("good.pllm")
    (folder / "inner" / "user.pllm").write_text(IMPORTS.format(named))
    done = pllm(folder, "check", "good.pllm", "--format", "concise")
    assert "inner/user.pllm" in done.stdout, done.stdout


def test_a_file_that_changes_during_a_check_is_not_remembered(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read then may be the old text, and the digest that of the new one."""
    monkeypatch.setenv("PLLM_CACHE_DIR", str(folder.parent / "cache"))
    monkeypatch.chdir(folder)
    monkeypatch.setattr(replay, "STARTED_NS", time.time_ns())
    call = ["check", "good.pllm"]
    replay.remember(call, ["good.pllm"], "fine\n", 0)
    assert replay.replayed(call) == 0
    Path("good.pllm").write_text(BAD)
    replay.remember(call, ["good.pllm"], "fine\n", 0)
    assert replay.replayed(call) is None


def test_an_answer_that_is_too_long_is_not_cut(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLLM_CACHE_DIR", str(folder.parent / "cache"))
    monkeypatch.chdir(folder)
    replay.remember(["check"], ["good.pllm"], "x" * replay.MAX_ENTRY_BYTES, 0)
    assert replay.replayed(["check"]) is None


def test_names_beside_the_plans_need_not_be_text(folder: Path) -> None:
    for name in (b"\xff.txt", b"\xfe-folder"):
        os.mkdir(os.path.join(os.fsencode(folder), name))
    inside = Path(os.fsdecode(os.path.join(os.fsencode(folder), b"\xfe-folder")))
    (inside / "good.pllm").write_text(GOOD)
    for where in (folder, inside):
        for _ in range(2):
            assert pllm(where, "check", "good.pllm", "--no-dependents").returncode == 0


@pytest.mark.parametrize("call", ["check", "fmt x.pllm"])
def test_a_working_folder_that_is_gone_is_told(folder: Path, call: str) -> None:
    gone = folder / "gone"
    gone.mkdir()
    script = f"cd '{gone}' && rmdir '{gone}' && exec '{sys.executable}' -m pllm_lang.cli.main {call}"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "the working folder cannot be used" in done.stderr
