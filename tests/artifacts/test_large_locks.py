"""Locks that are made to take long: each ends in bounded processor time with a named error."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from pllm_lang.artifacts.replay.lock import replay
from pllm_lang.artifacts.replay.reading import MAX_LOCK_BYTES
from pllm_lang.artifacts.replay.refusal import ReplayError
from tests.artifacts.locks import FIXED, MASKED, data, of_text, sealed

SECONDS = 30
"""Of processor time, on any machine; each takes a few at most."""


def nearly_too_large(lock: Any) -> None:
    """A name of sixty million letters."""
    lock["documents"]["names"]["0"] = "x" * (MAX_LOCK_BYTES - 200_000)


def many_statements(lock: Any) -> None:
    """Two hundred thousand statements about one step, each a little wider, and the last one of another number."""
    met = lock["documents"]["certificate"]["met"]
    step, first = met[0][0], met[0][1][0]
    for more in range(200_000):
        met.append([step, [[str(-(10**6) - more), str(10**6 + more), *first[2:]]]])
    met.append([step, [["1000000", "1000000", *first[2:]]]])


def many_coalitions(lock: Any) -> None:
    """Any twelve of a dozen parties, and a proof of each claimed."""
    policy = lock["documents"]["policy"]
    policy["parties"] += [f"q{i}" for i in range(11)]
    policy["adversaries"] = [["semi_honest", 12, policy["parties"][:12], ["", 0, 0]]]


def many_steps(lock: Any) -> None:
    """A step written fifty thousand times."""
    body = lock["documents"]["ir"]["stages"][0][1]
    body += [body[-1]] * 50_000


def huge_repeat(lock: Any) -> None:
    body = lock["documents"]["ir"]["stages"][0][1]
    body[0][3] = 2**50


def nested_repeats(lock: Any) -> None:
    """Each ten turns of the next, forty deep."""
    body = lock["documents"]["ir"]["stages"][0][1]
    for depth in range(1, 40):
        body[:] = [["repeat", depth, 0, 10, [], [*body]]]


def large_record(lock: Any) -> None:
    """A requirement that says the same thing a hundred thousand times."""
    operator = lock["documents"]["records"]["std.operators.mul"]["operator"]
    operator["requires"] = [
        [["apply", "<=", [["num", "0"], ["num", str(i)]], []], "", "", ["", 0, 0]] for i in range(100_000)
    ]


def large_tensor(lock: Any) -> None:
    lock["documents"]["ir"]["inputs"][0][1][1] = [2**40, 2**40]


HOSTILE: list[tuple[str, Callable[[Any], None]]] = [
    (MASKED, nearly_too_large),
    (MASKED, many_statements),
    (MASKED, many_coalitions),
    (MASKED, many_steps),
    (FIXED, huge_repeat),
    (MASKED, nested_repeats),
    (FIXED, large_record),
    (FIXED, large_tensor),
]


@pytest.mark.parametrize(("text", "forge"), HOSTILE, ids=[forge.__name__ for _, forge in HOSTILE])
def test_it_ends_soon_with_a_named_error(text: str, forge: Callable[[Any], None]) -> None:
    lock = data(of_text(text))
    forge(lock)
    content = sealed(lock)
    began = time.process_time()
    with pytest.raises(ReplayError) as refused:
        replay(content)
    assert refused.value.code.startswith(("lock.", "certificate."))
    assert time.process_time() - began < SECONDS
