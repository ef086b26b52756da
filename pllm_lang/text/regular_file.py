"""The bytes of a file, within limits: a regular file of bounded size. Devices, pipes and folders are not opened."""

from __future__ import annotations

import os
import stat

import msgspec


class Unreadable(msgspec.Struct, frozen=True):
    """Why a file gives nothing: a code, a sentence, a next step."""

    code: str
    message: str
    help: str = ""


def read_bytes(path: str | os.PathLike[str], limit: int) -> bytes | Unreadable:
    """At most `limit` bytes are taken; a larger file is unreadable."""
    why = not_a_file(path)
    if why is not None:
        return why
    try:
        with open(path, "rb") as stream:
            data = stream.read(limit + 1)
    except (OSError, ValueError) as error:
        return _failed(error)
    if len(data) > limit:
        return Unreadable("file.too_large", f"the file has more than {limit:,} bytes")
    return data


def not_a_file(path: str | os.PathLike[str]) -> Unreadable | None:
    """Why nothing is opened at `path`; None where a regular file is there."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        return _failed(error)
    if stat.S_ISREG(mode):
        return None
    kind = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
    return Unreadable("file.unreadable", f"this is {kind}", "name a file")


def _failed(error: OSError | ValueError) -> Unreadable:
    if isinstance(error, FileNotFoundError):
        return Unreadable("file.missing", "there is no such file", "check the path")
    reason = getattr(error, "strerror", None) or str(error)
    return Unreadable("file.unreadable", f"the file cannot be read: {reason.lower()}", "check its rights")
