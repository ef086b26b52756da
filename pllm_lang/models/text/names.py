"""Names of the printed plan: identifiers for weights, states and results that collide with nothing.

A weight keeps its checkpoint's name in the documentation line above it; its identifier is that name without the
parts that all share.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pllm_lang.models.graph import State, Weight

RESULTS = {
    "embedding": "embedded",
    "causal_mask": "masked",
    "attention_scores": "scores",
    "attention_scale": "scaled_scores",
    "scaled_scores": "scaled_shares",
    "attention_softcap": "capped_scores",
    "attention_values": "attended",
    "softmax": "probabilities",
    "last_token": "last",
    "scale": "scaled",
    "embedding_scale": "scaled_embedding",
}
"""Results whose name in the graph is that of an operator, or says less than another word."""


def result_name(name: str) -> str:
    return RESULTS.get(name, name)


def weight_names(weights: Iterable[Weight]) -> list[str]:
    """One identifier for each weight, in order. Weights of one name and different shapes are numbered."""
    found: list[str] = []
    for weight in weights:
        name = _identifier(weight.name)
        number = 2
        unique = name
        while unique in found:
            unique, number = f"{name}_{number}", number + 1
        found.append(unique)
    return found


def _identifier(path: str) -> str:
    path = path.split(".*.", 1)[-1] if ".*." in path else path.removeprefix("model.")
    return "w_" + re.sub(r"[^A-Za-z0-9]+", "_", path.removesuffix(".weight")).strip("_").lower()


def state_names(states: Iterable[State]) -> list[str]:
    """One identifier for each state: `key_cache`, or numbered where layers keep caches of several shapes."""
    found: list[str] = []
    for state in states:
        name = f"{state.name}_{state.kind}"
        number = 2
        unique = name
        while unique in found:
            unique, number = f"{name}_{number}", number + 1
        found.append(unique)
    return found
