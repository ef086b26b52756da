"""`--jobs` tells the same in any number of processes; `--watch` tells again when something changes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.process import pllm

ROOT = Path(__file__).parents[2]
GOOD = """pllm 1

import std.formats [int8]

plan p {
  input x: int8[4] from client where abs(x) <= 9
  y = neg(x) @ client
  output y to client
}
"""
BAD = GOOD.replace(" where abs(x) <= 9", "").replace("neg(x)", "add(x, x)")


@pytest.mark.parametrize("format_", ["full", "json", "sarif"])
def test_jobs_tell_the_same(format_: str, tmp_path: Path) -> None:
    (tmp_path / "shared.pllm").write_text(
        "pllm 1\n\nformat narrow = int(-10, 10)\nformat narrow = int(-9, 9)\n"
    )
    for number in range(4):
        user = (BAD if number % 2 else GOOD).replace("import", 'import "shared.pllm" [narrow]\nimport', 1)
        (tmp_path / f"p{number}.pllm").write_text(user)
    one, two, many = (
        pllm(tmp_path, "check", "--no-cache", "--format", format_, "--jobs", jobs, ".")
        for jobs in ("1", "2", "0")
    )
    assert one.returncode == two.returncode == many.returncode == 1
    assert one.stdout == two.stdout == many.stdout


def test_jobs_prove_protocols_and_experiments_alike() -> None:
    example = str(ROOT / "examples")
    one, two = (pllm(ROOT, "check", "--no-cache", "--jobs", jobs, example) for jobs in ("1", "2"))
    assert one.stdout == two.stdout
    assert "accepted" in one.stdout


def test_jobs_that_are_no_number_are_a_wrong_call(tmp_path: Path) -> None:
    for jobs in ("-1", "many", "1000"):
        assert pllm(tmp_path, "check", "--jobs", jobs, ".").returncode == 2


WITHOUT = "import sys; sys.modules['watchfiles'] = None; from pllm_lang.cli.main import main; main()"


@pytest.mark.parametrize("start", [["-m", "pllm_lang.cli.main"], ["-c", WITHOUT]], ids=["told", "looking"])
def test_watch(start: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "watched"
    folder.mkdir()

    def put(name: str, text: str) -> None:
        (tmp_path / name).write_text(text)
        os.replace(tmp_path / name, folder / name)  # at once: no half of it is seen

    put("plan.pllm", BAD)
    watching = subprocess.Popen(
        [sys.executable, "-u", *start, "check", "--watch", "--format", "concise", "."],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"PLLM_CACHE_DIR": str(tmp_path / "cache")},
    )  # fmt: skip
    assert watching.stdout is not None
    assert watching.stderr is not None
    try:
        assert "bounds.overflow" in watching.stdout.readline()
        assert watching.stdout.readline() == "1 error\n"
        assert "watching" in watching.stderr.readline()
        put("plan.pllm", GOOD)
        assert watching.stdout.readline() == "1 file checked, 1 plan accepted\n"
        assert "watching" in watching.stderr.readline()
        put("other.pllm", BAD)
        assert watching.stdout.readline().startswith("other.pllm:7:3: error[bounds.overflow]")
        assert watching.stdout.readline() == "1 error\n"
        assert "watching" in watching.stderr.readline()
        watching.send_signal(signal.SIGINT)
        assert watching.wait(timeout=60) == 1
        assert "Traceback" not in watching.stderr.read()
    finally:
        watching.kill()
        watching.communicate()


def test_watch_goes_with_no_fix(tmp_path: Path) -> None:
    for more in (["--fix"], ["--diff"], ["-"]):
        assert pllm(tmp_path, "check", "--watch", *more).returncode == 2
