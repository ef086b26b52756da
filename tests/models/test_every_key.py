"""Every key of a family's configuration class, changed one at a time: our graph follows transformers, or says
that it does not.

Where a change moves transformers' logits, ours move alike or the config is refused; no such key may be called
unknown or without effect. Where a change moves nothing there, it moves nothing here.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.models.tiny_configs import TINY

pytestmark = pytest.mark.system

FAMILIES = (
    "llama", "qwen2", "qwen3", "gemma2", "gemma3_text", "phi3", "mistral", "gpt2", "olmo2", "qwen2_moe",
    "mixtral",
)  # fmt: skip
TOLERANCE = 1e-4
NOT_THE_MODEL = (
    "vocab_size", "pad_token_id", "bos_token_id", "eos_token_id", "initializer_range", "dtype",
    "architectures", "transformers_version", "is_encoder_decoder",
)  # fmt: skip


def other_values(key: str, value: Any) -> list[Any]:
    """Values of the same type, unlike the one given."""
    match value:
        case bool():
            return [not value]
        case int():
            return [value * 2, max(1, value // 2)] if value > 1 else [2]
        case float():
            return [value * 2 + 0.25]
        case str() if "act" in key:
            return ["relu", "gelu"]
        case _:
            return []


@pytest.mark.parametrize("model_type", FAMILIES)
def test_every_key_is_followed_or_refused(model_type: str, tmp_path: Path) -> None:
    peer: Any = importlib.import_module("tests.models.transformers_peer")
    base = {"model_type": model_type} | TINY[model_type]
    _, before, _ = peer.compare(base, tmp_path / "base")
    tried = 0
    for key, default in peer.configuration_fields(model_type).items():
        if key in NOT_THE_MODEL:
            continue
        for number, value in enumerate(other_values(key, base.get(key, default))):
            changed = base | {key: value}
            if peer.runs(changed):
                tried += 1
                check(peer, changed, key, before, tmp_path / f"{key}-{number}")
    assert tried >= 10


ROTARY: dict[str, dict[str, Any]] = {
    "default": {"rope_type": "default", "rope_theta": 50.0},
    "partial": {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5},
    "linear": {"rope_type": "linear", "rope_theta": 1e4, "factor": 3.0},
    "dynamic": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 3.0},
    "yarn": {
        "rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 16,
    },
    "llama3": {
        "rope_type": "llama3", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 16,
        "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    },
}  # fmt: skip
PER_LAYER_TYPE = ("gemma3_text", "gemma4_text", "olmo3", "mimo_v2_flash")


@pytest.mark.parametrize("model_type", sorted(TINY))
def test_every_kind_of_rotary_positions_is_followed_or_refused(model_type: str, tmp_path: Path) -> None:
    peer: Any = importlib.import_module("tests.models.transformers_peer")
    base = {"model_type": model_type} | TINY[model_type]
    _, before, _ = peer.compare(base, tmp_path / "base")
    for kind, one in ROTARY.items():
        both = {"full_attention": one, "sliding_attention": one}
        changed = base | {"rope_parameters": both if model_type in PER_LAYER_TYPE else one}
        if not peer.runs(changed):
            continue
        refusal = peer.refusal(changed)
        if refusal is None:
            check(peer, changed, "rope_parameters", before, tmp_path / kind)
        else:
            assert refusal.code == "config.unsupported_value"


def check(peer: Any, config: dict[str, Any], key: str, before: np.ndarray, folder: Path) -> None:
    refusal = peer.refusal(config)
    if refusal is not None:
        assert key in refusal.key or key in str(refusal)
        return
    _, theirs, ours = peer.compare(config, folder)
    assert np.abs(theirs - ours).max() < TOLERANCE, (key, config[key])
    if theirs.shape == before.shape and np.abs(theirs - before).max() > TOLERANCE:
        assert [note for note in peer.lower(config).notes if note.key == key] == []
