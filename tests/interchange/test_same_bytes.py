"""What we write has the same bytes under another locale, hash seed, working folder and checkout path."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pllm_lang
from tests.cli.test_exchange import CONFIG, MODELS, SPEC
from tests.interchange.requests import FIXTURE

CHECKOUT = Path(pllm_lang.__file__).parents[1]
PARTS = ("pllm_lang", "grammar", "stdlib")
EXPERIMENT = """pllm 1

import std.components [cpu, inference, kv_cache_eviction, masked_linear, model_aware_corrections]
import std.methods [clear]

pipeline own {
  linear: masked_linear(bits: 32)
  inference: inference
  kernels: cpu(threads: 3)
  preparation: model_aware_corrections
  slots: { cache: kv_cache_eviction(alpha: 2/4) }
  everything_else: clear
}
experiment i = "Iİıi ß é 😀" {
  source: huggingface("Qwen/é", revision: "İ", local_files_only: true)
  pipeline: own
  deployment: local(root: "local://İ")
  budget: { requests: 1000, max_input_tokens: 64, max_new_tokens: 1 }
}
"""
COMPILE = """
import sys, pathlib, pllm_lang
assert pathlib.Path(pllm_lang.__file__).parents[1] == pathlib.Path(sys.argv[2])
plan = pllm_lang.compile(pathlib.Path(sys.argv[1]).read_bytes())
for name in ("logical_plan", "execution_plan", "plan_lock", "region_program"):
    sys.stdout.buffer.write(getattr(plan, name))
"""
COMMANDS = {
    "experiment.json": ("export", "e.pllm"),
    "experiment.yaml": ("export", "e.pllm", "--format", "yaml"),
    "plan.json": ("export", "models.pllm:evicted"),
    "imported.pllm": ("import", "two.json"),
}


def written(folder: Path, checkout: Path, **environment: str) -> dict[str, str]:
    """SHA-256 of everything that we write, from a process of its own."""
    folder.mkdir(parents=True)
    for name, text in {"e.pllm": EXPERIMENT, "models.pllm": MODELS}.items():
        (folder / name).write_text(text, encoding="utf-8")
    for name, value in {"config.json": CONFIG, "two.json": SPEC}.items():
        (folder / name).write_text(json.dumps(value), encoding="utf-8")
    base = {key: value for key, value in os.environ.items() if not key.startswith(("LC_", "LANG", "PYTHON"))}
    env = base | {"PYTHONPATH": str(checkout), "PLLM_CACHE_DIR": str(folder / "cache")} | environment
    calls = {name: ["-m", "pllm_lang.cli.main", *arguments] for name, arguments in COMMANDS.items()}
    calls["compiled"] = ["-c", COMPILE, str(FIXTURE), str(checkout)]
    found: dict[str, str] = {}
    for name, arguments in calls.items():
        done = subprocess.run(
            [sys.executable, *arguments], cwd=folder, env=env, capture_output=True, check=True
        )
        assert done.stdout
        found[name] = hashlib.sha256(done.stdout).hexdigest()
    return found


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return written(tmp_path_factory.mktemp("usual") / "here", CHECKOUT, PYTHONHASHSEED="0")


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONHASHSEED": "1"},
        {"PYTHONHASHSEED": "4294967295", "LC_ALL": "tr_TR.UTF-8"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1"},
        {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONOPTIMIZE": "2"},
        {"TZ": "Pacific/Apia", "COLUMNS": "20", "NO_COLOR": "1"},
    ],
    ids=lambda environment: " ".join(f"{key}={value}" for key, value in environment.items()),
)
def test_environment_does_not_matter(
    tmp_path: Path, usual: dict[str, str], environment: dict[str, str]
) -> None:
    assert written(tmp_path / "a folder é", CHECKOUT, **environment) == usual


def test_the_checkout_s_path_does_not_matter(tmp_path: Path, usual: dict[str, str]) -> None:
    other = tmp_path / "another checkout"
    for part in PARTS:
        shutil.copytree(CHECKOUT / part, other / part, ignore=shutil.ignore_patterns("__pycache__"))
    (other / "docs" / "rules").mkdir(parents=True)
    assert written(tmp_path / "there", other, XDG_CACHE_HOME=str(tmp_path / "cache")) == usual
