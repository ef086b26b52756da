"""The graph's meaning: our reference and transformers give the same logits, and follow a changed key alike.

Tiny random models in float32; prefill of 12 tokens and three decode steps, two sequences.
"""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pllm_lang.models.graph import ModelGraph
from tests.models.tiny_configs import CHANGES, TINY, Config

TOLERANCE = 1e-4
CHANGED = [(model_type, change) for model_type, changes in CHANGES.items() for change in changes]

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def peer() -> Any:
    """The module that needs torch and transformers; loaded when a test runs, not when it is collected."""
    return importlib.import_module("tests.models.transformers_peer")


@cache
def _base(peer: Any, model_type: str, folder: Path) -> tuple[ModelGraph, np.ndarray]:
    graph, theirs, _ = peer.compare({"model_type": model_type} | TINY[model_type], folder)
    return graph, theirs


@pytest.mark.parametrize("model_type", sorted(TINY))
def test_logits_agree(peer: Any, model_type: str, tmp_path: Path) -> None:
    _, theirs, ours = peer.compare({"model_type": model_type} | TINY[model_type], tmp_path)
    assert theirs.std() > 0.05
    assert np.abs(theirs - ours).max() < TOLERANCE


def _name(value: object) -> str:
    return value if isinstance(value, str) else ",".join(f"{k}={v}" for k, v in dict(value).items())[:60]  # type: ignore[call-overload]


@pytest.mark.parametrize(("model_type", "change"), CHANGED, ids=_name)
def test_a_changed_key_changes_both_alike(
    peer: Any, model_type: str, change: Config, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    before, their_base = _base(peer, model_type, tmp_path_factory.getbasetemp() / f"base-{model_type}")
    after, theirs, ours = peer.compare({"model_type": model_type} | TINY[model_type] | change, tmp_path)
    assert (before.prefill, before.decode, before.weights) != (after.prefill, after.decode, after.weights)
    assert np.abs(theirs - their_base).max() > 5 * TOLERANCE
    assert np.abs(theirs - ours).max() < TOLERANCE
