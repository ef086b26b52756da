"""Waiting until one of the files or folders that an answer depends on changes.

With the package `watchfiles` the system tells; without it their contents are compared twice a second.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import time
from collections.abc import Sequence

from pllm_lang.cli.replay import file_digest

PAUSE = 0.5
"""Seconds between two looks."""


def wait_for_change(paths: Sequence[str], before: dict[str, str]) -> None:
    """Return once a digest differs from the one in `before` (`digests` of the same paths)."""
    folders = sorted({path if os.path.isdir(path) else os.path.dirname(path) for path in paths})
    folders = [folder for folder in folders if os.path.isdir(folder)]
    if importlib.util.find_spec("watchfiles") is None or not folders:
        while digests(paths) == before:
            time.sleep(PAUSE)
        return
    watch = importlib.import_module("watchfiles").watch
    if digests(paths) != before:
        return
    for _ in watch(*folders, recursive=False, raise_interrupt=True):
        if digests(paths) != before:
            return


def digests(paths: Sequence[str]) -> dict[str, str]:
    return {path: file_digest(path) for path in paths}
