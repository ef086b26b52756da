"""The weights of a graph in a checkpoint: by the graph's names, layers and experts.

In: a checkpoint and a weight of the graph. Out: its matrices. Published checkpoints differ from the graph's names where
experts are packed into one tensor, and where a norm of every head is a tensor of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np

from pllm_lang.models.graph import Weight
from pllm_lang.runtime.checkpoint.errors import CheckpointError
from pllm_lang.runtime.checkpoint.header import Stored, shown
from pllm_lang.runtime.checkpoint.tensors import Array, blocks, whole

Tensors = Mapping[str, Stored]


def matrices(tensors: Tensors, weight: Weight, layer: int | None) -> Iterator[Array]:
    """All entries of one member of a family, as blocks of rows; experts one after the other."""
    key = weight.name.replace("*", str(layer))
    members = [key.replace("#", str(i)) for i in range(weight.experts)] if "#" in key else [key]
    if all(name in tensors for name in members):
        for name in members:
            _same_shape(name, tensors[name].shape, weight.shape)
            yield from blocks(name, tensors[name])
        return
    found = array(tensors, weight.name, layer)
    _same_shape(key, found.shape, (weight.experts, *weight.shape) if weight.experts else weight.shape)
    columns = found.shape[-1]
    yield from found.reshape(-1, found.shape[-2] if found.ndim > 1 else 1, columns)


def array(tensors: Tensors, name: str, layer: int | None) -> Array:
    """One member by its name in the graph; experts stacked, experts first. Raises CheckpointError."""
    key = name.replace("*", str(layer))
    if "#" not in key:
        return _single(tensors, key)
    count = 0
    while key.replace("#", str(count)) in tensors:
        count += 1
    if count:
        names = [key.replace("#", str(i)) for i in range(count)]
        return np.stack([whole(one, tensors[one]) for one in names])
    return _packed(tensors, key)


def _single(tensors: Tensors, key: str) -> Array:
    if key in tensors:
        return whole(key, tensors[key])
    pattern = re.compile(re.escape(key).replace(r"\.weight", r"\.norms\.(\d+)\.weight"))
    heads = sorted((int(m[1]), one) for one in tensors if (m := pattern.fullmatch(one)) and m.lastindex)
    if not heads:
        raise _missing(key, tensors)
    return np.stack([whole(one, tensors[one]) for _, one in heads])


def _packed(tensors: Tensors, key: str) -> Array:
    """Packed experts: gate and up in one tensor, in halves, or interleaved where there are biases (gpt-oss).
    gpt-oss and Llama 4 store each expert transposed."""
    head, _, tail = key.partition(".#.")
    role, _, kind = tail.partition(".")
    down = role == "down_proj"
    name = f"{head}.{'down_proj' if down else 'gate_up_proj'}{'_bias' if kind == 'bias' else ''}"
    granite = f"{head.removesuffix('.experts')}.{'output' if down else 'input'}_linear.weight"
    found = next((one for one in (name, granite) if one in tensors), None)
    if found is None:
        raise _missing(key, tensors)
    packed = whole(found, tensors[found])
    interleaved = f"{head}.gate_up_proj_bias" in tensors
    if kind == "weight" and (interleaved or "feed_forward" in head):
        packed = packed.swapaxes(1, 2)
    if down:
        return packed
    if interleaved:
        return packed[:, 0::2] if role == "gate_proj" else packed[:, 1::2]
    half = packed.shape[1] // 2
    return packed[:, :half] if role == "gate_proj" else packed[:, half:]


def _same_shape(name: str, found: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    if found != wanted:
        message = f"{shown(name)} has the shape {list(found)}; the config asks for {list(wanted)}"
        raise CheckpointError("checkpoint.shape", message, "checkpoint and config belong to different models")


def _missing(key: str, tensors: Tensors) -> CheckpointError:
    return CheckpointError(
        "checkpoint.missing_tensor",
        f"no tensor {shown(key)} is among the {len(tensors)} of the checkpoint",
        "checkpoint and config belong to different models, or a file is missing",
    )
