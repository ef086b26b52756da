"""Locks forged by hand where parties do something without a text: who does it, of what, how often, and where the result goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pllm_lang.artifacts.replay.lock import replay
from pllm_lang.artifacts.replay.refusal import ReplayError
from tests.artifacts.locks import MASKED, data, of_text, sealed

PLAIN = MASKED.replace("z = clamp(y", "t = transpose(y)\n  z = clamp(t").replace(
    "output z", "u = transpose(w)\n  output u to client\n  output z"
)
"""With entries that are moved where they lie: `t` at the client, `u` of a public value at everybody."""
RING32, RING64 = ["ring", 4294967296], ["ring", "18446744073709551616"]
MOVED, CLAMPED, PUBLIC = 2, 3, 4
"""Places of the uses that do `t`, `z` and `u`."""


def uses(documents: Any) -> Any:
    return documents["programs"][0]["uses"]


def test_what_the_uses_are() -> None:
    everybody = ["client", "inference", "preparation"]
    embedded, masked, *alone = uses(data(of_text(PLAIN))["documents"])
    assert embedded == ["embed", ["client"], "x", "x'2", RING32, 1]
    assert (masked[0], masked[2]) == ("use", 0)
    assert alone == [
        ["alone", ["client"], 1, ["y"], ["t"], 1],
        ["alone", ["client"], 2, ["t"], ["z"], 1],
        ["alone", everybody, 3, ["w"], ["u"], 1],
    ]


# ---- a step that parties do by themselves ----
def at_another_party(documents: Any) -> None:
    uses(documents)[CLAMPED][1] = ["inference"]


def at_one_party_more(documents: Any) -> None:
    uses(documents)[CLAMPED][1] = ["client", "inference"]


def at_a_party_without_the_operand(documents: Any) -> None:
    uses(documents)[MOVED][1] = ["inference"]


def also_at_a_party_without_the_operand(documents: Any) -> None:
    uses(documents)[MOVED][1] = ["client", "inference"]


def at_nobody(documents: Any) -> None:
    uses(documents)[PUBLIC][1] = []


def at_a_party_twice(documents: Any) -> None:
    uses(documents)[PUBLIC][1] = ["client", "client", "inference", "preparation"]


def at_a_stranger(documents: Any) -> None:
    uses(documents)[PUBLIC][1] = ["client", "stranger"]


def at_a_primitive(documents: Any) -> None:
    uses(documents)[PUBLIC][1] = ["client", "ideal client"]


def put_out_to_a_party_that_has_it_not(documents: Any) -> None:
    """The client did not compute `u`."""
    uses(documents)[PUBLIC][1] = ["inference"]


def of_another_value(documents: Any) -> None:
    uses(documents)[CLAMPED][3] = ["y"]


def of_the_same_value_under_another_name(documents: Any) -> None:
    """`x'2` is `x` as residues, and `y'2` nothing at all."""
    uses(documents)[MOVED][3] = ["y'2"]


def of_one_value_more(documents: Any) -> None:
    uses(documents)[CLAMPED][3] = ["t", "x"]


def of_nothing(documents: Any) -> None:
    uses(documents)[CLAMPED][3] = []


def with_one_result_more(documents: Any) -> None:
    uses(documents)[CLAMPED][4] = ["z", "more"]


def with_a_result_that_is_there(documents: Any) -> None:
    uses(documents)[CLAMPED][4] = ["x"]


def more_often(documents: Any) -> None:
    uses(documents)[CLAMPED][5] = 2


def as_another_step(documents: Any) -> None:
    uses(documents)[CLAMPED][2] = 1


def as_no_step(documents: Any) -> None:
    uses(documents)[CLAMPED][2] = -1


def not_at_all(documents: Any) -> None:
    del uses(documents)[CLAMPED]


def once_more(documents: Any) -> None:
    uses(documents).append(["alone", ["client"], 2, ["t"], ["again"], 1])


def in_another_order(documents: Any) -> None:
    uses(documents)[CLAMPED:] = uses(documents)[:1:-1][:2]


def a_step_of_several_parties(documents: Any) -> None:
    """The product is called by name at the client, that has both operands, and so nothing is sent."""
    uses(documents)[:2] = [["alone", ["client"], 0, ["x", "w"], ["y"], 1]]
    documents["protocols"] = []
    documents["certificate"]["seen"] = [one for one in documents["certificate"]["seen"] if one[0]]


def by_a_text(documents: Any) -> None:
    """A text that calls the operator: what it is called says nothing of what it computes."""
    type_ = [RING64, [4, 2]]
    call = ["call", "clamp[low=-9, high=9]", [["ref", "a"]], type_, [], []]
    text = {
        "name": "clamp",
        "parties": [["client", None, [1, 0]]],
        "inputs": [["a", type_, ["clear", ["client"]], "execution", 0, False, -1]],
        "outputs": [["y", type_, ["clear", ["client"]], call, 0, 0, 0, -1]],
        "body": [["assign", "client", "y", call, "online", "execution", -1]],
        "adversary": "semi_honest",
    }
    documents["protocols"].append(["", text])
    uses(documents)[CLAMPED] = ["use", 1, 2, [["client", "client"]], [["a", "t"]], [["y", "z"]], 1]


def of_a_value_that_was_shown(documents: Any) -> None:
    """`t` goes to `inference` in a text of its own, that no step asks for."""
    type_ = [RING64, [4, 2]]
    kept = ["online", "execution", -1]
    both = ["clear", ["client", "inference"]]
    text = {
        "name": "disclose",
        "parties": [["client", None, [1, 0]], ["inference", None, [1, 0]]],
        "inputs": [["x", type_, ["clear", ["client"]], "execution", 0, False, -1]],
        "outputs": [["y", type_, both, ["ref", "x"], 0, 0, 0, -1]],
        "body": [
            ["send", "client", ["inference"], "x", *kept],
            *(["assign", party, "y", ["ref", "x"], *kept] for party in both[1]),
        ],
        "adversary": "semi_honest",
    }
    documents["protocols"].append(["", text])
    roles = [["client", "client"], ["inference", "inference"]]
    uses(documents).insert(CLAMPED, ["use", 1, 2, roles, [["x", "t"]], [["y", "t'2"]], 1])


# ---- a value taken as other numbers ----
def by_another_party(documents: Any) -> None:
    uses(documents)[0][1] = ["inference"]


def by_one_party_more(documents: Any) -> None:
    uses(documents)[0][1] = ["client", "inference"]


def by_nobody(documents: Any) -> None:
    uses(documents)[0][1] = []


def another_value(documents: Any) -> None:
    """`w` is public, and begins under both its names."""
    uses(documents)[0][2] = "w"


def no_value(documents: Any) -> None:
    uses(documents)[0][2] = "none"


def a_name_that_is_there(documents: Any) -> None:
    uses(documents)[0][3] = "w"


def in_another_ring(documents: Any) -> None:
    uses(documents)[0][4] = ["ring", 65536]


def as_integers(documents: Any) -> None:
    uses(documents)[0][4] = ["integer", 32, False]


def as_integers_of_many_bits(documents: Any) -> None:
    uses(documents)[0][4] = ["integer", 2**50, False]


def as_what_it_is(documents: Any) -> None:
    uses(documents).insert(0, ["embed", ["client"], "x", "x'3", RING64, 1])


def embedded_more_often(documents: Any) -> None:
    uses(documents)[0][5] = 2


STEP = "the plan has a step here that the program does not run, or not as often"
NOT_HAD = "a party computes with `y`, which it does not have"
WHO = "done by no party, by one twice, or by one that the policy does not have"
WIRED = "not wired to what its step reads"
TAKEN = "taken as other numbers by those that do not have it"
LIES = "does not lie as `masked_linear` takes it to lie"
FORGED: list[tuple[Callable[[Any], None], str]] = [
    (at_another_party, "runs elsewhere than at `client`"),
    (at_one_party_more, "runs elsewhere than at `client`"),
    (at_a_party_without_the_operand, NOT_HAD),
    (also_at_a_party_without_the_operand, NOT_HAD),
    (at_nobody, WHO),
    (at_a_party_twice, WHO),
    (at_a_stranger, WHO),
    (at_a_primitive, WHO),
    (put_out_to_a_party_that_has_it_not, "`u` goes to `client`, which does not have it"),
    (of_another_value, WIRED),
    (of_the_same_value_under_another_name, WIRED),
    (of_one_value_more, WIRED),
    (of_nothing, WIRED),
    (with_one_result_more, WIRED),
    (with_a_result_that_is_there, "`x` is made twice"),
    (more_often, STEP),
    (as_another_step, STEP),
    (as_no_step, STEP),
    (not_at_all, STEP),
    (once_more, "more than the plan has"),
    (in_another_order, STEP),
    (a_step_of_several_parties, "a step of several parties is done by one alone"),
    (by_a_text, "more than its move of entries"),
    (of_a_value_that_was_shown, "a value is shown that no step takes"),
    (by_another_party, TAKEN),
    (by_one_party_more, TAKEN),
    (by_nobody, TAKEN),
    (another_value, TAKEN),
    (no_value, "`none` is not there"),
    (a_name_that_is_there, "`w` is made twice"),
    (in_another_ring, LIES),
    (as_integers, LIES),
    (as_integers_of_many_bits, "of more bits than are followed"),
    (as_what_it_is, "numbers that it is of"),
    (embedded_more_often, "not as often as here"),
]


@pytest.mark.parametrize(("forge", "said"), FORGED, ids=[forge.__name__ for forge, _ in FORGED])
def test_a_forged_use_is_refused(forge: Callable[[Any], None], said: str) -> None:
    lock = data(of_text(PLAIN))
    replay(sealed(lock))
    forge(lock["documents"])
    with pytest.raises(ReplayError, match=said):
        replay(sealed(lock))
