"""The audit of the whole library takes seconds. It took four times as long while it reckoned with fractions."""

from __future__ import annotations

import time
from collections.abc import Callable

from pllm_lang.audit.report import audited_library
from pllm_lang.catalog.load import shipped_library
from pllm_lang.exact import enclose
from pllm_lang.exact.number import ratio

MOST = 55
"""Times the reference; 28 was seen, and 107 with fractions."""


def seconds(work: Callable[[], object]) -> float:
    """Of the processor, so that other programs do not count."""
    start = time.process_time()
    work()
    return time.process_time() - start


def reference() -> None:
    """10,000 exponentials: the same kind of work, which no search does."""
    for n in range(1, 10_000):
        enclose.exp(ratio(n, 1_009))


def test_the_whole_library_is_audited_in_seconds() -> None:
    library = shipped_library()
    unit = min(seconds(reference) for _ in range(2))
    assert seconds(lambda: list(audited_library(library))) < MOST * unit
