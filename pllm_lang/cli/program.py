"""Which program this is: a digest of the library's texts and of the code, so that no cache outlives either.

An installed package never changes in place: its build wrote `_build_id`. A checkout is told apart by the sizes
and times of its files.
"""

from __future__ import annotations

import hashlib
import os

PACKAGE_DIR = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHIPPED_DIR = os.path.join(PACKAGE_DIR, "_data")
BUILD_ID = os.path.join(PACKAGE_DIR, "_build_id")


def program_digest() -> str:
    """Hex SHA-256 naming the code and the standard library that answer."""
    digest = hashlib.sha256()
    digest.update(_build_id() or _stamp(PACKAGE_DIR, ".py"))
    root = SHIPPED_DIR if os.path.isdir(SHIPPED_DIR) else os.path.dirname(PACKAGE_DIR)
    digest.update(_stamp(os.path.join(root, "stdlib"), ".pllm"))
    return digest.hexdigest()


def _build_id() -> bytes:
    try:
        with open(BUILD_ID, "rb") as stream:
            return stream.read(64)
    except OSError:
        return b""


def _stamp(folder: str, ending: str) -> bytes:
    digest = hashlib.sha256()
    for base, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if name.endswith(ending):
                status = os.stat(os.path.join(base, name))
                digest.update(f"{base}/{name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.digest()
