"""How many parameters a graph's weights hold. A tied head is the embedding itself and counts once."""

from __future__ import annotations

from math import prod

from pllm_lang.models.graph import ModelGraph, Weight


def parameter_count(graph: ModelGraph) -> int:
    return sum(family_size(weight) for weight in graph.weights)


def family_size(weight: Weight) -> int:
    """Entries of all members of a family: every layer's and every expert's."""
    return prod(weight.shape) * max(1, len(weight.layers)) * max(1, weight.experts)
