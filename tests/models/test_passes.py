"""Passes: what they compute is what the graph computed before, or what their definition says; what does not
fit is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from pllm_lang.models import LoweringError, ModelGraph, graph_digest, lower_model, parameter_count
from pllm_lang.models.passes import (
    KvCacheEvictionPolicy,
    chunk_prefill,
    evict_kv_cache,
    fuse_qkv,
    quantize_weights,
)
from pllm_lang.runtime.semantic.reference import generate
from tests.models.random_weights import random_weights
from tests.models.tiny_configs import TINY

PROMPT, NEW = 12, 4


def graph_of(model_type: str, **changes: Any) -> ModelGraph:
    config = {"model_type": model_type} | TINY[model_type] | changes
    return lower_model(config, batch=2, max_input_tokens=PROMPT, max_new_tokens=NEW).graph


def logits(graph: ModelGraph, weights: Callable[[str, int | None], np.ndarray]) -> np.ndarray:
    tokens = np.random.default_rng(3).integers(0, 61, (2, PROMPT + NEW - 1))
    return np.stack(generate(graph, weights, tokens[:, :PROMPT], tokens[:, PROMPT:]))


@pytest.mark.parametrize("model_type", sorted(TINY))
@pytest.mark.parametrize("size", [1, 4, 6])
def test_chunked_prefill_computes_the_same(model_type: str, size: int) -> None:
    graph = graph_of(model_type)
    chunked = chunk_prefill(graph, size)
    assert (chunked.prefill.steps, chunked.prefill.query) == (PROMPT // size, size)
    weights = random_weights(graph)
    assert np.allclose(logits(chunked, weights), logits(graph, weights), rtol=0, atol=1e-9)


@pytest.mark.parametrize("model_type", ["llama", "qwen2", "gemma3_text", "olmo2", "qwen3_moe", "mistral"])
def test_fused_projections_compute_the_same(model_type: str) -> None:
    graph = graph_of(model_type)
    fused = fuse_qkv(graph)
    assert parameter_count(fused) == parameter_count(graph)
    operators = [op.name for repeat in fused.decode.layers for op in repeat.ops if op.operator == "linear"]
    assert "qkv_proj" in operators
    assert "k_proj" not in operators
    weights = random_weights(graph)
    assert np.allclose(logits(fused, weights), logits(graph, weights), rtol=0, atol=1e-9)


def test_quantized_weights_lie_on_the_grid() -> None:
    """Eight bits change the logits a little, three bits a lot; sixteen hardly."""
    graph = graph_of("llama")
    weights = random_weights(graph)
    exact = logits(graph, weights)
    errors = [np.abs(logits(quantize_weights(graph, bits), weights) - exact).max() for bits in (3, 8, 16)]
    assert errors[0] > 10 * errors[1] > 1000 * errors[2] > 0


def test_quantization_leaves_embedding_norms_and_tied_head() -> None:
    kept = {
        w.name for w in quantize_weights(graph_of("llama", tie_word_embeddings=True), 8).weights if not w.bits
    }
    assert "model.embed_tokens.weight" in kept
    assert "model.norm.weight" in kept
    assert "model.layers.*.mlp.up_proj.weight" not in kept
    assert "lm_head.weight" not in {
        w.name for w in quantize_weights(graph_of("llama"), 8).weights if not w.bits
    }


@pytest.mark.parametrize("model_type", ["llama", "qwen2", "qwen3", "olmo2", "gpt2", "granite"])
@pytest.mark.parametrize("sizes", [(1,), (4, 2), (8, 4, 1)])
def test_eviction_that_keeps_everything_changes_nothing(model_type: str, sizes: tuple[int, ...]) -> None:
    graph = graph_of(model_type)
    policy = KvCacheEvictionPolicy(
        static_keep=(1, 1), dynamic_keep=(1, 1), cluster_sizes=sizes, share_adjacent_layers=False
    )
    weights = random_weights(graph)
    evicted = evict_kv_cache(graph, policy)
    assert np.allclose(logits(evicted, weights), logits(graph, weights), rtol=0, atol=1e-9)


def test_eviction_changes_what_attention_sees() -> None:
    graph = graph_of("llama", num_hidden_layers=5)
    weights = random_weights(graph)
    evicted = evict_kv_cache(graph, KvCacheEvictionPolicy(cluster_sizes=(4, 2)))
    before, after = logits(graph, weights), logits(evicted, weights)
    assert np.allclose(before[0], after[0])
    assert np.abs(before[1:] - after[1:]).max() > 0.01


def test_eviction_keeps_the_capacity_of_caches() -> None:
    graph = graph_of("llama")
    evicted = evict_kv_cache(graph, KvCacheEvictionPolicy())
    assert evicted.states[: len(graph.states)] == graph.states
    assert [state.name for state in evicted.states[len(graph.states) :]] == ["cache_indices"]


PASSES: dict[str, Callable[[ModelGraph], ModelGraph]] = {
    "chunk_prefill": lambda graph: chunk_prefill(graph, 4),
    "fuse_qkv": fuse_qkv,
    "kv_cache_eviction": lambda graph: evict_kv_cache(graph, KvCacheEvictionPolicy()),
    "quantize_weights": lambda graph: quantize_weights(graph, 8),
}


@pytest.mark.parametrize("name", sorted(PASSES))
def test_lineage_and_second_application(name: str) -> None:
    graph = graph_of("llama")
    once = PASSES[name](graph)
    assert [step.name for step in once.transformations] == [name]
    assert once.transformations[0].input_digest == graph_digest(graph)
    assert graph_digest(once) != graph_digest(graph)
    with pytest.raises(LoweringError, match="already applied") as caught:
        PASSES[name](once)
    assert caught.value.code == "pass.applied_twice"


@pytest.mark.parametrize("order", [("chunk_prefill", "fuse_qkv"), ("fuse_qkv", "chunk_prefill")])
def test_passes_compose_in_any_order(order: tuple[str, ...]) -> None:
    graph = quantize_weights(graph_of("llama"), 6)
    after = graph
    for name in order:
        after = PASSES[name](after)
    assert [step.name for step in after.transformations] == ["quantize_weights", *order]
    weights = random_weights(graph)
    assert np.allclose(logits(after, weights), logits(graph, weights), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", sorted(PASSES))
def test_a_state_that_prefill_does_not_hand_over_is_refused(name: str) -> None:
    graph = graph_of("llama")
    body = graph.prefill.layers[0]
    broken = msgspec.structs.replace(body, writes={"key": body.writes["key"]})
    graph = msgspec.structs.replace(graph, prefill=msgspec.structs.replace(graph.prefill, layers=(broken,)))
    with pytest.raises(LoweringError, match="decode reads state 'value' of layer 0") as caught:
        PASSES[name](graph)
    assert caught.value.code == "pass.handover"


@pytest.mark.parametrize(
    ("code", "word", "attempt"),
    [
        (
            "pass.state",
            "layer 0: the key cache keeps 4 of 15",
            lambda: PASSES["kv_cache_eviction"](graph_of("mistral")),
        ),
        ("pass.state", "layer 0 must hand over", lambda: PASSES["kv_cache_eviction"](graph_of("qwen3_next"))),
        ("pass.state", "latent, rotated_key", lambda: PASSES["kv_cache_eviction"](graph_of("deepseek_v3"))),
        ("pass.state", "ALiBi", lambda: PASSES["kv_cache_eviction"](graph_of("mpt"))),
        ("pass.state", "chunks", lambda: PASSES["kv_cache_eviction"](chunk_prefill(graph_of("llama"), 4))),
        (
            "pass.state",
            "static_importance",
            lambda: chunk_prefill(PASSES["kv_cache_eviction"](graph_of("llama")), 4),
        ),
        ("pass.parameter", "divide", lambda: chunk_prefill(graph_of("llama"), 5)),
        ("pass.parameter", "divide", lambda: chunk_prefill(graph_of("llama"), 0)),
        ("pass.parameter", "bits", lambda: quantize_weights(graph_of("llama"), 1)),
        ("pass.not_applicable", "q_proj", lambda: fuse_qkv(graph_of("gpt2"))),
        (
            "pass.parameter",
            "fall",
            lambda: evict_kv_cache(graph_of("llama"), KvCacheEvictionPolicy(cluster_sizes=(16, 32))),
        ),
        (
            "pass.parameter",
            "alpha",
            lambda: evict_kv_cache(graph_of("llama"), KvCacheEvictionPolicy(alpha=(3, 2))),
        ),
    ],
)
def test_refusals(code: str, word: str, attempt: Callable[[], ModelGraph]) -> None:
    with pytest.raises(LoweringError, match=word) as caught:
        attempt()
    assert caught.value.code == code


def test_a_quantised_checkpoint_is_not_quantised_again() -> None:
    graph = graph_of("llama", quantization_config={"quant_method": "fp8"})
    with pytest.raises(LoweringError, match="fp8") as caught:
        quantize_weights(graph, 8)
    assert caught.value.code == "pass.quantized"
