"""The sizes of every op that KV-cache eviction adds or changes, against those observed in the SDK."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pllm_lang.models import ModelGraph, lower_model
from pllm_lang.models.graph import Stage
from pllm_lang.models.passes import KvCacheEvictionPolicy, evict_kv_cache

OBSERVED = json.loads((Path(__file__).parents[1] / "data/kv_cache_eviction/observed.json").read_text("utf-8"))
OPERATORS = (
    "attention_importance", "secure_top_k", "shared_indices", "cache_active_indices", "cluster_bounds",
    "cluster_similarity", "secure_gather", "attention_scores", "causal_mask", "softmax", "attention_values",
)  # fmt: skip


@pytest.mark.parametrize("case", OBSERVED, ids=lambda case: str(case["policy"]))
def test_same_operators_and_shapes(case: dict[str, Any]) -> None:
    policy = {
        key: tuple(value) if isinstance(value, list) else value for key, value in case["policy"].items()
    }
    graph = lower_model(
        case["config"],
        batch=1,
        max_input_tokens=case["max_input_tokens"],
        max_new_tokens=case["max_new_tokens"],
    ).graph
    evicted: ModelGraph = evict_kv_cache(graph, KvCacheEvictionPolicy(**policy))
    for stage in (evicted.prefill, evicted.decode):
        assert _rows(stage) == case["stages"][stage.mode]


def _rows(stage: Stage) -> dict[str, list[list[Any]]]:
    return {
        str(layer): [[op.operator, list(op.shape)] for op in repeat.ops if op.operator in OPERATORS]
        for repeat in stage.layers
        for layer in repeat.layers
    }
