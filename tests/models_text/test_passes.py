"""Models behind passes as text: accepted, and the same logits as the graph that the passes give."""

from __future__ import annotations

import pytest

from pllm_lang.cli.checking import check_files
from pllm_lang.models import LoweringError, ModelGraph, lower_model
from pllm_lang.models.passes import chunk_prefill, evict_kv_cache, fuse_qkv, quantize_weights
from pllm_lang.models.passes.apply import PassUse, apply_passes, id_of
from pllm_lang.models.passes.kv_cache_eviction import KvCacheEvictionPolicy
from pllm_lang.models.text.model import model_text
from tests.models.tiny_configs import TINY
from tests.models_text.test_meaning import agree


def six_tokens(model_type: str) -> ModelGraph:
    config = {"model_type": model_type} | TINY[model_type]
    return lower_model(config, batch=1, max_input_tokens=6, max_new_tokens=4).graph


def accepted(graph: ModelGraph) -> bool:
    text = model_text(graph)
    checked = check_files(["/nowhere/model.pllm"], "/nowhere", {"/nowhere/model.pllm": text})
    assert [found.message for found in checked.findings] == []
    return all(report.accepted for report in checked.reports)


@pytest.mark.parametrize("bits", [8, 4, 5])
@pytest.mark.parametrize("model_type", ["gpt2", "llama", "qwen3_5_moe_text", "gpt_oss"])
def test_quantised_weights(model_type: str, bits: int) -> None:
    """Weights stored as [in, out], plain ones, recurrent layers, experts with and without a bias."""
    graph = quantize_weights(six_tokens(model_type), bits)
    agree(graph)
    assert accepted(graph)


@pytest.mark.parametrize("model_type", ["llama", "qwen2", "gemma2"])
def test_fused_projections(model_type: str) -> None:
    before = six_tokens(model_type)
    graph = fuse_qkv(before)
    agree(graph, before)
    assert accepted(graph)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("model_type", ["llama", "gemma2", "qwen3_next", "nemotron_h", "lfm2", "deepseek_v3"])
def test_prefill_in_chunks(model_type: str, size: int) -> None:
    """Caches, windows, and states that begin with zeros."""
    graph = chunk_prefill(six_tokens(model_type), size)
    agree(graph)
    assert accepted(graph)


def test_passes_after_each_other() -> None:
    before = six_tokens("qwen2")
    graph = chunk_prefill(fuse_qkv(quantize_weights(before, 8)), 3)
    agree(graph, before)
    text = model_text(graph)
    for line in ("## Pass quantize_weights(bits: 8)", "## Pass fuse_qkv()", "## Pass chunk_prefill(size: 3)"):
        assert f"{line}\n" in text


def test_an_eviction_has_no_form() -> None:
    graph = evict_kv_cache(six_tokens("llama"), KvCacheEvictionPolicy(cluster_sizes=(2,)))
    with pytest.raises(LoweringError) as refused:
        model_text(graph)
    assert refused.value.code == "text.pass"


def test_a_pass_by_its_name_is_the_pass() -> None:
    graph = six_tokens("llama")
    named = (PassUse(id_of("quantize_weights"), {"bits": 8}), PassUse(id_of("chunk_prefill"), {"size": 2}))
    assert apply_passes(graph, named) == chunk_prefill(quantize_weights(graph, 8), 2)
    evicted = PassUse(id_of("kv_cache_eviction"), {"cluster_sizes": (2, 1), "share_adjacent_layers": "false"})
    policy = KvCacheEvictionPolicy(cluster_sizes=(2, 1), share_adjacent_layers=False)
    assert apply_passes(graph, (evicted,)) == evict_kv_cache(graph, policy)


@pytest.mark.parametrize(
    ("use", "code"),
    [
        (PassUse("mystery"), "pass.unknown"),
        (PassUse(id_of("quantize_weights")), "pass.parameter"),
        (PassUse(id_of("quantize_weights"), {"bits": "many"}), "pass.parameter"),
        (PassUse(id_of("quantize_weights"), {"bits": 99}), "pass.parameter"),
        (PassUse(id_of("quantize_weights"), {"bits": 8, "rows": 1}), "pass.parameter"),
        (PassUse(id_of("kv_cache_eviction"), {"alpha": (1, 2)}), "pass.parameter"),
        (PassUse(id_of("kv_cache_eviction"), {"cluster_sizes": 3}), "pass.parameter"),
        (PassUse(id_of("kv_cache_eviction"), {"implementation": "other"}), "pass.parameter"),
        (PassUse(id_of("kv_cache_eviction"), {"share_adjacent_layers": 1}), "pass.parameter"),
    ],
)
def test_a_pass_that_does_not_fit_is_refused(use: PassUse, code: str) -> None:
    with pytest.raises(LoweringError) as refused:
        apply_passes(six_tokens("llama"), (use,))
    assert refused.value.code == code
