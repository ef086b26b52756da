"""Edits of a text: in order, never overlapping, and where they move a place to."""

from hypothesis import given
from hypothesis import strategies as st

from pllm_lang.text.edits import apply_edits, in_order, line_before, moved, whole_lines
from pllm_lang.text.finding import Edit, Span
from pllm_lang.text.source import make_source


def edit(start: int, end: int, text: str) -> Edit:
    return Edit(Span("t", start, end), text)


def test_edits_are_applied_together() -> None:
    assert apply_edits("abcdef", [edit(4, 6, "Z"), edit(0, 1, ""), edit(2, 2, "-")]) == "b-cdZ"
    assert apply_edits("abc", [edit(1, 2, "x"), edit(1, 2, "x")]) == "axc", "equal edits are one"


def test_edits_that_overlap_have_no_result() -> None:
    assert apply_edits("abcdef", [edit(0, 3, ""), edit(2, 4, "")]) is None
    assert apply_edits("abcdef", [edit(2, 2, "x"), edit(2, 2, "y")]) is None
    assert apply_edits("abc", [edit(2, 9, "")]) is None


def test_new_lines_end_as_the_others_do() -> None:
    assert apply_edits("a\r\nb\r\n", [edit(3, 3, "x\n")]) == "a\r\nx\r\nb\r\n"
    assert apply_edits("a\nb\n", [edit(2, 2, "x\n")]) == "a\nx\nb\n"


@given(st.text(alphabet="abc", min_size=1, max_size=30), st.data())
def test_a_character_is_found_again_where_it_moved_to(text: str, data: st.DataObject) -> None:
    places = sorted(data.draw(st.sets(st.integers(0, len(text)), min_size=2, max_size=6)))
    edits = [
        edit(start, end, data.draw(st.text(alphabet="XYZ", max_size=4)))
        for start, end in zip(places[::2], places[1::2], strict=False)
    ]
    ordered = in_order(edits)
    assert ordered is not None
    changed = apply_edits(text, edits)
    assert changed is not None
    for offset, char in enumerate(text):
        if not any(one.span.start <= offset < one.span.end for one in edits):
            assert changed[moved(offset, ordered)] == char


def test_a_line_before_keeps_the_indentation() -> None:
    source = make_source("t", "p {\n    y = f(x)\n}\n")
    at = source.text.index("y")
    assert (
        apply_edits(source.text, [line_before(source, at, "z = g(x)")])
        == "p {\n    z = g(x)\n    y = f(x)\n}\n"
    )
    beside = make_source("t", "p { y = f(x) }")
    assert apply_edits(beside.text, [line_before(beside, 4, "z = g(x)")]) == "p { z = g(x) y = f(x) }"


def test_whole_lines() -> None:
    source = make_source("t", "a\n  bb  \nc d\n")
    assert whole_lines(source, Span("t", 4, 6)) == Span("t", 2, 9)
    assert whole_lines(source, Span("t", 9, 10)) == Span("t", 9, 10), "something else stands on the line"
