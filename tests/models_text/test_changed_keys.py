"""A semantic key that changes changes the plan's digest, and text and graph still mean the same."""

from __future__ import annotations

import numpy as np
import pytest

from pllm_lang.models.text.model import model_text
from pllm_lang.runtime.semantic.reference import generate
from tests.models.random_weights import random_weights
from tests.models.tiny_configs import CHANGES, TINY, Config
from tests.models_text.lowered import graph_of, opened, text_of
from tests.models_text.test_meaning import TOLERANCE, run

CHANGED = [(model_type, change) for model_type in sorted(CHANGES) for change in CHANGES[model_type]]


def _name(value: object) -> str:
    return value if isinstance(value, str) else str(value)[:60]


@pytest.mark.parametrize(("model_type", "change"), CHANGED, ids=_name)
def test_a_changed_key_changes_the_digest_and_not_the_agreement(model_type: str, change: Config) -> None:
    base: Config = {"model_type": model_type} | TINY[model_type]
    graph = graph_of(base | change)
    text = opened(model_text(graph))
    assert text.findings == ()
    assert text.digest != opened(text_of(base)).digest
    tokens, steps = np.array([[3, 1, 4, 1, 5]]), np.array([[9, 2, 6]])
    theirs = np.array(generate(graph, random_weights(graph), tokens, steps))
    assert np.abs(theirs - np.array(run(graph, text, tokens, steps))).max() < TOLERANCE


@pytest.mark.parametrize("key", ["vocab_size", "max_position_embeddings", "num_hidden_layers", "hidden_size"])
def test_a_changed_size_changes_the_digest(key: str) -> None:
    base: Config = {"model_type": "llama"} | TINY["llama"]
    changed = opened(text_of(base | {key: base[key] * 2}))
    assert changed.digest != opened(text_of(base)).digest


def test_a_changed_workload_changes_the_digest() -> None:
    base: Config = {"model_type": "llama"} | TINY["llama"]
    digests = {opened(text_of(base, *sizes)).digest for sizes in ((5, 4), (6, 4), (5, 5))}
    assert len(digests) == 3
