"""A semantic key that changes changes the plan's digest, and text and graph still mean the same."""

from __future__ import annotations

import numpy as np
import pytest

from pllm_lang.models import LoweringError
from pllm_lang.models.text.model import model_text
from pllm_lang.runtime.semantic.reference import generate
from tests.models.random_weights import random_weights
from tests.models.tiny_configs import CHANGES, TINY, Config
from tests.models_text.lowered import graph_of, opened, text_of
from tests.models_text.test_meaning import FAMILIES, TOLERANCE, run

WRITTEN = sorted({model_type for model_type, _ in FAMILIES} & set(CHANGES))
CHANGED = [(model_type, change) for model_type in WRITTEN for change in CHANGES[model_type]]
NOT_WRITTEN = {
    "cohere": ("use_qk_norm",),
    "stablelm": ("qk_layernorm",),
    "opt": ("layer_norm_elementwise_affine",),
}
"""What occurs in the changes of a family and has no form in the text."""


def _is_written(model_type: str, change: Config) -> bool:
    return not any(word in str(change) for word in NOT_WRITTEN.get(model_type, ()))


def _name(value: object) -> str:
    return value if isinstance(value, str) else str(value)[:60]


@pytest.mark.parametrize(("model_type", "change"), [c for c in CHANGED if _is_written(*c)], ids=_name)
def test_a_changed_key_changes_the_digest_and_not_the_agreement(model_type: str, change: Config) -> None:
    base: Config = {"model_type": model_type} | TINY[model_type]
    graph = graph_of(base | change)
    text = opened(model_text(graph))
    assert text.findings == ()
    assert text.digest != opened(text_of(base)).digest
    tokens, steps = np.array([[3, 1, 4, 1, 5]]), np.array([[9, 2, 6]])
    theirs = np.array(generate(graph, random_weights(graph), tokens, steps))
    assert np.abs(theirs - np.array(run(graph, text, tokens, steps))).max() < TOLERANCE


@pytest.mark.parametrize(("model_type", "change"), [c for c in CHANGED if not _is_written(*c)], ids=_name)
def test_what_the_text_cannot_say_is_refused_by_name(model_type: str, change: Config) -> None:
    with pytest.raises(LoweringError) as refused:
        text_of({"model_type": model_type} | TINY[model_type] | change)
    assert refused.value.code == "text.operator"


@pytest.mark.parametrize("key", ["vocab_size", "max_position_embeddings", "num_hidden_layers", "hidden_size"])
def test_a_changed_size_changes_the_digest(key: str) -> None:
    base: Config = {"model_type": "llama"} | TINY["llama"]
    changed = opened(text_of(base | {key: base[key] * 2}))
    assert changed.digest != opened(text_of(base)).digest


def test_a_changed_workload_changes_the_digest() -> None:
    base: Config = {"model_type": "llama"} | TINY["llama"]
    digests = {opened(text_of(base, *sizes)).digest for sizes in ((5, 4), (6, 4), (5, 5))}
    assert len(digests) == 3
