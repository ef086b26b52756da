"""Random weights for a graph, by the graph's own names and shapes."""

from __future__ import annotations

from collections.abc import Callable
from zlib import crc32

import numpy as np

from pllm_lang.models.graph import ModelGraph


def random_weights(graph: ModelGraph) -> Callable[[str, int | None], np.ndarray]:
    """Each weight depends on its name and layer only, so graphs that share a weight share its values."""
    shapes = {(w.name, layer): (w.shape, w.experts) for w in graph.weights for layer in (w.layers or (None,))}

    def weight(name: str, layer: int | None) -> np.ndarray:
        shape, experts = shapes[name, layer]
        noise = np.random.default_rng(crc32(f"{name}/{layer}".encode())).normal(
            size=(experts, *shape) if experts else shape
        )
        return noise * 0.25 if noise.ndim > 1 else 1 + noise * 0.2

    return weight
