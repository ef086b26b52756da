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
    try:
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode):
            kind = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
            return Unreadable("file.unreadable", f"this is {kind}", "name a file")
        with open(path, "rb") as stream:
            data = stream.read(limit + 1)
    except FileNotFoundError:
        return Unreadable("file.missing", "there is no such file", "check the path")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return Unreadable("file.unreadable", f"the file cannot be read: {reason.lower()}", "check its rights")
    if len(data) > limit:
        return Unreadable("file.too_large", f"the file has more than {limit:,} bytes")
    return data
