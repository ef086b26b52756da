"""Waiting until one of the files or folders that an answer depends on changes.

With the package `watchfiles` the system tells; without it their contents are compared twice a second.
"""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Iterator, Sequence

from pllm_lang.cli.replay import file_digest

PAUSE = 0.5
"""Seconds between two looks."""


def wait_for_change(paths: Sequence[str], before: dict[str, str]) -> None:
    """Return once a digest differs from the one in `before` (`digests` of the same paths)."""
    for _ in _looks(paths):
        if digests(paths) != before:
            return


def _looks(paths: Sequence[str]) -> Iterator[object]:
    """Yields whenever it is time to look: at once, then twice a second, or as the system says."""
    yield None
    folders = {path if os.path.isdir(path) else os.path.dirname(path) for path in paths}
    try:
        watch = importlib.import_module("watchfiles").watch
    except ImportError:
        while True:
            time.sleep(PAUSE)
            yield None
    # What changes before the system tells of it is seen by the look that comes every PAUSE at the latest.
    seen = sorted(folder for folder in folders if os.path.isdir(folder))
    timeout = int(1000 * PAUSE)
    yield from watch(
        *seen, recursive=False, rust_timeout=timeout, yield_on_timeout=True, raise_interrupt=True
    )


def digests(paths: Sequence[str]) -> dict[str, str]:
    return {path: file_digest(path) for path in paths}
