"""A claim that was shown of a component with some parameters is not one of the same with others, for replay neither."""

import pytest

from pllm_lang.artifacts.replay.lock import replay
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.artifacts.replay.terms import Names, bound, holds
from pllm_lang.catalog.expr import Apply, Expr, Ref
from pllm_lang.catalog.records import Format
from tests.artifacts.locks import data, of_text, sealed

PLAN = """pllm 1

import std.components [masked_linear]
import std.formats [int8, weight8]
import std.policies [single_evaluator]

policy asking tightens single_evaluator {
  requires claim "composition-privacy" outcomes [proved_in_model]
}

assurance of_narrow {
  claim: "composition-privacy"
  outcome: proved_in_model
  of: [masked_linear(bits: 24)]
}

plan narrow under asking {
  input  h: int8[8, 64] from client
  weight w: weight8[128, 64] public
  y = linear(h, w) using masked_linear(bits: 24)
  output y to client
}
"""


def test_it_is_shown_again() -> None:
    assert replay(of_text(PLAN)).shown["assurance.missing"] == 1


def test_a_record_of_other_parameters_is_none() -> None:
    lock = data(of_text(PLAN))
    (found,) = (one["record"] for one in lock["documents"]["records"].values() if "record" in one)
    assert found["fields"]["of"][1][0][3] == [["bits", ["num", "24"]]]
    found["fields"]["of"][1][0][3][0][1][1] = "32"
    with pytest.raises(ReplayError) as refused:
        replay(sealed(lock))
    assert refused.value.code == "certificate.policy"


WORDED = """pllm 1

import std.formats [int8]

component careful = "example/careful" {
  kind: method
  version: "1"
  implements: add
  params { mode: word in [fast, slow] = fast }
  carrier: ring(32)
  requires mode != fast else "the fast way is not exact"
}

plan sums {
  input x: int8[4] from client where abs(x) <= 60
  y = add(x, x) using careful(mode: slow)
  output y to client
}
"""


def test_a_parameter_that_is_left_out_is_no_word_of_its_name() -> None:
    """`mode != fast` was true of a use that says no mode: `mode` was taken for a word."""
    lock = data(of_text(WORDED))
    use = lock["documents"]["ir"]["stages"][0][1][0][6]
    assert use[1] == [["mode", ["ref", "slow"]]]
    use[1] = []
    with pytest.raises(ReplayError, match="leaves parameters out"):
        replay(sealed(lock))


def test_a_parameter_of_another_form_is_no_word_of_its_name() -> None:
    lock = data(of_text(WORDED))
    lock["documents"]["ir"]["stages"][0][1][0][6][1] = [["mode", ["list", [["ref", "fast"]]]]]
    with pytest.raises(ReplayError) as refused:
        replay(sealed(lock))
    assert refused.value.code == "certificate.bound"


@pytest.mark.parametrize(
    ("given", "said"), [([("mode", Ref("fast"))], True), ([("mode", Ref("slow"))], False), ([], None)]
)
def test_what_is_asked_of_the_words_of_a_kernel_or_component(
    given: list[tuple[str, Expr]], said: bool | None
) -> None:
    """A known defect `when mode == fast` was elsewhere for every kernel: only its numbers were known."""
    outer = Names(exact={"mode": 1}, words={"mode": "fast"})
    assert holds(Apply("==", (Ref("mode"), Ref("fast"))), bound(outer, ["mode"], given)) is said


@pytest.mark.parametrize("name", ["F", "sizes"])
def test_formats_and_lists_are_no_words(name: str) -> None:
    """`F != G` held of one format under two names."""
    names = Names(formats={"F": Format("a", "int"), "G": Format("a", "int")}, lists={"sizes": (1, 2)})
    assert holds(Apply("!=", (Ref(name), Ref("G"))), names) is None
    assert holds(Apply("!=", (Ref(name), Ref("word"))), names) is None
