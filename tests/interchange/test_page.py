"""Every command and example of `docs/how-to/interchange.md` does what the page says."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.process import pllm

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "interchange.md").read_text(encoding="utf-8")
FILES = re.compile(r"^`([\w.]+)`[^\n]*:\n\n```(?:json|pllm)\n(.*?)^```", re.MULTILINE | re.DOTALL)
CONSOLES = re.compile(r"^```console\n\$ pllm ([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
WINDOWED = 'pllm 1\n\nmodel windowed = huggingface("windowed.json")\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("page") / "files"
    found.mkdir()
    for name, text in FILES.findall(PAGE):
        (found / name).write_text(text, encoding="utf-8")
    config = json.loads((found / "config.json").read_text(encoding="utf-8"))
    window = {"use_sliding_window": True, "sliding_window": 16, "max_window_layers": 0}
    (found / "windowed.json").write_text(json.dumps(config | window), encoding="utf-8")
    (found / "windowed.pllm").write_text(WINDOWED, encoding="utf-8")
    return found


def test_the_page_in_order(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} >= {"config.json", "run.pllm"}
    assert pllm(folder, "check", "run.pllm").returncode == 0
    consoles = CONSOLES.findall(PAGE)
    assert len(consoles) == 4
    for command, said in consoles:
        done = pllm(folder, *shlex.split(command))
        assert (done.stderr + done.stdout).rstrip() == said.rstrip(), command
        assert done.returncode == ("error[" in said)
    for text in PYTHON.findall(PAGE):
        subprocess.run([sys.executable, "-c", text], cwd=folder, env=dict(os.environ), check=True)
