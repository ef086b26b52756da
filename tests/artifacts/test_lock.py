"""Locks: the same bytes everywhere, nothing of the place in them, and what `compile` says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import rfc8785

from pllm_lang.artifacts.lock_changes import changes
from tests.artifacts.locks import (
    EXAMPLES,
    FIXED,
    MASKED,
    ROOT,
    SHARED,
    compiled,
    data,
    digest,
    of_text,
    sealed,
)

PLANS = [
    ("first_look.pllm", "ten_tokens"),
    ("beaver_block.pllm", "block"),
    ("llama_block.pllm", "gate_times_up"),
]
COMPILE = "import sys; from pllm_lang.cli.main import main; sys.argv = ['pllm', 'compile', *sys.argv[1:]]; sys.exit(main())"


def by_command(
    path: Path, name: str, lock: Path, cwd: Path, python: str = sys.executable, **environment: str
) -> bytes:
    call = [python, "-c", COMPILE, f"{path}:{name}", "-o", str(lock)]
    given = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    done = subprocess.run(call, cwd=cwd, env=given, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return lock.read_bytes()


@pytest.mark.parametrize(("file", "name"), PLANS)
def test_the_same_bytes_under_another_locale_hash_seed_folder_and_path(
    file: str, name: str, tmp_path: Path
) -> None:
    here = compiled(EXAMPLES / file, name)
    elsewhere = tmp_path / "another" / "checkout"
    shutil.copytree(EXAMPLES, elsewhere)
    for seed, locale in (("1", "C"), ("4242", "tr_TR.UTF-8")):
        lock = tmp_path / f"{seed}.json"
        there = by_command(
            elsewhere / file,
            name,
            lock,
            tmp_path,
            PYTHONHASHSEED=seed,
            LC_ALL=locale,
            LANG=locale,
            TZ="Asia/Tokyo",
        )
        assert there == here
    assert by_command(Path(file), name, tmp_path / "relative.json", elsewhere) == here


def other_pythons() -> list[str]:
    """This Python, and every newer one that the machine has, by command or as a version of pyenv."""
    found = [sys.executable]
    for version in ("3.12", "3.13", "3.14"):
        kept = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
        for command in (f"python{version}", *map(str, kept)):
            told = (
                subprocess.run([command, "--version"], capture_output=True, text=True, check=False)
                if shutil.which(command)
                else None
            )
            if told is not None and told.stdout.startswith(f"Python {version}."):
                found.append(command)
                break
    return found


@pytest.mark.system
@pytest.mark.parametrize("command", other_pythons())
def test_the_same_bytes_by_another_installation(command: str, tmp_path: Path) -> None:
    python = tmp_path / "env" / "bin" / "python"
    subprocess.run([command, "-m", "venv", tmp_path / "env"], check=True)
    subprocess.run([python, "-m", "pip", "install", "-q", str(ROOT)], check=True)
    for file, name in PLANS:
        path = EXAMPLES / file
        assert by_command(path, name, tmp_path / "lock.json", tmp_path, str(python)) == compiled(path, name)


@pytest.mark.parametrize("text", [MASKED, SHARED, FIXED])
def test_nothing_of_the_place_is_in_a_lock(text: str) -> None:
    content = of_text(text).decode()
    assert str(ROOT) not in content
    assert os.path.expanduser("~") not in content
    assert "plan.pllm" not in content


@pytest.mark.parametrize("text", [MASKED, SHARED, FIXED])
def test_every_digest_is_worked_out_again(text: str) -> None:
    """`sealed` is written from the description of the lock; on an untouched lock it changes nothing."""
    assert sealed(data(of_text(text))) == of_text(text)
    assert rfc8785.dumps(data(of_text(text))) + b"\n" == of_text(text)
    lock = data(of_text(text))
    assert lock["plan_lock_digest"] == digest(
        "lock", {k: v for k, v in lock.items() if k != "plan_lock_digest"}
    )


def test_names_layout_and_comments_leave_no_trace_in_the_digest_of_the_plan() -> None:
    other = "\n\n# a comment\n".join(
        MASKED.replace("y =", "renamed =").replace("clamp(y,", "clamp(renamed,").split("\n\n")
    )
    first, second = data(of_text(MASKED)), data(of_text(other))
    assert first["digests"]["plan"] == second["digests"]["plan"]
    assert first["digests"]["ir"] == second["digests"]["ir"]


def test_a_lock_says_what_goes_in_and_out() -> None:
    lock = data(of_text(MASKED))
    assert lock["input_shapes"] == {"x": [2, 3]}
    assert lock["output_shapes"] == {"z": [2, 4]}
    assert lock["components"]["std.components.masked_linear"] == ["pllm/masked-linear", "1"]
    assert set(lock["digests"]["programs"][""]) >= {"client", "preparation", "inference"}


def test_numbers_beyond_what_readers_keep_are_text() -> None:
    def numbers(value: object) -> list[int]:
        if isinstance(value, dict):
            return [n for one in value.values() for n in numbers(one)]
        if isinstance(value, list):
            return [n for one in value for n in numbers(one)]
        return [value] if isinstance(value, int) else []

    assert max(map(abs, numbers(data(of_text(SHARED))))) < 2**53
    assert str(2**128) in of_text(SHARED).decode()


def test_changes_are_told_by_name() -> None:
    wider = of_text(MASKED.replace("[2, 3]", "[3, 3]"))
    told = "\n".join(changes(of_text(MASKED), wider))
    assert "digests ir:" in told
    assert "input_shapes x:" in told
    assert not list(changes(wider, wider))
    assert list(changes(b"{", wider)) == ["the file is no lock"]


# ---- the command ----
def pllm(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    code = "import sys; from pllm_lang.cli.main import main; sys.argv = ['pllm', *sys.argv[1:]]; sys.exit(main())"
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    call = [sys.executable, "-c", code, *arguments]
    return subprocess.run(
        call, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_compile_check_replay_and_diff(tmp_path: Path) -> None:
    (tmp_path / "a.pllm").write_text(MASKED)
    done = pllm("compile", "a.pllm", cwd=tmp_path)
    assert done.returncode == 0
    assert "masked.lock.json\nplan_lock_digest " in done.stdout
    assert pllm("compile", "a.pllm", "--check", cwd=tmp_path).returncode == 0
    shown = pllm("replay", "masked.lock.json", cwd=tmp_path)
    assert shown.returncode == 0
    assert "`masked` is proved by its certificate" in shown.stdout
    assert (
        json.loads(pllm("replay", "masked.lock.json", "--format", "json", cwd=tmp_path).stdout)["proved"]
        is True
    )
    (tmp_path / "a.pllm").write_text(MASKED.replace("high: 9", "high: 8"))
    changed = pllm("compile", "a.pllm", "--check", cwd=tmp_path)
    assert changed.returncode == 1
    assert "digests ir:" in changed.stdout


def test_a_gap_stops_compilation_with_all_of_the_report(tmp_path: Path) -> None:
    (tmp_path / "a.pllm").write_text(
        MASKED.replace("(bits: 32)", "(bits: 16)").replace("z to client", "z to inference")
    )
    done = pllm("compile", "a.pllm", cwd=tmp_path)
    assert done.returncode == 1
    assert "bounds." in done.stdout
    assert "placement." in done.stdout
    assert "nothing was compiled" in done.stdout
    assert not list(tmp_path.glob("*.lock.json"))


def test_wrong_calls(tmp_path: Path) -> None:
    (tmp_path / "a.pllm").write_text(MASKED)
    assert pllm("compile", "b.pllm", cwd=tmp_path).returncode == 2
    assert pllm("compile", "a.pllm:other", cwd=tmp_path).returncode == 2
    assert pllm("compile", "a.pllm", "--check", cwd=tmp_path).returncode == 2
    assert pllm("replay", "no.json", cwd=tmp_path).returncode == 2
    assert pllm("replay", "a.pllm", cwd=tmp_path).returncode == 2
