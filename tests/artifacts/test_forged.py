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


def called(documents: Any, number: int, name: str, *args: Any) -> None:
    """The one result of a text in the clear becomes another call."""
    text = text_of(documents, number)
    call = ["call", name, list(args), text["outputs"][0][1], [], []]
    text["outputs"][0][3] = text["body"][0][3] = call


def another_embedding(documents: Any) -> None:
    called(documents, 0, "raw32 plus 1", ["ref", "a0"])


def a_step_of_other_operands(documents: Any) -> None:
    called(documents, 2, "clamp[low=-9, high=9]", ["const", 0, [RING32, [2, 4]]])


def a_step_with_other_parameters(documents: Any) -> None:
    called(documents, 2, "clamp[low=-5, high=5]", ["ref", "a0"])


def a_meaning_that_is_anything(documents: Any) -> None:
    text = text_of(documents, 1)
    call = ["call", "bits", [["ref", "x"], ["ref", "w"]], [RING32, [2, 4]], [], []]
    text["outputs"][0][3], text["body"] = call, [assign("client", "y", call)]
    for seen in documents["certificate"]["seen"]:
        seen[3] = []


def a_step_that_is_said_to_move_entries(documents: Any) -> None:
    step = documents["ir"]["stages"][0][1][1]
    step[7], step[10] = "", True


def after(documents: Any, messages: int) -> None:
    """The moves of the view of `inference`, so many messages later."""
    for move in documents["certificate"]["seen"][0][3]:
        move[0] += messages


FORGED: list[tuple[Callable[[Any], None], str]] = [
    (a_variable_named_like_an_input, "message 0 shows something of `x`"),
    (an_input_sent_by_its_name, "message 2 shows something of `x`"),
    (a_value_named_like_a_key, "names a key and a value"),
    (a_key_named_like_a_value, "names two things"),
    (another_embedding, "changes a value that no step of the plan changes"),
    (a_step_of_other_operands, "is not `clamp.*` of its operands"),
    (a_step_with_other_parameters, "is not `clamp.*` of its operands"),
    (a_meaning_that_is_anything, "is not said to be what `linear` means"),
    (a_step_that_is_said_to_move_entries, "its operator computes"),
]


@pytest.mark.parametrize(("forge", "said"), FORGED, ids=[forge.__name__ for forge, _ in FORGED])
def test_a_forged_lock_is_refused(forge: Callable[[Any], None], said: str) -> None:
    lock = data(of_text(MASKED))
    replay(sealed(lock))
    forge(lock["documents"])
    with pytest.raises(ReplayError, match=said):
        replay(sealed(lock))
