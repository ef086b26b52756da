"""`pllm lower` as a user calls it, and models in a file: texts that check, findings at the config's keys, exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.models.published import DATA
from tests.models.tiny_configs import TINY

LLAMA: dict[str, Any] = {"model_type": "llama"} | TINY["llama"]
SIZES = ("--max-input-tokens", "8", "--max-new-tokens", "4")


def pllm(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pllm_lang.cli.main", *arguments],
        cwd=folder, capture_output=True, text=True, check=False, timeout=60,
        env=os.environ | {"PLLM_CACHE_DIR": str(folder.parent / f"{folder.name}-cache"), "PLLM_DEBUG": "1"},
    )  # fmt: skip


def write(folder: Path, config: object) -> str:
    (folder / "config.json").write_text(json.dumps(config, indent=2))
    return "config.json"


def test_a_text_that_is_written_checks(tmp_path: Path) -> None:
    done = pllm(tmp_path, "lower", write(tmp_path, LLAMA), *SIZES, "-o", "model.pllm")
    assert (done.returncode, done.stdout) == (0, "")
    assert pllm(tmp_path, "check", "model.pllm").returncode == 0
    assert pllm(tmp_path, "fmt", "--check", "model.pllm").returncode == 0
    printed = pllm(tmp_path, "lower", "config.json", *SIZES)
    assert printed.stdout == (tmp_path / "model.pllm").read_text()


@pytest.mark.parametrize(
    ("change", "code", "word"),
    [
        ({"num_attention_heads": 0}, "models.config_refused", "num_attention_heads"),
        ({"hidden_size": "32"}, "models.config_refused", "hidden_size"),
        ({"num_hidden_layers": 10**6}, "models.config_refused", "num_hidden_layers"),
        ({"hidden_act": "mystery"}, "models.config_refused", "hidden_act"),
        ({"quantization_config": {"quant_method": "mystery"}}, "models.config_refused", "quant_method"),
        ({"torch_dtype": "float8_e4m3fn"}, "models.not_supported", "dtype"),
    ],
)
def test_a_refusal_is_a_finding_with_the_key(
    tmp_path: Path, change: dict[str, Any], code: str, word: str
) -> None:
    done = pllm(tmp_path, "lower", write(tmp_path, LLAMA | change), *SIZES, "--format", "json")
    assert (done.returncode, done.stdout) == (1, "")
    found = [one for one in json.loads(done.stderr)["findings"] if one["severity"] == "error"]
    assert [one["code"] for one in found] == [code]
    assert word in found[0]["data"]["key"]


@pytest.mark.parametrize(
    "passes",
    [
        ("quantize_weights(bits: 8)", "chunk_prefill(size: 4)"),
        ("quantize_weights(bits: 5)",),
        ("fuse_qkv",),
    ],
)
def test_a_text_behind_passes_checks(tmp_path: Path, passes: tuple[str, ...]) -> None:
    options = [word for one in passes for word in ("--pass", one)]
    done = pllm(tmp_path, "lower", write(tmp_path, LLAMA), *SIZES, *options, "-o", "model.pllm")
    assert done.returncode == 0
    assert pllm(tmp_path, "check", "model.pllm").returncode == 0
    assert pllm(tmp_path, "fmt", "--check", "model.pllm").returncode == 0


@pytest.mark.parametrize(
    ("text", "code", "word"),
    [
        ("chunk_prefill(size: 3)", "models.pass_refused", "must divide"),
        ("chunk_prefill(size)", "models.pass_refused", "write one as"),
        ("chunk_prefill(size: 4, size: 2)", "models.pass_refused", "write one as"),
        ("chunk_prefill(size: 1/0)", "models.pass_refused", "write one as"),
        ("x" * 100_000, "models.pass_refused", "write one as"),
        ("mystery", "models.pass_refused", "passes are"),
        ("kv_cache_eviction(cluster_sizes: [4, 2])", "models.not_supported", "kv_cache_eviction"),
    ],
)
def test_a_pass_that_does_not_fit_is_a_finding(tmp_path: Path, text: str, code: str, word: str) -> None:
    config = write(tmp_path, LLAMA)
    done = pllm(tmp_path, "lower", config, *SIZES, "--pass", text, "--format", "json")
    assert (done.returncode, done.stdout) == (1, "")
    (found,) = (one for one in json.loads(done.stderr)["findings"] if one["severity"] == "error")
    assert found["code"] == code
    assert word in found["message"] + found["help"]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("quantize_weights(bitz: 8)", "--pass:1:18: "),
        ("chunk_prefill(size: 3)", "--pass:1:15: "),
        ("mystery", "--pass:1:1: "),
        ("chunk_prefill(size", "--pass:1:1: "),
    ],
)
def test_a_pass_that_does_not_fit_is_shown_where_it_is_written(tmp_path: Path, text: str, place: str) -> None:
    passes = ("--pass", "fuse_qkv", "--pass", text)
    done = pllm(tmp_path, "lower", write(tmp_path, LLAMA), *SIZES, *passes, "--format", "concise")
    assert done.stderr.startswith(f"{place}error[models.pass_refused]")


def test_a_finding_points_at_the_key(tmp_path: Path) -> None:
    done = pllm(tmp_path, "lower", write(tmp_path, LLAMA | {"hidden_size": 0}), *SIZES, "--format", "concise")
    line = json.dumps(LLAMA | {"hidden_size": 0}, indent=2).splitlines().index('  "hidden_size": 0,') + 1
    assert done.stderr.startswith(f"config.json:{line}:3: error[models.config_refused]")


def test_a_hostile_config_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"model_type": "llama", "junk": ["x" * 1000] * 3000})
    done = pllm(tmp_path, "lower", "config.json", *SIZES, "--format", "concise")
    assert done.returncode == 1
    assert "models.config_refused" in done.stderr
    assert len(done.stderr) < 2000


def test_a_missing_file_and_a_bad_call(tmp_path: Path) -> None:
    assert pllm(tmp_path, "lower", "config.json").returncode == 2
    assert pllm(tmp_path, "lower").returncode == 2


@pytest.mark.parametrize("path", sorted((DATA / "tricky").glob("*.json"))[::6], ids=lambda path: path.stem)
def test_tricky_configs_end_in_a_text_or_in_findings(tmp_path: Path, path: Path) -> None:
    done = pllm(tmp_path, "lower", str(path), *SIZES, "--format", "concise")
    assert done.returncode in (0, 1)
    assert bool(done.stdout) == (done.returncode == 0)
    assert ("error[models." in done.stderr) == (done.returncode == 1)


def test_a_declared_model_is_read_where_it_stands(tmp_path: Path) -> None:
    """Its config's faults are found without an experiment, and it is never proved with them."""
    write(tmp_path, LLAMA | {"num_key_value_heads": 3})
    (tmp_path / "a.pllm").write_text('pllm 1\n\nmodel m = huggingface("config.json")\n')
    done = pllm(tmp_path, "check", "a.pllm", "--format", "json")
    assert done.returncode == 1
    (found,) = json.loads(done.stdout)["findings"]
    assert found["code"] == "models.config_refused"
    assert found["data"]["key"] == "num_key_value_heads"
