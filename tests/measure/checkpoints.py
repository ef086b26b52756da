"""Writes safetensors files by hand, so that broken ones can be written too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

NAMES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "int8": "I8", "uint8": "U8", "int16": "I16",
    "uint16": "U16", "int32": "I32", "uint32": "U32", "int64": "I64", "uint64": "U64", "bool": "BOOL",
}  # fmt: skip


def save(path: Path, tensors: Mapping[str, np.ndarray], bfloat16: tuple[str, ...] = ()) -> Path:
    """Tensors of `bfloat16` are given as the uint16 that they are stored as."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, tensor in tensors.items():
        raw = np.ascontiguousarray(tensor).tobytes()
        dtype = "BF16" if name in bfloat16 else NAMES[tensor.dtype.name]
        header[name] = {
            "dtype": dtype,
            "shape": list(tensor.shape),
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    return save_raw(path, header, data)


def save_raw(path: Path, header: Any, data: bytes = b"", length: int | None = None) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes((len(text) if length is None else length).to_bytes(8, "little") + text + data)
    return path
