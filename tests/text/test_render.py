"""Findings as text and as a document: places, numbers, alignment, counts."""

import io
import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pllm_lang.text.finding import Edit, Finding, Fix, Label, Severity, Span, Verdict
from pllm_lang.text.order import arrange, summary, tally
from pllm_lang.text.render_concise import render_concise
from pllm_lang.text.render_full import render_full
from pllm_lang.text.render_json import render_json
from pllm_lang.text.source import make_source
from pllm_lang.text.style import COLOURED, PLAIN, style_for
from pllm_lang.text.visible import visible, width

TEXT = "pllm 1\n\nplan p {\n  y = add(a, b)\n  z = f(y)\n}\n"
SOURCE = make_source("p.pllm", TEXT)
OTHER = make_source("q.pllm", "policy q {}\n")
SOURCES = {"p.pllm": SOURCE, "q.pllm": OTHER}


def at(part: str, source: str = TEXT, file: str = "p.pllm") -> Span:
    start = source.index(part)
    return Span(file, start, start + len(part))


OVERFLOW = Finding(
    "bounds.overflow",
    "the sum leaves its format",
    at("add(a, b)"),
    verdict=Verdict.REFUTED,
    labels=(Label(at("a, b"), "up to 2^31"),),
    notes=("checked with exact integers",),
    help="use ring(64)",
    data={"value": "2^32", "limit": "2^31"},
    fixes=(Fix("Widen the ring", (Edit(at("add"), "add64"),), safe=False),),
    subject="p.y",
    count=3,
)
WARNING = Finding("names.unused", "`z` is never used", at("z"), Severity.WARNING)
ELSEWHERE = Finding(
    "placement.leak",
    "too much is learnt",
    at("f(y)"),
    labels=(Label(at("q", OTHER.text, "q.pllm"), "by this"),),
)


def test_full() -> None:
    assert (
        render_full([WARNING, OVERFLOW, ELSEWHERE], SOURCES)
        == """\
error[bounds.overflow]: the sum leaves its format (refuted)
 --> p.pllm:4:7
  |
4 |   y = add(a, b)
  |       ^^^^^^^^^
  |           ---- up to 2^31
  = in p.y
  = the same at 3 places
  = value: 2^32, limit: 2^31
  = note: checked with exact integers
  = help: use ring(64)
  = fix (unsafe): Widen the ring
  = see: pllm explain bounds.overflow

error[placement.leak]: too much is learnt
 --> p.pllm:5:7
  |
5 |   z = f(y)
  |       ^^^^
 ::: q.pllm:1:8
  |
1 | policy q {}
  |        - by this
  = see: pllm explain placement.leak

warning[names.unused]: `z` is never used
 --> p.pllm:5:3
  |
5 |   z = f(y)
  |   ^
  = see: pllm explain names.unused

2 errors, 1 warning
"""
    )


def test_concise() -> None:
    assert (
        render_concise([WARNING, OVERFLOW], SOURCES)
        == """\
p.pllm:4:7: error[bounds.overflow] the sum leaves its format (3 places)
p.pllm:5:3: warning[names.unused] `z` is never used
1 error, 1 warning
"""
    )


def test_json() -> None:
    document = json.loads(render_json([WARNING, OVERFLOW], SOURCES))
    assert document["schema"] == "pllm.lang.findings.v1"
    assert document["verdict"] == "refused"
    assert document["counts"] == {"errors": 1, "warnings": 1, "notes": 0}
    first = document["findings"][0]
    assert first["code"] == "bounds.overflow"
    assert first["verdict"] == "refuted"
    assert first["data"] == {"value": "2^32", "limit": "2^31"}
    assert first["count"] == 3
    assert first["span"] == {
        "file": "p.pllm",
        "start": {"offset": TEXT.index("add"), "line": 4, "column": 7},
        "end": {"offset": TEXT.index("add") + 9, "line": 4, "column": 16},
    }
    assert first["fixes"][0]["edits"][0]["text"] == "add64"
    assert first["docs"] == "docs/rules/bounds/overflow.md"
    assert json.loads(render_json([WARNING], SOURCES))["verdict"] == "accepted"


def test_nothing_found() -> None:
    assert render_full([], SOURCES) == render_concise([], SOURCES) == ""
    assert json.loads(render_json([], SOURCES))["findings"] == []


severities = st.sampled_from(list(Severity))
spans = st.tuples(st.integers(0, len(TEXT)), st.integers(0, 9)).map(
    lambda pair: Span("p.pllm", pair[0], min(len(TEXT), sum(pair)))
)
findings = st.builds(
    Finding,
    st.sampled_from(["syntax.unexpected", "names.unknown", "bounds.overflow"]),
    st.sampled_from(["one", "two"]),
    spans,
    severities,
)


@given(st.lists(findings, max_size=8))
def test_counts_agree_in_all_formats(found: list[Finding]) -> None:
    counts = json.loads(render_json(found, SOURCES))["counts"]
    full, concise = render_full(found, SOURCES), render_concise(found, SOURCES)
    for severity in Severity:
        number = counts[f"{severity.value}s"]
        assert full.count(f"{severity.value}[") == concise.count(f" {severity.value}[") == number
    if found:
        assert full.splitlines()[-1] == concise.splitlines()[-1] == summary(arrange(found))


@given(st.lists(findings, max_size=8))
def test_equal_findings_become_one_with_a_count(found: list[Finding]) -> None:
    arranged = arrange(found)
    assert sum(finding.count for finding in arranged) == len(found)
    keys = [(f.code, f.message, f.span.start, f.span.end, f.severity) for f in arranged]
    assert len(set(keys)) == len(keys)
    assert sum(tally(arranged)) == len(arranged)


def test_root_causes_come_first_whatever_the_order() -> None:
    late = Finding("bounds.overflow", "b", Span("p.pllm", 0, 1))
    early = Finding("names.unknown", "n", Span("p.pllm", 30, 31))
    assert [f.code for f in arrange([WARNING, late, early])] == [
        "names.unknown",
        "bounds.overflow",
        "names.unused",
    ]


@pytest.mark.parametrize(
    ("before", "part"),
    [("", "abc"), ("日本 = ", "語"), ("e\u0301 = ", "x"), ("\t", "x"), ("x\u200b", "y"), ("ｆ(", "値段)")],
)
def test_marks_stand_under_their_place_in_terminal_columns(before: str, part: str) -> None:
    source = make_source("w", before + part + " end\n")
    finding = Finding("a.b", "m", Span("w", len(before), len(before) + len(part)))
    lines = render_full([finding], {"w": source}).split("\n")
    shown, marks = lines[3], lines[4]
    assert marks.index("^") == width(shown[: shown.index(visible(part))])
    assert marks.count("^") == width(part)


@pytest.mark.parametrize(
    ("text", "columns"),
    [("abc", 3), ("日本", 4), ("e\u0301", 1), ("\t", 4), ("\x1b", 1), ("ｱ", 1), ("\u202e", 1)],
)
def test_widths(text: str, columns: int) -> None:
    assert width(text) == columns


@given(st.text(max_size=40))
def test_nothing_printed_can_steer_the_terminal(text: str) -> None:
    source = make_source(text, text)
    finding = Finding("a.b", text, Span(text, 0, len(text)), help=text, notes=(text,), data={"value": text})
    for printed in (render_full([finding], {text: source}), render_concise([finding], {text: source})):
        assert all(char == "\n" or char.isprintable() for char in printed)
        assert "\x1b" not in printed
        assert "\r" not in printed


def test_a_long_line_is_cropped_around_its_mark() -> None:
    text = "x" * 5_000 + "HERE" + "y" * 5_000
    lines = render_full([Finding("a.b", "m", Span("l", 5_000, 5_004))], {"l": make_source("l", text)}).split(
        "\n"
    )
    assert len(lines[3]) < 200
    assert lines[4].index("^") == lines[3].index("HERE")
    assert lines[4].count("^") == 4


def test_a_place_at_the_end_of_the_file_has_a_mark() -> None:
    lines = render_full([Finding("a.b", "m", Span("p.pllm", len(TEXT), len(TEXT)))], SOURCES).split("\n")
    assert lines[1].strip() == "--> p.pllm:7:1"
    assert lines[4] == "  | ^"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colours_only_on_a_terminal_that_wants_them() -> None:
    assert style_for(Terminal(), {}) == COLOURED
    assert style_for(Terminal(), {"NO_COLOR": "1"}) == PLAIN
    assert style_for(Terminal(), {"TERM": "dumb"}) == PLAIN
    assert style_for(io.StringIO(), {}) == PLAIN
    assert "\x1b[1;31merror[bounds.overflow]\x1b[0m" in render_full([OVERFLOW], SOURCES, COLOURED)


def test_reading_and_rendering_import_nothing_heavy() -> None:
    program = (
        "import sys, pllm_lang.syntax.parse as p, pllm_lang.text.render_full, pllm_lang.text.render_json\n"
        "import pllm_lang.syntax.format\n"
        "from pllm_lang.text.source import make_source\n"
        "p.parse(make_source('a', 'pllm 1\\nconst = 1'))\n"
        "print([m for m in ('lark', 'rich', 'asyncio', 'numpy', 'dataclasses') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
