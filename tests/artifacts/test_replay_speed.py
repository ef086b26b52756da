"""Replay of an experiment's certificate takes a part of the time of checking it, and decides by no binary float."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from pllm_lang.artifacts.replay.lock import replay
from pllm_lang.artifacts.replay.reading import read_lock
from pllm_lang.artifacts.replay.walk import walk
from tests.artifacts.locks import EXAMPLES, MASKED, SHARED, data, of_text

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


GROWING = """pllm 1

import std.formats [fx64_16]
import std.holdings [additive]
import std.methods [fixed_mul_two_party]

plan products {
  input h: fx64_16[8] from p0 as additive(p0, p1) where abs(h) <= 1
  input one: fx64_16[8] from p1 as additive(p0, p1) where abs(one) <= 1
  repeat layer in 0..<TURNS carrying [h] {
    h = mul(h, one) using fixed_mul_two_party
  }
  requires failure <= 2^-10
  output h
}
"""


def test_statements_of_many_turns_are_found_in_linear_time() -> None:
    """Every turn is off by more than the one before, and has a statement of its own."""

    def seconds(turns: int) -> float:
        lock = of_text(GROWING.replace("TURNS", str(turns)))
        assert len(data(lock)["documents"]["certificate"]["met"]) == turns
        start = time.process_time()
        replay(lock)
        return time.process_time() - start

    seconds(50)
    few, many = min(seconds(250) for _ in range(3)), min(seconds(1000) for _ in range(3))
    assert many / few < 8  # 16 times as long where all statements are looked at in each turn
