"""The text means what the graph means: both give the same logits for prefill and three decode steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pllm_lang.cli.checking import check_files
from pllm_lang.ir.plan import Stage
from pllm_lang.models import ModelGraph, lower_model
from pllm_lang.models.text.model import model_text
from pllm_lang.runtime.semantic.reference import generate, with_parts
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


TWO_IN_A_TURN = [*("full", "shared", "full"), *("full", "shared", "full"), *("shared", "full", "full")]
"""Two layers of one turn of the pattern choose positions anew."""

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
    ("nemotron_h", {"layers_block_type": ["linear_attention", "mlp"]}),
    ("nemotron_h", {"layers_block_type": ["mlp", "moe"]}),
    ("lfm2", {"num_hidden_layers": 2, "layer_types": ["conv", "conv"]}),
    (
        "glm_moe_dsa",
        {"num_hidden_layers": 6, "indexer_types": ["full", "shared", "full", "full", "shared", "shared"]},
    ),
    ("glm_moe_dsa", {"num_hidden_layers": 9, "first_k_dense_replace": 9, "indexer_types": TWO_IN_A_TURN}),
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


def agree(graph: ModelGraph, before: ModelGraph | None = None) -> None:
    """Text and graph give the same logits for prefill and three decode steps, with random weights; those of `before`,
    where passes have put weights together."""
    text = opened(model_text(graph))
    assert [found.message for found in text.findings] == []
    work = graph.workload
    tokens = np.array([[3, 1, 4, 1, 5, 9], [2, 7, 1, 8, 2, 8]])[: work.batch, : work.max_input_tokens]
    steps = np.array([[9, 2, 6], [8, 1, 4]])[: work.batch]
    theirs = generate(graph, random_weights(before or graph), tokens, steps)
    ours = run(graph, text, tokens, steps, before or graph)
    assert np.std(theirs) > 0.05
    assert np.abs(np.array(theirs) - np.array(ours)).max() < TOLERANCE


@pytest.mark.parametrize("model_type", sorted({model_type for model_type, _ in FAMILIES}))
def test_the_text_of_every_family_is_accepted(model_type: str) -> None:
    text = model_text(graph_of({"model_type": model_type} | TINY[model_type]))
    checked = check_files(["/nowhere/model.pllm"], "/nowhere", {"/nowhere/model.pllm": text})
    assert [found.message for found in checked.findings] == []
    assert [report.accepted for report in checked.reports] == [True]


def run(
    graph: ModelGraph, text: Text, tokens: Any, steps: Any, before: ModelGraph | None = None
) -> list[Any]:
    machine = Machine(text.plan, text.library, families(graph, text, before or graph))
    prefill, decode = text.plan.stages
    size = graph.prefill.query
    for start in range(0, tokens.shape[1], size):
        at = np.arange(start, start + size)
        last = step(machine, prefill, tokens[:, start : start + size], at)
    logits = [last]
    for index in range(steps.shape[1]):
        at = np.array([tokens.shape[1] + index])
        logits.append(step(machine, decode, steps[:, index : index + 1], at))
    return logits


def step(machine: Machine, stage: Stage, tokens: Any, positions: Any) -> Any:
    """The logits of one run; a decoder without attention takes no positions."""
    return machine.run(stage, [tokens, positions][: len(stage.inputs)])[0]


def families(graph: ModelGraph, text: Text, before: ModelGraph) -> dict[int, Any]:
    """Random weights in the order of their declaration; caches that hold something which is not to be seen."""
    source = with_parts(graph, random_weights(before))
    scales = {weight.scale_of: weight.value for weight in text.plan.weights if weight.scale_of >= 0}
    declarations = [weight for weight in text.plan.weights if weight.scale_of < 0]
    found: dict[int, Any] = {}
    for weight, declared in zip(graph.weights, declarations, strict=True):
        members = [source(weight.name, layer) for layer in weight.layers or (None,)]
        if weight.bits:
            if weight.name in stored_turned(graph):
                members = [np.swapaxes(member, -1, -2) for member in members]
            stored = [integers(member, weight.bits) for member in members]
            members, steps = [one for one, _ in stored], [step for _, step in stored]
            found[scales[declared.value]] = steps if weight.layers else steps[0]
        assert all(member.shape == declared.type.shape for member in members)
        found[declared.value] = members if weight.layers else members[0]
    for state in text.plan.states:
        found[state.value] = [np.full(state.type.shape, 7.5) for _ in range(state.count)]
    return found


def stored_turned(graph: ModelGraph) -> set[str]:
    """Weights that are stored as [in, out]: their integers stand in the text as [out, in], so that a row has one
    scale."""
    ops = [op for repeat in graph.prefill.layers for op in repeat.ops]
    return {op.weights["weight"] for op in ops if op.attributes.get("stored") == "in_out"}


def integers(weight: Any, bits: int) -> tuple[Any, Any]:
    """Signed integers and one scale a row, as the pass says: `max|row| / (2^(bits-1) - 1)`, ties to even."""
    step = np.abs(weight).max(-1) / (2 ** (bits - 1) - 1)
    return np.round(weight / step[..., None]), step
