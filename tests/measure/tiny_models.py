"""Folders with a tiny random model: config.json and safetensors, under a published checkpoint's names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from pllm_lang.models import ModelGraph, lower_model
from tests.measure.checkpoints import save
from tests.models.random_weights import random_weights
from tests.models.tiny_configs import TINY


def graph_of(model_type: str, **sizes: int) -> ModelGraph:
    sizes = {"batch": 1, "max_input_tokens": 5, "max_new_tokens": 4} | sizes
    return lower_model(config_of(model_type), **sizes).graph


def config_of(model_type: str) -> dict[str, Any]:
    return json.loads(json.dumps({"model_type": model_type} | TINY[model_type]))


def write_model(folder: Path, model_type: str) -> dict[str, np.ndarray]:
    """The tensors by their names; half of them in a second file, with an index."""
    graph = graph_of(model_type)
    weight_of = random_weights(graph)
    tensors: dict[str, np.ndarray] = {}
    for weight in graph.weights:
        for layer in weight.layers or (None,):
            value = weight_of(weight.name, layer).astype(np.float32)
            key = weight.name.replace("*", str(layer))
            members = enumerate(value) if weight.experts else [(0, value)]
            tensors |= {key.replace("#", str(i)): one for i, one in members}
    names = list(tensors)
    files = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
    for file, held in files.items():
        save(folder / file, {name: tensors[name] for name in held})
    index = {name: file for file, held in files.items() for name in held}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": index}))
    (folder / "config.json").write_text(json.dumps(config_of(model_type)))
    return tensors
