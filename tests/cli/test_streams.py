"""Standard streams that are closed or full: a message or nothing, never a page of code, and no verdict of success that nobody saw."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_check import BAD, GOOD


def shell(folder: Path, redirected: str, *call: str) -> subprocess.CompletedProcess[str]:
    (folder / "good.pllm").write_text(GOOD)
    (folder / "bad.pllm").write_text(BAD)
    line = f"exec '{sys.executable}' -m pllm_lang.cli.main {' '.join(call)} {redirected}"
    cache = {"PLLM_CACHE_DIR": str(folder / "cache")}
    return subprocess.run(
        ["sh", "-c", line], cwd=folder, capture_output=True, text=True, check=False, env=os.environ | cache
    )


@pytest.mark.parametrize("redirected", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(("file", "code"), [("good.pllm", 0), ("bad.pllm", 1)])
def test_closed_streams_change_no_status(tmp_path: Path, redirected: str, file: str, code: int) -> None:
    for _ in range(2):  # the second time from what is remembered
        done = shell(tmp_path, redirected, "check", file)
        assert done.returncode == code
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("call", [("check", "good.pllm"), ("check", "bad.pllm"), ("explain",)])
def test_a_full_disk_is_told(tmp_path: Path, call: tuple[str, ...]) -> None:
    done = shell(tmp_path, ">/dev/full", *call)
    assert done.returncode == 2
    assert done.stderr == "the answer could not be written: No space left on device\n"
