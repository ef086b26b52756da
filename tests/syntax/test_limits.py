"""Hostile text gets a finding in bounded time, never an exception."""

import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pllm_lang.syntax.format import format_source
from pllm_lang.syntax.parse import Parsed, has_errors, parse
from pllm_lang.text.limits import MAX_DEPTH, MAX_SYNTAX_FINDINGS, MAX_TOKENS
from pllm_lang.text.source import make_source
from tests.strategies.syntax import KEYWORDS


def read(text: str) -> Parsed:
    return parse(make_source("t", text))


@pytest.mark.parametrize(
    "text",
    [
        "const a = " + "(" * 10_000 + "1" + ")" * 10_000,
        "const a = " + "[" * 10_000 + "]" * 10_000,
        "const a = " + "f(" * 10_000 + ")" * 10_000,
        "const a = " + "-" * 10_000 + "1",
        "const a = " + "not " * 10_000 + "b",
        "const a = " + "2^" * 10_000 + "2",
        "const a = " + "1 + " * 10_000 + "1",
        "const a = b" + ".c" * 10_000,
        "const a = " + "{ x: " * 10_000 + "1" + " }" * 10_000,
        "plan p {" + "repeat i in 0..1 {" * 10_000 + "}" * 10_001,
    ],
)
def test_deep_nesting_is_one_finding(text: str) -> None:
    found = read("pllm 1\n" + text + "\nconst b = 1\n")
    assert [finding.code for finding in found.findings] == ["syntax.too_deep"]
    assert found.findings[0].message == f"this is nested more than {MAX_DEPTH} levels deep"


def test_nesting_within_the_limit_is_fine_for_all_that_walks_the_tree() -> None:
    levels = MAX_DEPTH - 10
    found = read("pllm 1\nconst a = " + "(" * levels + "1" + ")" * levels + "\n")
    assert found.findings == ()
    assert not has_errors(read(format_source(found)))
    assert found == read(found.source.text)


@pytest.mark.parametrize("opened", ["(", "[", "{ a: ", "f(", "plan p {\n", "x = ", '"', "#", "1 + ", "} "])
def test_long_unfinished_texts_end_soon(opened: str) -> None:
    started = time.process_time()
    found = read("pllm 1\n" + opened * min(MAX_TOKENS // len(opened.split()) - 10, 2_000_000 // len(opened)))
    assert len(found.findings) <= MAX_SYNTAX_FINDINGS + 1
    assert time.process_time() - started < 5


def test_too_many_words_are_refused_before_they_are_read() -> None:
    started = time.process_time()
    found = read("pllm 1\n" + "x " * (MAX_TOKENS + 1))
    assert [finding.code for finding in found.findings] == ["syntax.too_large"]
    assert time.process_time() - started < 3


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("const a = " + "7" * 3_000_000, "syntax.too_long"),
        ('const a = "' + "x" * 200_000 + '"', "syntax.too_long"),
        ("const " + "a" * 2_000 + " = 1", "syntax.too_long"),
    ],
)
def test_long_literals(text: str, code: str) -> None:
    started = time.process_time()
    found = read("pllm 1\n" + text + "\n")
    assert [finding.code for finding in found.findings] == [code]
    assert len(found.findings[0].message) < 200
    assert time.process_time() - started < 2


def test_many_errors_are_summed_up() -> None:
    found = read("pllm 1\n" + "const = 1\n" * 200)
    assert len(found.findings) == MAX_SYNTAX_FINDINGS + 1
    assert found.findings[-1].code == "syntax.too_many"


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    assert isinstance(read(text), Parsed)


pieces = st.sampled_from(
    [
        *sorted(KEYWORDS),
        "x",
        "y:",
        "1",
        "2GiB",
        '"s"',
        '"',
        "'",
        "#",
        "\n",
        "\n\n",
        "  ",
        "\t",
        "\r\n",
        "é",
        "/",
        "*",
        *"()[]{}.,:=@^<>+-|;&%",
        *("..", "..<", "...", "->", "|>", "<=", "=="),
    ]
)


@given(st.lists(pieces, max_size=60).map(" ".join))
@settings(max_examples=500)
def test_any_row_of_words_and_signs_is_read_with_findings_inside_the_text(text: str) -> None:
    found = read(text)
    for finding in found.findings:
        spans = [finding.span, *(label.span for label in finding.labels)]
        spans += [edit.span for fix in finding.fixes for edit in fix.edits]
        assert all(0 <= span.start <= span.end <= len(text) for span in spans)
        assert finding.message
        assert "$" not in finding.message or "$" in text
    assert len(found.findings) <= MAX_SYNTAX_FINDINGS + 1


def test_the_parser_does_not_depend_on_the_recursion_limit() -> None:
    assert sys.getrecursionlimit() <= 1_000 or not has_errors(read("pllm 1\n"))
