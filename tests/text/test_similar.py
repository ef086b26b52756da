"""The nearest known word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pllm_lang.text.similar import closest, edits

words = st.text("abcd", max_size=7)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("wieght", "weight"),
        ("outputs", "output"),
        ("polcy", "policy"),
        ("plna", "plan"),
        ("zzz", None),
        ("pl", None),
    ],
)
def test_closest(word: str, expected: str | None) -> None:
    assert closest(word, ["weight", "output", "policy", "plan"]) == expected


@given(words, words)
def test_edits_are_symmetric_and_zero_only_for_equal_words(left: str, right: str) -> None:
    assert edits(left, right) == edits(right, left)
    assert (edits(left, right) == 0) == (left == right)
    assert abs(len(left) - len(right)) <= edits(left, right) <= max(len(left), len(right))


@given(words, st.integers(0, 7), st.sampled_from("abcd"))
def test_one_letter_more_is_one_edit(word: str, at: int, letter: str) -> None:
    assert edits(word, word[:at] + letter + word[at:]) == 1
