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
from safetensors.numpy import load_file
from transformers import AutoConfig, AutoModelForCausalLM, DynamicCache

from pllm_lang.models import Lowering, LoweringError, lower_model
from pllm_lang.models.graph import ModelGraph
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
    """Weights by the graph's names; experts stacked, from separate tensors or from a packed one."""
    stored = load_file(str(next(folder.glob("*.safetensors"))))

    def weight(name: str, layer: int | None) -> np.ndarray:
        key = name.replace("*", str(layer))
        if "#" not in key:
            return _single(stored, key)
        return _experts(stored, key)

    return weight


def _single(stored: Mapping[str, np.ndarray], key: str) -> np.ndarray:
    if key in stored:
        return stored[key].astype(np.float64)
    heads = sorted(
        (k for k in stored if re.fullmatch(key.replace(".weight", r"\.norms\.\d+\.weight"), k)), key=_number
    )
    if not heads:
        raise KeyError(f"{key} is not among {sorted(stored)}")
    return np.stack([stored[k] for k in heads]).astype(np.float64)


def _number(key: str) -> int:
    return int(re.findall(r"norms\.(\d+)", key)[0])


def _experts(stored: Mapping[str, np.ndarray], key: str) -> np.ndarray:
    found = [key.replace("#", str(i)) for i in range(1000) if key.replace("#", str(i)) in stored]
    if found:
        return np.stack([stored[one] for one in found]).astype(np.float64)
    return _packed(stored, key)


def _packed(stored: Mapping[str, np.ndarray], key: str) -> np.ndarray:
    """Packed experts: gate and up in one tensor, in halves, or interleaved where there are biases (gpt-oss).
    gpt-oss and Llama 4 store each expert transposed."""
    head, _, tail = key.partition(".#.")
    role, _, kind = tail.partition(".")
    suffix = "_bias" if kind == "bias" else ""
    down = role == "down_proj"
    name = f"{head}.{'down_proj' if down else 'gate_up_proj'}{suffix}"
    granite = f"{head.removesuffix('.experts')}.{'output' if down else 'input'}_linear.weight"
    packed = stored[name if name in stored else granite].astype(np.float64)
    interleaved = f"{head}.gate_up_proj_bias" in stored
    if kind == "weight" and (interleaved or "feed_forward" in head):
        packed = packed.swapaxes(1, 2)
    if role == "down_proj":
        return packed
    if interleaved:
        return packed[:, 0::2] if role == "gate_proj" else packed[:, 1::2]
    half = packed.shape[1] // 2
    return packed[:, :half] if role == "gate_proj" else packed[:, half:]
