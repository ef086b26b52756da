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
import time
from collections.abc import Iterable, Sequence

from pllm_lang.cli.program import program_digest

VERSION = "pllm-check-cache 2"
ABSENT = "-"
STARTED_NS = time.time_ns()
SLACK_NS = 50_000_000
"""File systems note times in steps: what changed this little before the start may have changed after it."""
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
    """SHA-256 of the content of a file or of the names in a folder; ABSENT where there is none."""
    try:
        if os.path.isdir(path):
            with os.scandir(path) as entries:
                names = sorted(f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries)
            return hashlib.sha256(os.fsencode("\0".join(names))).hexdigest()
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
    return os.path.join(cache_dir(), "check", hashlib.sha256(os.fsencode("\0".join(parts))).hexdigest())


def _environment() -> list[str]:
    return [f"{name}={os.environ.get(name, '')}" for name in ("NO_COLOR", "COLUMNS", "TERM", "PLLM_CONFIG")]


def replayed(argv: Sequence[str]) -> int | None:
    """Print the remembered answer of this call and give its exit status, or None when it must be worked out."""
    if not argv or argv[0] != "check" or "-" in argv or "--no-cache" in argv:
        return None
    try:
        with open(entry_path(argv), encoding="utf-8", errors="surrogateescape", newline="") as stream:
            header, _, answer = stream.read(MAX_ENTRY_BYTES).partition("\n\n")
            if stream.read(1):
                return None
    except OSError:
        return None  # no entry, or no working folder to have one for
    lines = header.split("\n")
    if lines[0] != VERSION or len(lines) < 2 or not lines[1].isdigit():
        return None
    digests = [line.partition(" ") for line in lines[2:]]
    if any(file_digest(path) != digest for digest, _, path in digests):
        return None
    sys.stdout.write(answer)
    return int(lines[1])


def remember(argv: Sequence[str], depends_on: Iterable[str], answer: str, code: int) -> None:
    """Store an answer, unless something that it depends on changed meanwhile: what was read may be older than what is there.

    Failing to is no error: the next call works it out again.
    """
    paths = sorted({os.path.abspath(path) for path in depends_on})
    if any("\n" in path or _changed_since(path, STARTED_NS - SLACK_NS) for path in paths):
        return
    header = "\n".join([VERSION, str(code), *(f"{file_digest(path)} {path}" for path in paths)])
    target = entry_path(argv)
    try:
        os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
        temporary = f"{target}.{os.getpid()}"
        with open(temporary, "w", encoding="utf-8", errors="surrogateescape", newline="") as stream:
            stream.write(f"{header}\n\n{answer}")
        os.replace(temporary, target)
    except (OSError, UnicodeEncodeError):
        return


def _changed_since(path: str, moment: int) -> bool:
    """Whether a file, or the names in a folder, changed after a moment in nanoseconds."""
    try:
        status = os.stat(path)
    except OSError:
        return False
    return max(status.st_mtime_ns, status.st_ctime_ns) >= moment
