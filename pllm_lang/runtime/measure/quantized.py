"""The integers that a quantised weight is stored as: those which the run-time makes, rounding for rounding.

In: blocks of real numbers. Out: blocks of int64. Integer tensors are quantised already and taken as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from pllm_lang.runtime.checkpoint.errors import CheckpointError
from pllm_lang.runtime.checkpoint.header import shown
from pllm_lang.runtime.checkpoint.tensors import Array
from pllm_lang.runtime.reference import quantize, row_scales


def quantized_rows(name: str, found: Iterable[Array], bits: int) -> Iterator[Array]:
    """Each row by its own scale, max|x| / (2^(bits-1) - 1) in single precision; ties to even."""
    for block in found:
        yield _quantized(name, block, bits)


def _quantized(name: str, block: Array, bits: int) -> Array:
    limit = 2 ** (bits - 1) - 1
    if block.dtype == np.int64:
        if np.abs(block).max() > limit:
            message = f"{shown(name)} holds integers beyond {bits} bits, -{limit} to {limit}"
            raise CheckpointError("checkpoint.quantized", message, "ask for more bits with `--quantize`")
        return block
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(block, dtype=np.float32)
    scales = row_scales(single, bits)
    if not np.isfinite(scales).all() or (scales == 0).any():
        message = f"{shown(name)} has a row whose scale leaves single precision"
        raise CheckpointError("checkpoint.quantized", message, "such a row cannot be quantised")
    return quantize(single, bits, scales).astype(np.int64)
