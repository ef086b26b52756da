"""The real SDK in an environment of its own: `PLLM_PEER_PYTHON`, or one made once inside the test cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

REQUIREMENT = "pllm.run==0.1.0a2"
SCRIPT = Path(__file__).with_name("ask_peer.py")
PATIENCE_S = 600

AskPeer = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]


@pytest.fixture(scope="session")
def peer_python(pytestconfig: pytest.Config) -> str:
    """The interpreter of an environment with the SDK."""
    return os.environ.get("PLLM_PEER_PYTHON") or _made_once(pytestconfig.cache.mkdir("pllm-run-0.1.0a2"))


@pytest.fixture(scope="session")
def ask_peer(peer_python: str) -> AskPeer:
    """A function that sends questions to the SDK and gives its answers; see `ask_peer.py`."""

    def ask(questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
        done = subprocess.run(
            [peer_python, str(SCRIPT)],
            input=json.dumps(questions),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout)

    return ask


def _made_once(folder: Path) -> str:
    """The interpreter of the environment in `folder`; one process makes it while others wait."""
    python, ready, lock = folder / "bin" / "python", folder / "ready", folder / "lock"
    deadline = time.monotonic() + PATIENCE_S
    while not ready.exists():
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            assert time.monotonic() < deadline, f"another process did not finish; remove {lock}"
            time.sleep(1)
            continue
        try:
            subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
            subprocess.run([str(python), "-m", "pip", "install", "-q", REQUIREMENT], check=True)
            ready.touch()
        finally:
            lock.unlink()
    return str(python)
