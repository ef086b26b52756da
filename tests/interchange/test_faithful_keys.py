"""A key beside those that the format reads is let through only if the model's own graph does not change with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import pllm_lang
from pllm_lang.interchange import ConfigRefused, NotFaithful, decoder_plan
from pllm_lang.models.graph import ModelGraph
from tests.interchange.test_two_readings import CONFIG, SIZES

REAL = Path(__file__).parents[1] / "data" / "configs" / "real"
QWEN3: dict[str, Any] = CONFIG | {
    "model_type": "qwen3",
    "head_dim": 16,
    "attention_bias": False,
    "attention_dropout": 0.0,
    "use_cache": True,
    "use_sliding_window": False,
    "max_window_layers": 2,
    "layer_types": ["full_attention"] * 2,
}
VALUES: tuple[Any, ...] = (
    *(0, 1, 0.5, True, False, "gelu"),
    *(["sliding_attention", "full_attention"], ["Qwen2ForCausalLM"], {"rope_type": "linear", "factor": 2.0}),
)
NOT_OF_THE_MODEL = {"dtype", "torch_dtype", "eos_token_id"}
"""Keys of a wrong type that `lower_model` refuses, although they change no operation."""


def published_keys() -> list[str]:
    """Every key that a published configuration has, and some that only change a model."""
    keys = {key for path in REAL.glob("*.json") for key in json.loads(path.read_bytes())}
    return sorted(keys | {"pruned_heads", "add_cross_attention", "use_mrope", "partial_rotary_factor"})


def operations(config: dict[str, Any]) -> ModelGraph:
    """The graph without the identity of its configuration."""
    graph = pllm_lang.lower_model(config, **SIZES).graph
    identity = msgspec.structs.replace(
        graph.config, digest="", quantization={}, stop_tokens=(), architectures=(), dtype=""
    )
    return msgspec.structs.replace(graph, config=identity)


@pytest.mark.parametrize("base", [CONFIG, QWEN3], ids=["qwen2", "qwen3"])
def test_what_is_let_through_changes_nothing(base: dict[str, Any]) -> None:
    meant, let_through, stopped = operations(base), 0, 0
    refused: set[str] = set()
    for key in published_keys():
        for value in VALUES if key not in base else ():
            config = base | {key: value}
            try:
                decoder_plan(config, **SIZES)
            except (NotFaithful, ConfigRefused):
                stopped += 1
                continue
            let_through += 1
            try:
                assert operations(config) == meant, (key, value)
            except pllm_lang.LoweringError:
                refused.add(key)
    assert refused <= NOT_OF_THE_MODEL
    assert let_through > 500
    assert stopped > 500
