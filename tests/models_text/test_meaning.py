"""The text means what the graph means: both give the same logits for prefill and three decode steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pllm_lang.cli.checking import check_files
from pllm_lang.models import ModelGraph, lower_model
from pllm_lang.models.text.model import model_text
from pllm_lang.runtime.semantic.reference import generate
from tests.models.random_weights import random_weights
from tests.models.tiny_configs import TINY, Config, rope
from tests.models_text.lowered import Text, graph_of, opened
from tests.models_text.plan_in_numpy import Machine

TOLERANCE = 1e-7
"""The reference takes the error function as 1 from 4 on, which is 1.5e-8 off."""

LLAMA3 = {"factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}


def longrope(original: int) -> Config:
    """Five tokens and three more: all within 32 original positions, all beyond 4, and prefill just within 5."""
    factors = {"short_factor": [1.0, 1.1, 1.2, 1.3], "long_factor": [1.0, 2.0, 3.0, 4.0]}
    return rope("longrope", original_max_position_embeddings=original, **factors) | {
        "original_max_position_embeddings": original
    }


FAMILIES: list[tuple[str, Config]] = [
    *((model_type, {}) for model_type in sorted(TINY)),
    ("llama", rope("linear", factor=4.0)),
    ("llama", rope("llama3", original_max_position_embeddings=16, **LLAMA3)),
    ("llama", rope("llama3", original_max_position_embeddings=16, **LLAMA3 | {"high_freq_factor": 1.0})),
    ("llama", rope("dynamic", factor=4.0)),
    ("llama", rope("yarn", factor=4.0, original_max_position_embeddings=16)),
    (
        "llama",
        rope("yarn", theta=50.0, factor=3.0, original_max_position_embeddings=40, attention_factor=0.5),
    ),
    ("mistral", {"sliding_window": 3}),
    ("mistral", {"sliding_window": 1}),
    ("phi3", longrope(original=32)),
    ("phi3", longrope(original=4)),
    ("phi3", longrope(original=5)),
]


@pytest.mark.parametrize(("model_type", "change"), FAMILIES, ids=str)
def test_text_and_graph_give_the_same_logits(model_type: str, change: Config) -> None:
    agree(graph_of({"model_type": model_type} | TINY[model_type] | change))


@pytest.mark.parametrize(
    "model_type", ["gpt2", "llama", "mimo_v2_flash", "nemotron_h", "qwen3_next", "glm_moe_dsa"]
)
def test_several_sequences_give_the_same_logits(model_type: str) -> None:
    """Learned positions, rotary ones, a sink, states of both kinds, a choice of positions."""
    config = {"model_type": model_type} | TINY[model_type]
    agree(lower_model(config, batch=2, max_input_tokens=5, max_new_tokens=4).graph)


def agree(graph: ModelGraph) -> None:
    """Text and graph give the same logits for prefill and three decode steps, with random weights."""
    text = opened(model_text(graph))
    assert [found.message for found in text.findings] == []
    tokens = np.array([[3, 1, 4, 1, 5], [2, 7, 1, 8, 2]])[: graph.workload.batch]
    steps = np.array([[9, 2, 6], [8, 1, 4]])[: graph.workload.batch]
    theirs = generate(graph, random_weights(graph), tokens, steps)
    ours = run(graph, text, tokens, steps)
    assert np.std(theirs) > 0.05
    assert np.abs(np.array(theirs) - np.array(ours)).max() < TOLERANCE


@pytest.mark.parametrize("model_type", sorted({model_type for model_type, _ in FAMILIES}))
def test_the_text_of_every_family_is_accepted(model_type: str) -> None:
    text = model_text(graph_of({"model_type": model_type} | TINY[model_type]))
    checked = check_files(["/nowhere/model.pllm"], "/nowhere", {"/nowhere/model.pllm": text})
    assert [found.message for found in checked.findings] == []
    assert [report.accepted for report in checked.reports] == [True]


def run(graph: ModelGraph, text: Text, tokens: Any, steps: Any) -> list[Any]:
    machine = Machine(text.plan, text.library, families(graph, text))
    prefill, decode = text.plan.stages
    logits = [machine.run(prefill, [tokens, np.arange(tokens.shape[1])])[0]]
    for index in range(steps.shape[1]):
        at = np.array([tokens.shape[1] + index])
        logits.append(machine.run(decode, [steps[:, index : index + 1], at])[0])
    return logits


def families(graph: ModelGraph, text: Text) -> dict[int, Any]:
    """Random weights in the order of their declaration; caches that hold something which is not to be seen."""
    source = random_weights(graph)
    found: dict[int, Any] = {}
    for weight, declared in zip(graph.weights, text.plan.weights, strict=True):
        experts = (weight.experts,) if weight.experts else ()
        assert declared.type.shape == (*experts, *weight.shape)
        members = [source(weight.name, layer) for layer in weight.layers or (None,)]
        found[declared.value] = members if weight.layers else members[0]
    for state in text.plan.states:
        found[state.value] = [np.full(state.type.shape, 7.5) for _ in range(state.count)]
    return found
