"""Reading one file, within limits: only regular files, of bounded size, UTF-8, without NUL.

Nothing else in the core opens a project's file.
"""

from __future__ import annotations

import os
import stat

import msgspec

from pllm_lang.text.limits import MAX_FILE_BYTES


class Unreadable(msgspec.Struct, frozen=True):
    """Why a file gives no text: a code, a sentence, a next step."""

    code: str
    message: str
    help: str = ""


def read_text(path: str) -> str | Unreadable:
    """The text of a `.pllm` file. A byte order mark is dropped; line ends stay as they are."""
    data = read_bytes(path, MAX_FILE_BYTES)
    if isinstance(data, Unreadable):
        return data
    return decode(data)


def read_bytes(path: str, limit: int) -> bytes | Unreadable:
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            return Unreadable("modules.unreadable", "not a regular file")
        if status.st_size > limit:
            return Unreadable("modules.too_large", f"{status.st_size:,} bytes; at most {limit:,} are read")
        with open(path, "rb") as stream:
            data = stream.read(limit + 1)
    except FileNotFoundError:
        return Unreadable("modules.unknown", "there is no such file")
    except (OSError, ValueError) as error:
        return Unreadable("modules.unreadable", getattr(error, "strerror", None) or str(error))
    if len(data) > limit:
        return Unreadable("modules.too_large", f"more than {limit:,} bytes")
    return data


def decode(data: bytes) -> str | Unreadable:
    if b"\x00" in data:
        at = data.index(b"\x00")
        return Unreadable(
            "modules.encoding", f"a NUL byte at offset {at}: this is no text", "save the file as UTF-8 text"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}"
        return Unreadable("modules.encoding", message, "save the file as UTF-8")
