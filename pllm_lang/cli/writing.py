"""Replacing the text of a file: whole or not at all, with its mode, owner, byte order mark and links kept."""

from __future__ import annotations

import contextlib
import io
import os
import stat

BOM = "\ufeff"


def replace_text(path: str, text: str) -> None:
    """Write `text` in UTF-8 as it is. A symbolic link stays one: the file that it names is replaced. A file that has several
    names is written in place, for only so all of them keep naming it. Raises OSError."""
    import tempfile  # only where something is written

    target = os.path.realpath(path)
    if _names_of(target) > 1:
        _overwrite(target, text.encode("utf-8"))
        return
    handle, temporary = tempfile.mkstemp(prefix=".pllm-", dir=os.path.dirname(target))
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
        _keep_rights(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _names_of(path: str) -> int:
    try:
        return os.stat(path).st_nlink
    except FileNotFoundError:
        return 1


def _overwrite(path: str, data: bytes) -> None:
    """The new bytes in the file itself; the old ones again where that fails."""
    with open(path, "r+b", buffering=0) as stream:
        old = stream.read()
        try:
            _put(stream, data)
        except BaseException:
            _put(stream, old)
            raise


def _put(stream: io.FileIO, data: bytes) -> None:
    stream.seek(0)
    left = memoryview(data)
    while left:
        left = left[stream.write(left) :]
    stream.truncate(len(data))


def replace_decoded(path: str, old: str, new: str) -> bool:
    """Replace a text that was read without its byte order mark, which stays. False where the file is not `old` any more."""
    with open(path, encoding="utf-8", newline="") as stream:
        now = stream.read()
    if now.removeprefix(BOM) != old:
        return False
    replace_text(path, BOM + new if now.startswith(BOM) else new)
    return True


def _keep_rights(target: str, temporary: str) -> None:
    """The mode and, where it can be set, the owner of what is replaced; a new file gets what the process gives new files."""
    try:
        status = os.stat(target)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        return
    with contextlib.suppress(OSError):
        os.chown(temporary, status.st_uid, status.st_gid)
    os.chmod(temporary, stat.S_IMODE(status.st_mode))
