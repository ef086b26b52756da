"""Layers in any order: the text says the same as the graph, however layers repeat or do not."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.models.tiny_configs import TINY
from tests.models_text.lowered import graph_of
from tests.models_text.test_meaning import agree

WINDOWS = ("sliding_attention", "full_attention")
KINDS = {
    "gemma3_text": ("layer_types", WINDOWS),
    "gemma4_text": ("layer_types", WINDOWS),
    "cohere2": ("layer_types", WINDOWS),
    "lfm2": ("layer_types", ("conv", "full_attention")),
    "qwen3_next": ("layer_types", ("linear_attention", "full_attention")),
    "nemotron_h": ("layers_block_type", ("linear_attention", "moe", "full_attention", "mlp")),
    "glm_moe_dsa": ("indexer_types", ("full", "shared")),
    "llama4_text": ("no_rope_layers", (0, 1)),
}
"""The key that orders the layers of a family, and its words."""


@st.composite
def configs(draw: st.DrawFn) -> dict[str, Any]:
    model_type = draw(st.sampled_from(sorted(KINDS)))
    key, words = KINDS[model_type]
    order = draw(st.lists(st.sampled_from(words), min_size=2, max_size=9))
    config = {"model_type": model_type} | TINY[model_type] | {"num_hidden_layers": len(order), key: order}
    if model_type == "nemotron_h":
        del config["num_hidden_layers"]
    if model_type == "glm_moe_dsa":
        config |= {key: ["full", *order[1:]], "first_k_dense_replace": draw(st.integers(0, len(order)))}
    if model_type == "llama4_text":
        config["moe_layers"] = draw(st.lists(st.integers(0, len(order) - 1), unique=True).map(sorted))
    return config


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(configs())
def test_layers_in_any_order(config: dict[str, Any]) -> None:
    agree(graph_of(config))
