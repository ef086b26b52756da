"""Compiled libraries and probe results, in a folder of the user's own: named by content, verified before
use.

A library is loaded into the process, so the folder must be the user's and closed to others, a file must be
the user's and have the digest that stands beside it, and nothing is ever seen half written. Whatever does
not hold makes the cache as good as empty, with the reason.
"""

import hashlib
import os
import stat
import tempfile
from pathlib import Path

FOLDER = "PLLM_KERNEL_CACHE"
OFF = "off"


class Unusable(Exception):
    """Why the cache cannot be used."""


def folder(*, create: bool) -> Path:
    """The private cache folder; raises `Unusable`."""
    named = os.environ.get(FOLDER)
    if named == OFF:
        raise Unusable(f"{FOLDER}={OFF}")
    path = Path(named) if named else _user_folder()
    try:
        if create:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.lstat()
    except FileNotFoundError:
        raise Unusable(f"{path} does not exist yet") from None
    except OSError as error:
        raise Unusable(f"{path}: {error.strerror}") from None
    if not stat.S_ISDIR(status.st_mode):
        raise Unusable(f"{path} is not a folder")
    _require_private(path, status)
    return path


def read(path: Path) -> bytes:
    """A file of the cache whose digest is right; raises `Unusable`."""
    try:
        data, digest = _own_bytes(path), _own_bytes(_digest_of(path)).decode("ascii", "replace").strip()
    except OSError as error:
        raise Unusable(f"{path}: {error.strerror}") from None
    if hashlib.sha256(data).hexdigest() != digest:
        raise Unusable(f"{path} is damaged: its digest is not the one written beside it")
    return data


def write(path: Path, data: bytes) -> None:
    """Puts a file and its digest there, each at once; raises `Unusable`."""
    try:
        _replace(_digest_of(path), hashlib.sha256(data).hexdigest().encode())
        _replace(path, data)
    except OSError as error:
        raise Unusable(f"{path}: {error.strerror}") from None


def _user_folder() -> Path:
    caches = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(caches) / "pllm-lang" / "kernels"


def _digest_of(path: Path) -> Path:
    return path.with_name(path.name + ".sha256")


def _require_private(path: Path, status: os.stat_result) -> None:
    if status.st_uid != os.geteuid():
        raise Unusable(f"{path} belongs to another user")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise Unusable(f"{path} can be written by others; make it private: chmod go-w {path}")


def _own_bytes(path: Path) -> bytes:
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        _require_private(path, os.fstat(file.fileno()))
        return file.read()


def _replace(path: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    try:
        with open(handle, "wb") as file:
            file.write(data)
        os.replace(name, path)
    except OSError:
        os.unlink(name)
        raise
