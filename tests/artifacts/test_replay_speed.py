"""Replay of an experiment's certificate takes a part of the time of checking it, and decides by no binary float."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from pllm_lang.artifacts.replay.reading import read_lock
from pllm_lang.artifacts.replay.walk import walk
from tests.artifacts.locks import EXAMPLES, MASKED, SHARED, of_text

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "replay.py"
KEPT = 0.34
"""What is kept now, with room for a machine under load; the benchmark tells whether a quarter is reached."""


@pytest.mark.system
def test_replay_is_quicker_than_checking() -> None:
    done = subprocess.run(
        [sys.executable, str(BENCHMARK), "--runs", "5"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    found = re.search(r"check without cache  ([\d.]+)", done.stdout)
    assert found is not None, done.stdout + done.stderr
    assert float(found[1]) <= KEPT, done.stdout


@pytest.mark.parametrize(
    "text",
    [MASKED, SHARED, (EXAMPLES / "llama_block.pllm").read_text(encoding="utf-8")],
    ids=["masked", "shared", "block"],
)
def test_every_number_of_a_walk_is_exact(text: str) -> None:
    walked = walk(read_lock(of_text(text)))
    kept = (list(walked.values.values()), walked.reach, walked.errors, walked.failures, walked.names)
    found: set[type] = {type(number) for number in numbers(kept)}
    assert int in found
    assert float not in found


def numbers(value: Any) -> Iterator[Any]:
    if isinstance(value, msgspec.Struct):
        for field in value.__struct_fields__:
            yield from numbers(getattr(value, field))
    elif isinstance(value, dict):
        for one in cast("dict[Any, Any]", value).values():
            yield from numbers(one)
    elif isinstance(value, list | tuple):
        for one in cast("list[Any]", value):
            yield from numbers(one)
    elif value is not None and not isinstance(value, str):
        yield value
