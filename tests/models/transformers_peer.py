"""Runs a tiny random model of a config in transformers and in our reference, on the same weights. Needs
torch.

The weights are those that transformers writes to disk, so their names are a checkpoint's.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoConfig, AutoModelForCausalLM, DynamicCache

from pllm_lang.models import Lowering, LoweringError, lower_model
from pllm_lang.models.graph import ModelGraph
from pllm_lang.runtime.checkpoint.open import open_checkpoint
from pllm_lang.runtime.checkpoint.weights import array
from pllm_lang.runtime.semantic.reference import generate

PROMPT, STEPS = 12, 3
COUNTED_FROM_ONE = ("gemma2", "gemma3", "qwen3_next", "qwen3_5")
"""Families whose norms add one to their weights: theirs are drawn around zero."""
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")


def compare(config: Mapping[str, Any], folder: Path) -> tuple[ModelGraph, np.ndarray, np.ndarray]:
    """The graph, and the logits `[steps + 1, B, vocab]` of transformers and of the reference."""
    model = _model(config)
    vocab = int(model.config.get_text_config().vocab_size)
    tokens = np.random.default_rng(7).integers(0, vocab, (2, PROMPT + STEPS))
    theirs = _their_logits(model, tokens)
    model.save_pretrained(folder)
    weights = read_weights(folder)
    graph = lower(config).graph
    ours = generate(graph, weights, tokens[:, :PROMPT], tokens[:, PROMPT:])
    return graph, theirs, np.stack(ours)


def lower(config: Mapping[str, Any]) -> Lowering:
    published = json.loads(json.dumps(config))
    return lower_model(published, batch=2, max_input_tokens=PROMPT, max_new_tokens=STEPS + 1)


def refusal(config: Mapping[str, Any]) -> LoweringError | None:
    try:
        lower(config)
    except LoweringError as error:
        return error
    return None


def configuration_fields(model_type: str) -> dict[str, Any]:
    """The keys of the configuration class with their defaults."""
    fields = dataclasses.fields(type(AutoConfig.for_model(model_type)))
    return {one.name: one.default for one in fields if one.default is not dataclasses.MISSING}


def runs(config: Mapping[str, Any]) -> bool:
    """Whether transformers itself can run a model of the config."""
    try:
        _their_logits(_model(config), np.zeros((2, PROMPT + STEPS), dtype=np.int64))
    except Exception:
        return False
    return True


def _model(config: Mapping[str, Any]) -> Any:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    settings = {key: value for key, value in config.items() if key != "model_type"}
    model_config = AutoConfig.for_model(config["model_type"], **settings)
    model = AutoModelForCausalLM.from_config(model_config, attn_implementation="eager", dtype=torch.float32)
    generator = torch.Generator().manual_seed(1)
    centre = 0.0 if str(config["model_type"]).startswith(COUNTED_FROM_ONE) else 1.0
    with torch.no_grad():
        for name, weight in sorted(model.named_parameters()):
            noise = torch.randn(weight.shape, generator=generator)
            weight.copy_(noise * (0.25 if weight.dim() > 1 else 0.3) + (centre if _is_norm(name) else 0.0))
        for name, buffer in sorted(model.named_buffers()):
            if "correction_bias" in name:
                buffer.copy_(torch.randn(buffer.shape, generator=generator) * 0.1)
    return model.eval()


def _is_norm(name: str) -> bool:
    return bool(re.search(r"(norm|ln_\d|ln_f|layernorm)[^.]*\.weight$", name))


def _their_logits(model: Any, tokens: np.ndarray) -> np.ndarray:
    ids = torch.tensor(tokens)
    cache = DynamicCache(config=model.config)
    with torch.no_grad():
        out = model(ids[:, :PROMPT], past_key_values=cache, use_cache=True)
        logits = [out.logits[:, -1]]
        for step in range(STEPS):
            at = PROMPT + step
            out = model(ids[:, at : at + 1], past_key_values=out.past_key_values, use_cache=True)
            logits.append(out.logits[:, -1])
    return torch.stack(logits).double().numpy()


def read_weights(folder: Path) -> Callable[[str, int | None], np.ndarray]:
    """Weights by the graph's names, as the product reads them."""
    tensors = open_checkpoint(str(folder)).tensors
    return lambda name, layer: array(tensors, name, layer).astype(np.float64)
