"""The HTML report: self-contained, escaped, and readable in a real browser, light and dark."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pllm_lang.artifacts.coverage import coverage_of
from pllm_lang.artifacts.coverage_html import as_html
from pllm_lang.artifacts.coverage_report import ASPECTS, SCHEMA, Coverage, Place, Row
from pllm_lang.artifacts.coverage_text import outcome
from pllm_lang.cli.checking import check_files
from tests.corpus_harness import CORPUS
from tests.pictures.browser import assert_readable

LONG = "a_very_long_name_without_any_break_" * 8
HOSTILE = "</td><script>alert(1)</script><img src=x onerror=alert(1)>&amp;\"'\u202e\x1b[31m"


def report() -> Coverage:
    """A row of each aspect and level, long and hostile texts, many places."""
    places = tuple(Place(f"plans/{LONG}.pllm", line, 3) for line in range(1, 20))
    levels = ("covered", "assumed", "missing")
    rows = [
        Row(aspect, f"{aspect}_{level}", level, f"pllm/component-{i}/v1", 10**i, places[:i])
        for i, aspect in enumerate(ASPECTS)
        for level in levels
    ]
    rows += [Row("bound", LONG, "missing", f"{LONG} is outside", 7, places, "bounds.overflow")]
    rows += [Row("other", HOSTILE, "missing", HOSTILE, 1, (Place(HOSTILE, 1, 1),), "bounds.overflow")]
    return Coverage(SCHEMA, HOSTILE, False, tuple(rows), (f"target: {LONG}", HOSTILE))


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def tags(page: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = _Tags()
    parser.feed(page)
    return parser.tags


@given(st.text(max_size=80))
def test_whatever_a_file_says_adds_no_tag(text: str) -> None:
    def page(said: str) -> str:
        row = Row("bound", said, "missing", said, 1, (Place(said, 1, 1),), "bounds.overflow")
        return as_html(Coverage(SCHEMA, said, False, (row,), (said,)))

    assert tags(page(text)) == tags(page("x"))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page(text))


def test_nothing_is_loaded_and_nothing_runs() -> None:
    found = tags(as_html(report()))
    assert {tag for tag, _ in found}.isdisjoint({"script", "link", "img", "iframe", "object", "form", "a"})
    assert not any(
        name.startswith("on") or name in ("src", "href") for _, attributes in found for name in attributes
    )
    assert "url(" not in as_html(report())
    assert (
        "meta",
        {"http-equiv": "Content-Security-Policy", "content": "default-src 'none'; style-src 'unsafe-inline'"},
    ) in found


def test_the_gaps_come_first() -> None:
    rows = (
        Row("operator", "linear", "covered", "c", 1),
        Row("bound", "fine", "covered", "c", 1),
        Row("bound", "broken", "missing", "too large", 1),
    )
    page = as_html(Coverage(SCHEMA, "p", False, rows, ()))
    assert page.index("broken") < page.index("fine") < page.index("linear")


@pytest.mark.system
@pytest.mark.parametrize("dark", [False, True])
def test_it_is_readable(tmp_path: Path, dark: bool) -> None:
    found = assert_readable(as_html(report()), tmp_path, dark=dark)
    assert found["texts"] > 100
    assert (sum(found["ground"]) < 200) == dark


@pytest.mark.system
@pytest.mark.parametrize("name", ["R08_refused", "R08_accepted", "R01_refused"])
def test_reports_of_real_plans_are_readable(tmp_path: Path, name: str) -> None:
    path = next((CORPUS / "reports").glob(f"{name}*.pllm"))
    checked = check_files([str(path)], str(path.parent))
    assert_readable(as_html(coverage_of(checked.reports[0], checked.sources)), tmp_path)


@pytest.mark.parametrize(
    ("level", "told"),
    [
        ("missing", "incomplete, 1 of 1 rows missing"),
        ("covered", "incomplete: nothing missing in 1 rows, but not everything was asked"),
    ],
)
def test_the_outcome_of_an_incomplete_report_says_why(
    level: Literal["missing", "covered"], told: str
) -> None:
    report = Coverage(SCHEMA, "p", False, (Row("operator", "linear", level, "x", 1),), ("target",))
    assert outcome(report) == told
