"""A checkpoint on disk: one safetensors file, or a folder of them with or without an index.

In: a path. Out: `Checkpoint`: its tensors by name, its config where the folder has one, and its digest. The digest of
one file is its SHA-256; of several, that of the listing which `sha256sum *.safetensors` prints, so anyone can make it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from typing import Any, cast

import msgspec

from pllm_lang.runtime.checkpoint.errors import CheckpointError
from pllm_lang.runtime.checkpoint.header import ANEW, MAX_TENSORS, Stored, read_header, shown
from pllm_lang.text.regular_file import Unreadable, read_bytes

SUFFIX = ".safetensors"
INDEX = ".safetensors.index.json"
MAX_INDEX_BYTES = 25_000_000
MAX_FILES = 2_000
MAX_CONFIG_BYTES = 3_000_000
_PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
_CHUNK = 1 << 20


class Checkpoint(msgspec.Struct, frozen=True):
    """`files` are paths; `config` the bytes of `config.json` beside them, or None."""

    files: tuple[str, ...]
    tensors: dict[str, Stored]
    config: bytes | None


def open_checkpoint(path: str) -> Checkpoint:
    """Raises CheckpointError."""
    folder = path if os.path.isdir(path) else os.path.dirname(path) or "."
    if os.path.isdir(path):
        files = _files_of_folder(path)
    elif path.endswith(INDEX):
        files = _indexed(path)
    else:
        _refuse_pickled(path)
        files = [path]
    tensors: dict[str, Stored] = {}
    for file in files:
        for name, stored in read_header(file).items():
            if name in tensors:
                message = f"{shown(name)} is in {os.path.basename(tensors[name].path)} and in {os.path.basename(file)}"
                raise CheckpointError("checkpoint.twice", message, "remove the stale files")
            tensors[name] = stored
    if len(tensors) > MAX_TENSORS:
        raise CheckpointError("checkpoint.too_large", f"more than {MAX_TENSORS} tensors")
    return Checkpoint(tuple(files), tensors, _config(folder))


def checkpoint_digest(checkpoint: Checkpoint) -> str:
    """`sha256:` and 64 hexadecimal digits."""
    listed = sorted((os.path.basename(file), _sha256(file)) for file in checkpoint.files)
    if len(listed) == 1:
        return f"sha256:{listed[0][1]}"
    listing = "".join(f"{digest}  {name}\n" for name, digest in listed)
    return f"sha256:{hashlib.sha256(listing.encode()).hexdigest()}"


def _sha256(path: str) -> str:
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        message = f"{os.path.basename(path)} cannot be read: {(error.strerror or str(error)).lower()}"
        raise CheckpointError("checkpoint.unreadable", message) from None
    return digest.hexdigest()


def _files_of_folder(folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        message = f"the folder cannot be read: {(error.strerror or str(error)).lower()}"
        raise CheckpointError("checkpoint.unreadable", message) from None
    indexes = [name for name in names if name.endswith(INDEX)]
    if len(indexes) > 1:
        message = f"the folder has {len(indexes)} indexes: {', '.join(map(shown, indexes[:4]))}"
        raise CheckpointError("checkpoint.index", message, "name the one that is meant")
    if indexes:
        return _indexed(os.path.join(folder, indexes[0]))
    files = [name for name in names if name.endswith(SUFFIX)]
    if not files:
        _refuse_pickled(*names)
        raise CheckpointError(
            "checkpoint.missing", f"no {SUFFIX} file is here", "name a folder or a file of safetensors"
        )
    return [os.path.join(folder, name) for name in _bounded(files)]


def _refuse_pickled(*names: str) -> None:
    pickled = next((name for name in names if name.endswith(_PICKLED)), None)
    if pickled is not None:
        message = f"{shown(os.path.basename(pickled))} is pickled, so reading it would run what it holds"
        raise CheckpointError("checkpoint.pickled", message, "convert it to safetensors where that is safe")


def _bounded(names: list[str]) -> list[str]:
    if len(names) > MAX_FILES:
        raise CheckpointError("checkpoint.too_large", f"more than {MAX_FILES} files")
    return names


def _indexed(path: str) -> list[str]:
    """The files that an index names; each is a plain name beside it."""
    data = read_bytes(path, MAX_INDEX_BYTES)
    called = os.path.basename(path)
    if isinstance(data, Unreadable):
        raise CheckpointError("checkpoint.index", f"{called}: {data.message}", data.help)
    try:
        found = json.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, ValueError, RecursionError):
        raise CheckpointError("checkpoint.index", f"{called} is not JSON", ANEW) from None
    entries = cast("dict[str, Any]", found).get("weight_map") if isinstance(found, dict) else None
    if not isinstance(entries, dict) or not entries:
        raise CheckpointError("checkpoint.index", f'{called} has no "weight_map"', ANEW)
    names = _bounded(list(dict.fromkeys(_plain_names(cast("dict[str, Any]", entries).values(), called))))
    return [os.path.join(os.path.dirname(path), name) for name in sorted(names)]


def _plain_names(values: Iterable[Any], called: str) -> Iterable[str]:
    for value in values:
        if not isinstance(value, str) or not value.endswith(SUFFIX):
            message = f"{called} names {shown(value)}, which is no {SUFFIX} file"
            raise CheckpointError("checkpoint.index", message, ANEW)
        if value != os.path.basename(value) or "\\" in value or "\0" in value:
            message = f"{called} names {shown(value)}, which leads out of its folder"
            raise CheckpointError("checkpoint.outside", message, "an index names files beside it")
        yield value


def _config(folder: str) -> bytes | None:
    path = os.path.join(folder, "config.json")
    if not os.path.isfile(path):
        return None
    data = read_bytes(path, MAX_CONFIG_BYTES)
    if isinstance(data, Unreadable):
        raise CheckpointError("checkpoint.config", f"config.json: {data.message}", data.help)
    return data
