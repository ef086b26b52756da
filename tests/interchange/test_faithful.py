"""Keys that change the model but not the document are named; `lossy=True` exports what the SDK would."""

from __future__ import annotations

from typing import Any

import pytest

from pllm_lang.interchange import NotFaithful, decoder_plan
from tests.interchange.cases import load

CASES = {case["id"]: case for case in load("model_valid")}
QWEN2, QWEN3 = CASES["qwen2/seed"], CASES["qwen3/syn-00"]
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
WINDOW = {"use_sliding_window": True, "sliding_window": 8}

DROPPED: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "a window": (
        WINDOW | {"max_window_layers": 0},
        ("max_window_layers", "sliding_window", "use_sliding_window"),
    ),
    "a window by default": (
        {"use_sliding_window": True, "max_window_layers": 1},
        ("max_window_layers", "use_sliding_window"),
    ),
    "scaled rotation": ({"rope_scaling": YARN}, ("rope_scaling",)),
    "scaled rotation, new style": ({"rope_parameters": YARN}, ("rope_parameters",)),
    "another base, new style": (
        {"rope_parameters": {"rope_theta": 1.0, "rope_type": "default"}},
        ("rope_parameters",),
    ),
    "another head size": ({"head_dim": 8}, ("head_dim",)),
    "mixed layers": ({"layer_types": ["full_attention", "sliding_attention"]}, ("layer_types",)),
    "partial rotation": ({"partial_rotary_factor": 0.5}, ("partial_rotary_factor",)),
    "multimodal rotation": ({"use_mrope": True}, ("use_mrope",)),
    "another head": ({"architectures": ["Qwen2ForSequenceClassification"]}, ("architectures",)),
    "quantised weights": ({"quantization_config": {"quant_method": "gptq"}}, ("quantization_config",)),
    "a key nobody knows": ({"mystery": 1, "riddle": False}, ("mystery", "riddle")),
}
HARMLESS: dict[str, dict[str, Any]] = {
    "a window that is off": {"use_sliding_window": False, "sliding_window": 8, "max_window_layers": 1},
    "a window above all layers": WINDOW | {"max_window_layers": 2},
    "a window of null": {"use_sliding_window": True, "sliding_window": None},
    "no scaling": {"rope_scaling": None},
    "plain rotation, new style": {"rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}},
    "the usual head size": {"head_dim": 16},
    "full layers": {"layer_types": ["full_attention", "full_attention"]},
    "a bias key that this family ignores": {"attention_bias": False},
    "bookkeeping": {
        "architectures": ["Qwen2ForCausalLM"],
        "torch_dtype": "bfloat16",
        "transformers_version": "4.40.1",
        "bos_token_id": 1,
        "eos_token_id": [2, 3],
        "initializer_range": 0.02,
        "attention_dropout": 0.1,
        "use_cache": False,
    },
}


@pytest.mark.parametrize("name", DROPPED)
def test_dropped_keys_are_named(name: str) -> None:
    extra, keys = DROPPED[name]
    config = {**QWEN2["config"], **extra}
    with pytest.raises(NotFaithful) as refusal:
        decoder_plan(config, **QWEN2["workload"])
    assert sorted(refusal.value.keys) == sorted(keys)
    assert all(refusal.value.reasons.values())
    assert "lossy" in str(refusal.value)
    plan = decoder_plan(config, **QWEN2["workload"], lossy=True)
    assert plan.digest == QWEN2["expect"]["decoder_plan_digest"]


@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_keys_are_not(name: str) -> None:
    plan = decoder_plan({**QWEN2["config"], **HARMLESS[name]}, **QWEN2["workload"])
    assert plan.digest == QWEN2["expect"]["decoder_plan_digest"]


def test_qwen3_says_its_own_keys() -> None:
    assert decoder_plan(QWEN3["config"], **QWEN3["workload"]).digest == QWEN3["expect"]["decoder_plan_digest"]
    with pytest.raises(NotFaithful) as refusal:
        decoder_plan({**QWEN3["config"], "mystery": 1}, **QWEN3["workload"])
    assert refusal.value.keys == ("mystery",)


def test_rounded_scaling_factor_is_named() -> None:
    case = CASES["phi/syn-07"]
    config = {**case["config"], "max_position_embeddings": 255}
    with pytest.raises(NotFaithful) as refusal:
        decoder_plan(config, **case["workload"])
    assert refusal.value.keys == ("original_max_position_embeddings", "model_type")


@pytest.mark.parametrize("key", sorted(set(QWEN2["config"]) - {"model_type", "hidden_act"}))
def test_every_key_of_the_format_shows_in_the_plan(key: str) -> None:
    value = QWEN2["config"][key]
    other = (not value) if isinstance(value, bool) else value * 2
    plan = decoder_plan({**QWEN2["config"], key: other}, **QWEN2["workload"])
    assert plan.digest != QWEN2["expect"]["decoder_plan_digest"]
