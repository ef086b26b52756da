"""Ranges seen on data: of recorded activations, or of all values while token ids run through the model.

In: a file of arrays (npz, read without pickles, or safetensors). Out: facts by the names of a plan. They hold on the data
that was seen and are no proof of anything else; a facts file lists them as `calibrated`.

An array `tokens` or `input_ids` of whole numbers `[sequences, positions]` is run through the reference of the semantic
graph in float64, prefill and then up to DECODED single steps; every other array is a recorded value of that name.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Mapping

import numpy as np

from pllm_lang.models.graph import ModelGraph, Op, Stage
from pllm_lang.models.lower import lower_model
from pllm_lang.models.text.value_names import value_names
from pllm_lang.resolve.modules import Measured
from pllm_lang.runtime.checkpoint.errors import CheckpointError
from pllm_lang.runtime.checkpoint.header import read_header, shown
from pllm_lang.runtime.checkpoint.open import SUFFIX, Checkpoint
from pllm_lang.runtime.checkpoint.tensors import Array, finite, whole
from pllm_lang.runtime.checkpoint.weights import array
from pllm_lang.runtime.measure.norms import Overflow, Sums
from pllm_lang.runtime.semantic.reference import generate

TOKENS = ("tokens", "input_ids")
DECODED = 3
MAX_DATA_BYTES = 2**31
MAX_ARRAYS = 10_000
ANEW = "save arrays of numbers with numpy.savez or safetensors"


def calibrated(path: str, checkpoint: Checkpoint) -> dict[str, Measured]:
    """Raises CheckpointError, and LoweringError where the checkpoint's config is refused."""
    seen: dict[str, Sums] = {}
    for name, values in _arrays(path):
        if name in TOKENS:
            _run(values, checkpoint, seen)
        else:
            _see(seen, name, values)
    found = {name: measured for name, sums in seen.items() if (measured := sums.measured()) is not None}
    if not found:
        raise CheckpointError("calibration.empty", f"{os.path.basename(path)} holds no values", ANEW)
    return found


def _see(seen: dict[str, Sums], name: str, values: Array) -> None:
    try:
        rows = values.reshape(-1, values.shape[-1]) if values.ndim and values.size else values.reshape(1, -1)
        seen.setdefault(name, Sums(0)).add(rows)
    except Overflow:
        raise CheckpointError(
            "calibration.range", f"the values of {shown(name)} are beyond double precision"
        ) from None


def _run(values: Array, checkpoint: Checkpoint, seen: dict[str, Sums]) -> None:
    if checkpoint.config is None:
        message = "token ids can be run only where the checkpoint's folder has a config.json"
        raise CheckpointError("calibration.config", message, "name the folder, or record activations")
    if values.dtype != np.int64 or values.ndim != 2 or 0 in values.shape:
        message = (
            f"token ids are whole numbers [sequences, positions], not {values.dtype} {list(values.shape)}"
        )
        raise CheckpointError("calibration.tokens", message)
    sequences, positions = values.shape
    decoded = min(DECODED, positions - 1)
    graph = lower_model(
        checkpoint.config, batch=sequences, max_input_tokens=positions - decoded, max_new_tokens=decoded + 1
    ).graph
    if values.min() < 0 or values.max() >= graph.dimensions.vocab:
        message = f"token ids go from {values.min()} to {values.max()}; the model has 0 to {graph.dimensions.vocab - 1}"
        raise CheckpointError("calibration.tokens", message)
    _watch(graph, checkpoint, values, positions - decoded, seen)


def _watch(
    graph: ModelGraph, checkpoint: Checkpoint, tokens: Array, prompt: int, seen: dict[str, Sums]
) -> None:
    names = value_names(graph)

    def weights(name: str, layer: int | None) -> Array:
        return array(checkpoint.tensors, name, layer).astype(np.float64)

    def watch(stage: Stage, layer: int | None, op: Op, value: Array) -> None:
        name = names.get((stage.mode, layer, op.name))
        if name is not None and np.isfinite(value).all():
            _see(seen, name, value)

    generate(graph, weights, tokens[:, :prompt], tokens[:, prompt:], watch)


def _arrays(path: str) -> Iterator[tuple[str, Array]]:
    called = os.path.basename(path)
    if not os.path.isfile(path):
        raise CheckpointError("calibration.missing", f"there is no file {called}", "check the path")
    if path.endswith(SUFFIX):
        for name, stored in read_header(path).items():
            yield name, whole(name, stored)
        return
    try:
        yield from _unzipped(path, called)
    except MemoryError:
        message = f"an array of {called} claims more than the memory holds"
        raise CheckpointError("calibration.too_large", message, "take fewer sequences") from None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise CheckpointError(
            "calibration.unreadable", f"{called} is no file of arrays: {error}", ANEW
        ) from None


def _unzipped(path: str, called: str) -> Iterator[tuple[str, Array]]:
    """The arrays of an npz; what it claims to unpack to is limited before anything is unpacked."""
    with zipfile.ZipFile(path) as file:
        size, count = sum(one.file_size for one in file.infolist()), len(file.infolist())
    if size > MAX_DATA_BYTES or count > MAX_ARRAYS:
        message = f"{called} unpacks to {size} bytes in {count} arrays; at most {MAX_DATA_BYTES} and {MAX_ARRAYS} are read"
        raise CheckpointError("calibration.too_large", message, "take fewer sequences")
    with np.load(path, allow_pickle=False) as loaded:
        arrays: Mapping[str, Array] = loaded
        for name in arrays:
            yield name, _numbers(name, arrays[name])


def _numbers(name: str, values: Array) -> Array:
    if values.dtype.kind == "f" and values.dtype.itemsize <= 8:
        return finite(name, values.astype(np.float64))
    if values.dtype.kind in "biu":
        return values.astype(np.int64)
    raise CheckpointError("calibration.unreadable", f"{shown(name)} holds {values.dtype}, no numbers", ANEW)
