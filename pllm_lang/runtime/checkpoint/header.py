"""The header of a safetensors file: which tensors it holds, of which type and shape, at which bytes.

In: a path. Out: `Header`, checked so that every tensor lies inside the file, none overlaps another and no byte is left
over. A file is untrusted: sizes are compared with limits and with the file before anything of that size is read.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping
from math import prod
from typing import Any, cast

import msgspec

from pllm_lang.runtime.checkpoint.errors import CheckpointError

MAX_HEADER_BYTES = 25_000_000
MAX_TENSORS = 100_000
MAX_RANK = 8
MAX_ENTRIES = 2**40
MAX_NAME = 1_000
_PREFIX = 8
SIZES = {
    "BOOL": 1, "U8": 1, "I8": 1, "U16": 2, "I16": 2, "F16": 2, "BF16": 2,
    "U32": 4, "I32": 4, "F32": 4, "U64": 8, "I64": 8, "F64": 8,
}  # fmt: skip
"""Bytes of one entry, by the type's name in the header."""
ANEW = "save it anew with safetensors"


class Stored(msgspec.Struct, frozen=True):
    """A tensor in a file: row-major, little-endian, from byte `start` of the file on."""

    path: str
    dtype: str
    shape: tuple[int, ...]
    start: int


def read_header(path: str) -> dict[str, Stored]:
    """The tensors of one file by name. Raises CheckpointError."""
    called = os.path.basename(path)
    try:
        info = os.stat(path)
        if not stat.S_ISREG(info.st_mode):
            raise CheckpointError("checkpoint.unreadable", f"{called} is not a regular file")
        with open(path, "rb") as file:
            text = _header_text(file.read(_PREFIX), info.st_size, called)
            raw = file.read(text)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise CheckpointError("checkpoint.unreadable", f"{called} cannot be read: {reason}") from None
    if len(raw) < text:
        raise CheckpointError("checkpoint.truncated", f"{called} ends inside its header")
    return _tensors(_parsed(raw, called), path, info.st_size - _PREFIX - text, _PREFIX + text)


def _header_text(prefix: bytes, size: int, called: str) -> int:
    """The length of the header, in bytes."""
    length = int.from_bytes(prefix, "little")
    if len(prefix) < _PREFIX:
        raise CheckpointError(
            "checkpoint.truncated", f"{called} has {size} bytes, too few for a header", "download it again"
        )
    if length > MAX_HEADER_BYTES:
        message = f"the header of {called} claims {length} bytes; at most {MAX_HEADER_BYTES} are read"
        raise CheckpointError("checkpoint.header_size", message, "is this a safetensors file?")
    if length > size - _PREFIX:
        message = f"{called} has {size} bytes and its header alone claims {length}"
        raise CheckpointError("checkpoint.truncated", message, "download it again")
    return length


def _parsed(raw: bytes, called: str) -> dict[str, Any]:
    try:
        found = json.loads(raw.decode("utf-8"), object_pairs_hook=_object)
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else str(error)
        raise CheckpointError(
            "checkpoint.header", f"the header of {called} is not JSON: {reason}", ANEW
        ) from None
    if not isinstance(found, dict) or len(cast("dict[str, Any]", found)) > MAX_TENSORS:
        message = f"the header of {called} is no object of at most {MAX_TENSORS} tensors"
        raise CheckpointError("checkpoint.header", message, ANEW)
    return cast("dict[str, Any]", found)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _tensors(header: Mapping[str, Any], path: str, data: int, at: int) -> dict[str, Stored]:
    """Every entry checked by itself, then all of them against the `data` bytes that follow the header."""
    called = os.path.basename(path)
    ranges: list[tuple[int, int]] = []
    found: dict[str, Stored] = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        dtype, shape, begin, end = _entry(name, entry, called)
        ranges.append((begin, end))
        found[name] = Stored(path, dtype, shape, at + begin)
    position = 0
    for begin, end in sorted(ranges):
        if begin != position:
            what = "overlap" if begin < position else "leave bytes between them"
            raise CheckpointError("checkpoint.layout", f"tensors of {called} {what} at byte {begin}", ANEW)
        position = end
    if position > data:
        message = f"{called} is cut off: its tensors need {position} bytes and {data} are there"
        raise CheckpointError("checkpoint.truncated", message, "download it again")
    if position < data:
        message = f"{called} has {data - position} bytes that belong to no tensor"
        raise CheckpointError("checkpoint.layout", message, ANEW)
    return found


def _entry(name: str, entry: Any, called: str) -> tuple[str, tuple[int, ...], int, int]:
    where = f"{called}, tensor {shown(name)}"
    if not isinstance(entry, dict) or len(name) > MAX_NAME:
        raise CheckpointError("checkpoint.header", f"{where}: this entry is no tensor", ANEW)
    fields = cast("dict[str, Any]", entry)
    dtype, shape, offsets = fields.get("dtype"), fields.get("shape"), fields.get("data_offsets")
    if not isinstance(dtype, str) or dtype not in SIZES:
        known = ", ".join(SIZES)
        message = f"{where}: the type {shown(dtype)} cannot be measured; known are {known}"
        raise CheckpointError("checkpoint.dtype", message, "dequantise it to F32 or BF16")
    if not _counts(shape, MAX_RANK) or prod(cast("list[int]", shape)) > MAX_ENTRIES:
        raise CheckpointError("checkpoint.header", f"{where}: the shape {shown(shape)} is no shape", ANEW)
    if not _counts(offsets, 2) or len(cast("list[int]", offsets)) != 2:
        raise CheckpointError("checkpoint.header", f"{where}: no place in the file", ANEW)
    begin, end = cast("list[int]", offsets)
    sizes = tuple(cast("list[int]", shape))
    needs = prod(sizes) * SIZES[dtype]
    if end - begin != needs:
        message = f"{where}: {dtype} {list(sizes)} needs {needs} bytes, and {end - begin} are set aside"
        raise CheckpointError("checkpoint.layout", message, ANEW)
    return dtype, sizes, begin, end


def _counts(value: Any, most: int) -> bool:
    """A list of at most `most` whole numbers from 0 to 2^53."""
    if not isinstance(value, list) or len(cast("list[Any]", value)) > most:
        return False
    return all(type(one) is int and 0 <= one <= 2**53 for one in cast("list[Any]", value))


def shown(value: object) -> str:
    """What an untrusted file says, short and without control characters."""
    return re.sub(r"[^\x20-\x7e]", "?", str(value))[:80]
