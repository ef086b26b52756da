"""A document made from a lowered plan is compared with its graph: two readings of one configuration."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

import pllm_lang
from pllm_lang.interchange import NotFaithful, decoder_plan, evict_kv_cache, experiment_spec
from pllm_lang.interchange.decoder.agreement import disagreement
from pllm_lang.models.graph import ModelGraph, Op, Stage
from tests.interchange.cases import params
from tests.interchange.test_model_conformance import NOT_FAITHFUL

DENSE = [
    p
    for p in params("model_valid")
    if p.values[0]["expect"]["model_family"] in {"qwen2", "qwen3"} and "config" in p.values[0]
]
NOT_LOWERED = {"qwen2/syn-14", "qwen2/syn-17", "qwen3/syn-05"}
"""Configurations whose epsilon is a text, which `lower_model` does not read."""


@pytest.mark.parametrize("case", [p for p in DENSE if p.values[0]["id"] not in NOT_LOWERED])
def test_both_readings_agree_wherever_the_format_is_faithful(case: dict[str, Any]) -> None:
    plan = pllm_lang.lower_model(case["config"], **case["workload"])
    document = decoder_plan(case["config"], **case["workload"], lossy=True)
    assert document.digest == case["expect"]["decoder_plan_digest"]
    assert decoder_plan(plan, lossy=True) == plan.decoder_plan(lossy=True) == document
    if case["id"] in NOT_FAITHFUL:
        with pytest.raises(NotFaithful):
            decoder_plan(plan)
    else:
        assert disagreement(document.document, plan.graph) == ""
        assert decoder_plan(plan) == document


CONFIG = {
    "model_type": "qwen2",
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 100,
    "max_position_embeddings": 128,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "tie_word_embeddings": True,
}
SIZES = {"batch": 1, "max_input_tokens": 16, "max_new_tokens": 4}


def changed(graph: ModelGraph, name: str, **values: Any) -> ModelGraph:
    """The graph with one operation of decode changed."""

    def op(one: Op) -> Op:
        return msgspec.structs.replace(one, **values) if one.name == name else one

    def body(stage: Stage) -> Stage:
        layers = tuple(
            msgspec.structs.replace(repeat, ops=tuple(map(op, repeat.ops))) for repeat in stage.layers
        )
        return msgspec.structs.replace(stage, layers=layers, after=tuple(map(op, stage.after)))

    return msgspec.structs.replace(graph, decode=body(graph.decode))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("q_proj", {"shape": (1, 1, 65)}),
        ("q_proj", {"weights": {"weight": "model.layers.*.self_attn.q_proj.weight"}}),
        ("input_norm", {"attributes": {"eps": "0.00001"}}),
        ("q_rotary", {"attributes": {"theta": "10001", "dims": 16}}),
        ("k_rotary", {"operator": "add"}),
        ("lm_head", {"weights": {"weight": "lm_head.weight"}}),
    ],
)
def test_a_difference_is_seen(name: str, values: dict[str, Any]) -> None:
    plan = pllm_lang.lower_model(CONFIG, **SIZES)
    document = decoder_plan(plan).document
    assert disagreement(document, plan.graph) == ""
    assert disagreement(document, changed(plan.graph, name, **values)).startswith("decode: ")


def test_another_number_of_layers_or_positions_is_seen() -> None:
    plan = pllm_lang.lower_model(CONFIG, **SIZES)
    fewer = pllm_lang.lower_model(CONFIG | {"num_hidden_layers": 1}, **SIZES)
    longer = pllm_lang.lower_model(CONFIG, **(SIZES | {"max_new_tokens": 5}))
    document = decoder_plan(plan).document
    assert disagreement(document, fewer.graph)
    assert disagreement(document, longer.graph) == "the states differ in number, kind or size"


def test_passes_of_a_plan_are_applied_or_named() -> None:
    plan = pllm_lang.lower_model(CONFIG, **SIZES)
    eviction = pllm_lang.passes.KvCacheEviction(cluster_sizes=(8, 4))
    assert decoder_plan(plan.apply(eviction)) == evict_kv_cache(decoder_plan(plan), eviction.to_spec())
    with pytest.raises(NotFaithful) as refusal:
        decoder_plan(plan.apply(pllm_lang.passes.QuantizeWeights(bits=8)), lossy=True)
    assert refusal.value.keys == ("pllm-lang/quantize-weights",)


def test_an_experiment_of_python_shows_its_document() -> None:
    source = pllm_lang.sources.TinyModel("qwen2")
    found = pllm_lang.Experiment(
        "x",
        pllm_lang.profiles.MaskedLinearCpu(source),
        pllm_lang.Deployment.local(root="local://x"),
        pllm_lang.ExecutionBudget(1, 2, 3),
    )
    assert experiment_spec(found) == found.to_spec()
