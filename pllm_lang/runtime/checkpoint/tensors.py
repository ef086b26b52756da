"""The entries of stored tensors, mapped from the file and widened without loss.

In: a stored tensor. Out: arrays of float64 or int64. Every type but 64-bit integers is held by one of the two exactly;
those are refused beyond 2^53.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pllm_lang.runtime.checkpoint.errors import CheckpointError
from pllm_lang.runtime.checkpoint.header import Stored, shown

Array: TypeAlias = NDArray[Any]

BLOCK_ENTRIES = 1 << 22
"""Entries that are widened at a time: 32 MiB."""
EXACT = 2**53
_TYPES = {
    "BOOL": "?", "U8": "u1", "I8": "i1", "U16": "<u2", "I16": "<i2", "F16": "<f2", "BF16": "<u2",
    "U32": "<u4", "I32": "<i4", "F32": "<f4", "U64": "<u8", "I64": "<i8", "F64": "<f8",
}  # fmt: skip


def blocks(name: str, stored: Stored) -> Iterator[Array]:
    """The tensor as rows `[rows, columns]` in order, at most BLOCK_ENTRIES entries where a row allows it. Of a higher-rank
    tensor, a block is some rows of one matrix, or all rows of several."""
    mapped = _mapped(stored)
    columns = stored.shape[-1] if stored.shape else 1
    rows = stored.shape[-2] if len(stored.shape) > 1 else 1
    together = max(1, BLOCK_ENTRIES // max(1, rows * columns))
    step = max(1, BLOCK_ENTRIES // max(1, columns)) if together == 1 else together * rows
    for matrix in mapped.reshape(-1, rows if together == 1 else mapped.size // columns, columns):
        for at in range(0, len(matrix), step):
            yield widened(name, stored.dtype, np.asarray(matrix[at : at + step]))


def whole(name: str, stored: Stored) -> Array:
    """All entries in the tensor's shape."""
    return widened(name, stored.dtype, np.asarray(_mapped(stored))).reshape(stored.shape)


def _mapped(stored: Stored) -> Array:
    if 0 in stored.shape:
        return np.zeros(stored.shape, _TYPES[stored.dtype])
    try:
        return np.memmap(
            stored.path, dtype=_TYPES[stored.dtype], mode="r", offset=stored.start, shape=stored.shape or (1,)
        )
    except (OSError, ValueError) as error:
        raise CheckpointError(
            "checkpoint.unreadable", f"the file changed or cannot be mapped: {error}"
        ) from None


def widened(name: str, dtype: str, values: Array) -> Array:
    if dtype == "BF16":
        return finite(name, (values.astype(np.uint32) << 16).view(np.float32).astype(np.float64))
    if dtype.startswith("F"):
        return finite(name, values.astype(np.float64))
    if dtype in ("I64", "U64") and values.size and (values.max() > EXACT or values.min() < -EXACT):
        message = f"{shown(name)} has integers beyond 2^53"
        raise CheckpointError("checkpoint.dtype", message, "no weight is as large as this")
    return values.astype(np.int64)


def finite(name: str, values: Array) -> Array:
    if values.size and not np.isfinite(values).all():
        at = np.unravel_index(int(np.argmin(np.isfinite(values))), values.shape)
        message = f"{shown(name)} holds {values[at]}, first at {[int(i) for i in at]} of a block"
        raise CheckpointError("checkpoint.not_finite", message, "a number that is none has no bound")
    return values
