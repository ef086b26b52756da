"""Locks forged by hand, every digest worked out again: what the parties run, or what is claimed of it, is not the plan."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from pllm_lang.artifacts.replay.lock import replay
from pllm_lang.artifacts.replay.refusal import ReplayError
from tests.artifacts.locks import FIXED, MASKED, SHARED, data, of_text, sealed

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
    text_of(documents, 0)["body"][:0] = [zero, assign("client", "leak", ["ref", "x"]), send("leak")]
    after(documents, 1)


def an_input_sent_by_its_name(documents: Any) -> None:
    text_of(documents, 0)["body"].append(send("x"))


def a_value_named_like_a_key(documents: Any) -> None:
    key = ["key", "k", ["client"], "execution", "offline", 128, -1]
    text_of(documents, 0)["body"][:0] = [key, assign("client", "k", ["ref", "x"]), send("k")]


def a_key_named_like_a_value(documents: Any) -> None:
    key = ["key", "k", ["client"], "execution", "offline", 128, -1]
    text_of(documents, 0)["body"][:0] = [assign("client", "k", ["ref", "x"]), key, send("k")]


def a_meaning_that_is_anything(documents: Any) -> None:
    text = text_of(documents, 0)
    call = ["call", "bits", [["ref", "x"], ["ref", "w"]], [RING32, [2, 4]], [], []]
    text["outputs"][0][3], text["body"] = call, [assign("client", "y", call)]
    for seen in documents["certificate"]["seen"]:
        seen[3] = []


def a_step_that_is_said_to_move_entries(documents: Any) -> None:
    step = documents["ir"]["stages"][0][1][1]
    step[7], step[10] = "", True


def assumptions_unlisted(documents: Any) -> None:
    certificate = documents["certificate"]
    certificate["assumed"] = []
    for duty in certificate["duties"]:
        duty[3] = []


def an_assumption_of_another(documents: Any) -> None:
    certificate = documents["certificate"]
    certificate["assumed"] = ["nothing"]
    for duty in certificate["duties"]:
        duty[3] = ["nothing"] if duty[3] else []


def a_bound_from_the_other_side(documents: Any) -> None:
    documents["ir"]["inputs"][0][4] = [["max_abs", ">=", "5", 0]]


def digits_of_another_script(documents: Any) -> None:
    documents["certificate"]["met"][1][1][0][0] = "-\N{ARABIC-INDIC DIGIT NINE}"


def after(documents: Any, messages: int) -> None:
    """The moves of the view of `inference`, so many messages later."""
    for move in documents["certificate"]["seen"][0][3]:
        move[0] += messages


FORGED: list[tuple[Callable[[Any], None], str]] = [
    (a_variable_named_like_an_input, "message 0 shows something of `x`"),
    (an_input_sent_by_its_name, "message 2 shows something of `x`"),
    (a_value_named_like_a_key, "names a key and a value"),
    (a_key_named_like_a_value, "names two things"),
    (a_meaning_that_is_anything, "is not said to be what `linear` means"),
    (a_step_that_is_said_to_move_entries, "its operator computes"),
    (assumptions_unlisted, "does not say that it assumes: the security of prf"),
    (an_assumption_of_another, "placement.assumption"),
    (a_bound_from_the_other_side, "from the side that says nothing"),
    (digits_of_another_script, "a number that is none"),
]


@pytest.mark.parametrize(("forge", "said"), FORGED, ids=[forge.__name__ for forge, _ in FORGED])
def test_a_forged_lock_is_refused(forge: Callable[[Any], None], said: str) -> None:
    lock = data(of_text(MASKED))
    replay(sealed(lock))
    forge(lock["documents"])
    with pytest.raises(ReplayError, match=said):
        replay(sealed(lock))


def endless(documents: Any) -> None:
    """Two values that change places for ever."""
    swap = ["repeat", 5, 0, 2**53 - 1, [[0, 90, 101, 92], [1, 101, 90, 93]], []]
    documents["ir"]["stages"][0][1].append(swap)


def growing(documents: Any) -> None:
    """A requirement that multiplies five hundred fractions of three thousand digits."""

    def product(depth: int, seed: int) -> Any:
        if not depth:
            return ["num", f"{10**3000 + seed}/{10**3000 - seed - 1}"]
        return ["apply", "*", [product(depth - 1, 2 * seed), product(depth - 1, 2 * seed + 1)], []]

    wants = ["apply", "<=", [product(9, 0), ["num", "3"]], []]
    documents["records"]["std.operators.mul"]["operator"]["requires"] = [[wants, "", "", ["", 0, 0]]]


@pytest.mark.parametrize("forge", [endless, growing])
def test_what_would_take_for_ever_is_refused(forge: Callable[[Any], None]) -> None:
    lock = data(of_text(FIXED))
    forge(lock["documents"])
    began = time.process_time()
    with pytest.raises(ReplayError):
        replay(sealed(lock))
    assert time.process_time() - began < 15


MOVED = (
    SHARED[: SHARED.index("plan shared")].replace(
        "import std.protocols", "import std.holdings [additive]\nimport std.protocols"
    )
    + """plan moved under two_servers {
  input  x: narrow[2, 4] from client as additive(p0, p1) where abs(x) <= 8
  xs = slice(x, axis: 1, start: 0, stop: 2)
  t = transpose(xs)
  h = reveal(t) using additive_reveal
  output h to client
}
"""
)


def other_entries(documents: Any) -> None:
    text = text_of(documents, 1)
    for cut in (text["outputs"][0][3], *(line[3] for line in text["body"])):
        cut[3:5] = [1, 3]


def entries_not_moved(documents: Any) -> None:
    """A transpose that leaves a square as it is."""
    text = text_of(documents, 2)
    text["outputs"][0][3] = ["ref", "x"]
    for line in text["body"]:
        line[3] = line[3][1]


def a_value_that_is_not_what_was_shared(documents: Any) -> None:
    text = text_of(documents, 0)
    text["outputs"][0][3] = ["scale", 3, ["ref", "x"]]
    text["body"][1][3][2][1][0] = ["scale", 3, ["ref", "x"]]


def a_range_of_what_is_shared(documents: Any) -> None:
    """Inputs of 22 bits, said to have 1: an integer mask of a few bits would hide them."""
    text_of(documents, 0)["inputs"][0][4] = 1


def shared_by_a_primitive(documents: Any) -> None:
    """An oracle that nobody assumed takes part in the sharing."""
    text_of(documents, 0)["parties"].append(["oracle", ["oracle", 0, "semi_honest"], [1, 0]])
    documents["programs"][0]["uses"][0][3].append(["oracle", "ideal oracle"])


def a_sharing_called_otherwise(documents: Any) -> None:
    """So that nobody would see that its draws are taken for granted."""
    text_of(documents, 0)["name"] = "other"
    certificate = documents["certificate"]
    certificate["duties"] = [one for one in certificate["duties"] if one[0] != "placement.assumption"]
    certificate["assumed"] = []


def renamed(documents: Any, old: str, new: str) -> None:
    """A value of the stage under another name, wherever a use makes or takes it."""
    for use in documents["programs"][0]["uses"]:
        for pair in (*use[4], *use[5]):
            pair[1] = new if pair[1] == old else pair[1]


def a_value_named_like_a_piece(documents: Any) -> None:
    """What lies at `p0` would be looked at in place of its piece of `xs`."""
    renamed(documents, "ns", "xs.p0")


def a_value_named_like_a_variable(documents: Any) -> None:
    renamed(documents, "ns", "1:w.p0")


SHARINGS: list[tuple[Callable[[Any], None], str]] = [
    (other_entries, "more than its move of entries"),
    (entries_not_moved, "more than its move of entries"),
    (a_value_that_is_not_what_was_shared, "does not share `x` as the plan says"),
    (a_range_of_what_is_shared, "is not shown to be below"),
    (shared_by_a_primitive, "does not share `x` as the plan says"),
    (a_sharing_called_otherwise, "leaves out `placement.assumption`"),
]


@pytest.mark.parametrize(("forge", "said"), SHARINGS, ids=[forge.__name__ for forge, _ in SHARINGS])
def test_a_forged_sharing_is_refused(forge: Callable[[Any], None], said: str) -> None:
    lock = data(of_text(MOVED))
    assert replay(sealed(lock)).shown
    forge(lock["documents"])
    with pytest.raises(ReplayError, match=said):
        replay(sealed(lock))


@pytest.mark.parametrize("forge", [a_value_named_like_a_piece, a_value_named_like_a_variable])
def test_a_stage_as_one_text_gives_each_value_variables_of_its_own(forge: Callable[[Any], None]) -> None:
    lock = data(of_text(SHARED))
    assert [one[0] for one in lock["documents"]["certificate"]["seen"]][-1] is True
    forge(lock["documents"])
    with pytest.raises(ReplayError, match="stands for two values, or for one of a use"):
        replay(sealed(lock))


def a_format_of_many_bits(documents: Any) -> None:
    documents["ir"]["formats"][0][4] = 2**50


def a_range_of_many_bits(documents: Any) -> None:
    documents["programs"][0]["inputs"][1][4] = 2**50


def an_operand_of_many_bits(documents: Any) -> None:
    text_of(documents, 0)["inputs"][0][4] = 2**50


def a_result_of_many_bits(documents: Any) -> None:
    text_of(documents, 0)["outputs"][0][4] = 2**50


def a_level_of_many_bits(documents: Any) -> None:
    documents["policy"]["security"]["statistical"] = str(2**50)


def adversaries_beyond_number(documents: Any) -> None:
    documents["policy"]["adversaries"][0][1] = 2**50


def coalitions_beyond_number(documents: Any) -> None:
    policy = documents["policy"]
    policy["parties"] += [f"q{i}" for i in range(60)]
    policy["adversaries"] = [["semi_honest", 30, policy["parties"], ["", 0, 0]]]


LARGE = [
    a_format_of_many_bits,
    a_range_of_many_bits,
    an_operand_of_many_bits,
    a_result_of_many_bits,
    a_level_of_many_bits,
    adversaries_beyond_number,
    coalitions_beyond_number,
]


@pytest.mark.parametrize("forge", LARGE)
def test_numbers_that_would_fill_the_memory_are_refused(forge: Callable[[Any], None]) -> None:
    lock = data(of_text(MASKED))
    forge(lock["documents"])
    with pytest.raises(ReplayError):
        replay(sealed(lock))
