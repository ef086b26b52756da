"""Configs that nobody means well: each is refused by name, in little time, by `pllm lower`, by `pllm check` and in Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pllm_lang.models import LoweringError, lower_model
from pllm_lang.models.text.model import unformatted_text
from tests.models.tiny_configs import TINY, rope

SECONDS = 2.0
"""Processor time of a refusal, start of the interpreter included."""

Config = dict[str, Any]
LLAMA: Config = {"model_type": "llama"} | TINY["llama"]
YARN = {"factor": 4.0, "original_max_position_embeddings": 16}


def of(model_type: str, **changes: Any) -> Config:
    return {"model_type": model_type} | TINY[model_type] | changes


def mixed(seed: int, kinds: list[str], count: int = 4096) -> list[str]:
    random = Random(seed)
    return [kinds[0], *(random.choice(kinds) for _ in range(count - 1))]


KINDS = ["linear_attention", "moe", "full_attention", "mlp"]
HOSTILE: dict[str, Callable[[], Config | str]] = {
    "a list of 3 MB": lambda: LLAMA | {"junk": ["x" * 1000] * 3000},
    "a word of 3 MB": lambda: LLAMA | {"hidden_act": "x" * 3_000_000},
    "a number of 900,000 digits": lambda: json.dumps(LLAMA)[:-1] + f', "vocab_size": {"9" * 900_000}}}',
    "300,000 keys": lambda: {f"k{i}": i for i in range(300_000)},
    "brackets": lambda: "[" * 500_000,
    "objects in objects": lambda: '{"a":' * 100_000 + "1" + "}" * 100_000,
    "an exponent": lambda: json.dumps(LLAMA)[:-1] + ', "rms_norm_eps": 1e-999999999}',
    "a million layers": lambda: LLAMA | {"num_hidden_layers": 1_000_000},
    "no layers": lambda: LLAMA | {"num_hidden_layers": 0},
    "less than no layers": lambda: LLAMA | {"num_hidden_layers": -1},
    "no heads": lambda: LLAMA | {"num_attention_heads": 0},
    "a negative size": lambda: LLAMA | {"hidden_size": -64},
    "no words": lambda: LLAMA | {"vocab_size": 0},
    "a size in quotes": lambda: LLAMA | {"hidden_size": "32"},
    "a number in quotes": lambda: LLAMA | {"rms_norm_eps": "1e-5"},
    "a list for a size": lambda: LLAMA | {"intermediate_size": [48]},
    "a truth value for a size": lambda: LLAMA | {"num_hidden_layers": True},
    "half a size": lambda: LLAMA | {"hidden_size": 32.5},
    "a size beyond all": lambda: LLAMA | {"intermediate_size": 10**30},
    "wide heads that turn": lambda: LLAMA | {"head_dim": 2**31 - 2} | rope("yarn", **YARN),
    "a hundred million experts": lambda: of("mixtral", num_local_experts=10**8),
    "all experts chosen": lambda: of("phimoe", num_local_experts=65536, num_experts_per_tok=65536),
    "scores without end": lambda: of("mpt", d_model=2**31 - 2, n_heads=2**30 - 1),
    "layers in no order": lambda: of(
        "nemotron_h", layers_block_type=mixed(1, KINDS), mtp_layers_block_type=[]
    ),
    "indices in no order": lambda: of(
        "glm_moe_dsa", num_hidden_layers=4096, indexer_types=mixed(2, ["full", "shared"])
    ),
    "windows in no order": lambda: of(
        "gemma3_text", num_hidden_layers=4096, layer_types=mixed(3, ["sliding_attention", "full_attention"])
    ),
}


def written(name: str) -> str:
    config = HOSTILE[name]()
    return config if isinstance(config, str) else json.dumps(config)


@pytest.mark.parametrize("name", HOSTILE)
def test_refused_in_python(name: str) -> None:
    config = written(name)
    start = time.process_time()
    with pytest.raises(LoweringError) as refused:
        unformatted_text(lower_model(config, batch=1, max_input_tokens=8, max_new_tokens=4).graph)
    assert time.process_time() - start < SECONDS
    assert refused.value.code.partition(".")[0] in ("config", "workload", "text")
    assert len(str(refused.value)) < 2_000


@pytest.mark.parametrize("name", HOSTILE)
def test_refused_by_lower(tmp_path: Path, name: str) -> None:
    (tmp_path / "config.json").write_text(written(name))
    done = timed(tmp_path, "lower", "config.json", "--max-input-tokens", "8", "--max-new-tokens", "4")
    assert (done.returncode, done.stdout) == (1, "")
    assert refusals(done.stderr)


@pytest.mark.parametrize("name", HOSTILE)
def test_refused_by_check(tmp_path: Path, name: str) -> None:
    (tmp_path / "config.json").write_text(written(name))
    (tmp_path / "a.pllm").write_text(
        'pllm 1\n\nexperiment e {\n  model: huggingface("config.json")\n'
        "  budget: { requests: 1, max_input_tokens: 8, max_new_tokens: 4 }\n}\n"
    )
    done = timed(tmp_path, "check", "a.pllm")
    assert done.returncode == 1
    assert refusals(done.stdout)


def refusals(told: str) -> list[str]:
    assert len(told) < 4_000
    return [line for line in told.splitlines() if "error[" in line]


def timed(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    before = os.times()
    done = subprocess.run(
        [sys.executable, "-m", "pllm_lang.cli.main", *arguments, "--format", "concise"],
        cwd=folder, capture_output=True, text=True, check=False, timeout=60,
        env=os.environ | {"PLLM_CACHE_DIR": str(folder.parent / f"{folder.name}-cache"), "PLLM_DEBUG": "1"},
    )  # fmt: skip
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    assert spent < SECONDS
    return done
