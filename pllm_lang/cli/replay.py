"""The cache of `check`: what a call printed last time, as long as nothing that it read has changed.

An entry is one file in the user's cache folder, named by the digest of the call (folder, arguments, terminal,
program). It lists every file that the answer depends on with the digest of its content, or that it was absent,
and the answer. It is plain text, is written atomically, and is only believed when all of that still holds.
Loads nothing but the standard library's `os`, `sys` and `hashlib`: this is the path of an unchanged file.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Sequence

from pllm_lang.cli.program import program_digest

VERSION = "pllm-check-cache 1"
ABSENT = "-"
MAX_ENTRY_BYTES = 4_000_000
MAX_HASHED_BYTES = 4_000_000
"""Larger files are told apart by size and time; a plan file is never that large."""


def cache_dir() -> str:
    base = os.environ.get("PLLM_CACHE_DIR")
    if base:
        return base
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(home, "pllm-lang")


def file_digest(path: str) -> str:
    """SHA-256 of the content of a file or of the listing of a folder; ABSENT where there is none."""
    try:
        if os.path.isdir(path):
            return hashlib.sha256("\0".join(sorted(os.listdir(path))).encode()).hexdigest()
        if not os.path.isfile(path):
            return ABSENT  # a pipe or a device has no content to remember
        status = os.stat(path)
        if status.st_size > MAX_HASHED_BYTES:
            return f"{status.st_size}-{status.st_mtime_ns}"
        with open(path, "rb") as stream:
            return hashlib.sha256(stream.read()).hexdigest()
    except OSError:
        return ABSENT


def entry_path(argv: Sequence[str]) -> str:
    parts = [VERSION, program_digest(), os.getcwd(), str(sys.stdout.isatty()), *_environment(), *argv]
    return os.path.join(cache_dir(), "check", hashlib.sha256("\0".join(parts).encode()).hexdigest())


def _environment() -> list[str]:
    return [f"{name}={os.environ.get(name, '')}" for name in ("NO_COLOR", "COLUMNS", "TERM", "PLLM_CONFIG")]


def replayed(argv: Sequence[str]) -> int | None:
    """Print the remembered answer of this call and give its exit status, or None when it must be worked out."""
    if not argv or argv[0] != "check" or "-" in argv or "--no-cache" in argv:
        return None
    try:
        with open(entry_path(argv), encoding="utf-8") as stream:
            header, _, answer = stream.read(MAX_ENTRY_BYTES + 1).partition("\n\n")
    except (OSError, UnicodeDecodeError):
        return None
    lines = header.split("\n")
    if lines[0] != VERSION or len(lines) < 2 or not lines[1].isdigit():
        return None
    digests = [line.partition(" ") for line in lines[2:]]
    if any(file_digest(path) != digest for digest, _, path in digests):
        return None
    sys.stdout.write(answer)
    return int(lines[1])


def remember(argv: Sequence[str], depends_on: Iterable[str], answer: str, code: int) -> None:
    """Store an answer. Failing to is no error: the next call works it out again."""
    paths = sorted({os.path.abspath(path) for path in depends_on})
    if any("\n" in path for path in paths):
        return
    header = "\n".join([VERSION, str(code), *(f"{file_digest(path)} {path}" for path in paths)])
    target = entry_path(argv)
    try:
        os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
        temporary = f"{target}.{os.getpid()}"
        with open(temporary, "w", encoding="utf-8") as stream:
            stream.write(f"{header}\n\n{answer}")
        os.replace(temporary, target)
    except (OSError, UnicodeEncodeError):
        return
