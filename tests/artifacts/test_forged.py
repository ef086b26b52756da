"""Locks forged by hand, every digest worked out again: what the parties run, or what is claimed of it, is not the plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pllm_lang.artifacts.replay import replay
from pllm_lang.artifacts.replay_read import ReplayError
from tests.artifacts.locks import MASKED, data, of_text, sealed

RING32 = ["ring", 4294967296]
RING64 = ["ring", "18446744073709551616"]
X, LAST = [RING32, [2, 3]], ["online", "execution", -1]


def assign(party: str, target: str, value: Any) -> list[Any]:
    return ["assign", party, target, value, *LAST]


def send(name: str) -> list[Any]:
    return ["send", "client", ["inference"], name, *LAST]


def text_of(documents: Any, number: int) -> Any:
    return documents["protocols"][number][1]


def a_variable_named_like_an_input(documents: Any) -> None:
    """The other party names a zero `x`, and then is sent the real one."""
    zero = assign("inference", "x", ["const", 0, X])
    text_of(documents, 1)["body"][:0] = [zero, assign("client", "leak", ["ref", "x"]), send("leak")]
    after(documents, 1)


def an_input_sent_by_its_name(documents: Any) -> None:
    text_of(documents, 1)["body"].append(send("x"))


def a_value_named_like_a_key(documents: Any) -> None:
    key = ["key", "k", ["client"], "execution", "offline", 128, -1]
    text_of(documents, 1)["body"][:0] = [key, assign("client", "k", ["ref", "x"]), send("k")]


def a_key_named_like_a_value(documents: Any) -> None:
    key = ["key", "k", ["client"], "execution", "offline", 128, -1]
    text_of(documents, 1)["body"][:0] = [assign("client", "k", ["ref", "x"]), key, send("k")]


def after(documents: Any, messages: int) -> None:
    """The moves of the view of `inference`, so many messages later."""
    for move in documents["certificate"]["seen"][0][3]:
        move[0] += messages


FORGED: list[tuple[Callable[[Any], None], str]] = [
    (a_variable_named_like_an_input, "message 0 shows something of `x`"),
    (an_input_sent_by_its_name, "message 2 shows something of `x`"),
    (a_value_named_like_a_key, "names a key and a value"),
    (a_key_named_like_a_value, "names two things"),
]


@pytest.mark.parametrize(("forge", "said"), FORGED, ids=[forge.__name__ for forge, _ in FORGED])
def test_a_forged_lock_is_refused(forge: Callable[[Any], None], said: str) -> None:
    lock = data(of_text(MASKED))
    replay(sealed(lock))
    forge(lock["documents"])
    with pytest.raises(ReplayError, match=said):
        replay(sealed(lock))
