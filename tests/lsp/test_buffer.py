"""The text of an open document follows the editor's, whatever is edited, in every encoding of positions."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pllm_lang.lsp.buffer import MAX_SPARE, Buffer, Position, Units

UNITS: tuple[Units, ...] = ("utf-8", "utf-16", "utf-32")
texts = st.text(st.sampled_from("ab# \r\n\té語\U0001f600\U00010348"), max_size=24)
places = st.tuples(st.integers(0, 9), st.integers(0, 9))


def width(text: str, units: Units) -> int:
    codec = units if units == "utf-8" else f"{units}-le"
    return len(text.encode(codec)) // {"utf-8": 1, "utf-16": 2, "utf-32": 4}[units]


def offset(text: str, place: tuple[int, int], units: Units) -> int:
    """The offset that the protocol means, worked out from the lines of the plain text."""
    lines = re.split(r"(\r\n|\r|\n)", text)
    if place[0] >= len(lines[::2]):
        return len(text)
    start = sum(map(len, lines[: 2 * place[0]]))
    line = lines[2 * place[0]]
    fits = [n for n in range(len(line) + 1) if width(line[:n], units) <= place[1]]
    return start + fits[-1]


@pytest.mark.parametrize("units", UNITS)
@given(
    text=texts, edits=st.lists(st.tuples(places, places, texts), max_size=6), spare=st.sampled_from([0, 1, 7])
)
@settings(max_examples=200, deadline=None)
def test_edits_give_the_text_that_the_editor_has(
    units: Units, text: str, edits: list[tuple[tuple[int, int], tuple[int, int], str]], spare: int
) -> None:
    buffer = Buffer(text, spare, units)
    for one, other, new in edits:
        start, end = sorted([offset(text, one, units), offset(text, other, units)])
        text = text[:start] + new + text[end:]
        buffer.edit(Position(*one), Position(*other), new)
        assert buffer.real == text
        assert re.sub(" ", "", buffer.text) == re.sub(" ", "", text)
        assert not any(line.spare for line in buffer.lines if line.end == "\r"), "a string may go on there"
        assert all(line.spare <= MAX_SPARE + spare for line in buffer.lines)


@given(texts, texts, st.sampled_from([0, 5]))
@settings(max_examples=300, deadline=None)
def test_a_whole_text_may_take_the_place_of_another(old: str, new: str, spare: int) -> None:
    buffer = Buffer(old, spare)
    buffer.replace(new)
    assert buffer.real == new
    assert buffer.text == "".join(line.text for line in buffer.lines)


@pytest.mark.parametrize("units", UNITS)
@given(text=texts, spare=st.sampled_from([0, 5]))
@settings(max_examples=200, deadline=None)
def test_positions_and_offsets_are_inverse(units: Units, text: str, spare: int) -> None:
    buffer = Buffer(text, spare, units)
    for line, one in enumerate(buffer.lines):
        for column in range(len(one.content) + 1):
            place = Position(line, width(one.content[:column], units))
            assert buffer.position(buffer.offset(place)) == place


def test_typing_into_a_line_leaves_the_lines_below_where_they_are() -> None:
    buffer = Buffer("a\nb\nc\n", spare=8)
    before = list(buffer.starts)
    for letter in "uvwxyz":
        buffer.edit(Position(0, 0), Position(0, 0), letter)
        assert buffer.starts == before
    buffer.edit(Position(0, 3), Position(0, 3), "\n")
    assert buffer.starts[2:] == before[1:]
    assert buffer.real == "zyx\nwvua\nb\nc\n"


def test_a_column_inside_of_a_surrogate_pair_means_the_letter_s_beginning() -> None:
    buffer = Buffer("\U0001f600x", 4, "utf-16")
    assert buffer.offset(Position(0, 1)) == 0
    assert buffer.offset(Position(0, 2)) == 1
    buffer.edit(Position(0, 1), Position(0, 2), "")
    assert buffer.real == "x"
