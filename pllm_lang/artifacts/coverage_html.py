"""The coverage report as one self-contained HTML page: no script, nothing loaded from elsewhere, light and dark.

Everything that a file says is escaped; long words wrap.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from pllm_lang.artifacts.coverage_report import ASPECTS, LEVELS, Coverage, Row, count
from pllm_lang.artifacts.coverage_text import outcome

MAX_PLACES = 6
"""Places of a row that are written out; the rest are counted."""
HEADINGS = {
    "operator": "Operators",
    "conversion": "Conversions",
    "role": "Party roles",
    "bound": "Numeric bounds",
    "placement": "Placement and views",
    "material": "One-use material",
    "target": "Machines",
    "assurance": "Assurance and assumptions",
    "version": "Component versions",
    "other": "Other",
}
STYLE = """
:root { color-scheme: light dark; --ink: #1c2126; --soft: #5a6672; --line: #d7dde3; --ground: #ffffff; --card: #f5f7f9;
  --covered: #17693b; --covered-ground: #e1f3e8; --assumed: #7a5200; --assumed-ground: #fbf0d4; --missing: #a4182a;
  --missing-ground: #fce4e6; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaee; --soft: #9fabb7; --line: #37414b; --ground: #14181c;
  --card: #1d2329; --covered: #7fd6a2; --covered-ground: #12331f; --assumed: #efc66b; --assumed-ground: #3a2c0b;
  --missing: #ff9aa5; --missing-ground: #45161c; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1200px; padding: 32px 24px 48px; background: var(--ground); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 26px; line-height: 1.25; margin: 0 0 4px; }
h2 { font-size: 18px; margin: 32px 0 8px; }
p { margin: 0 0 16px; color: var(--soft); }
.counts { display: flex; flex-wrap: wrap; gap: 12px; margin: 20px 0 8px; padding: 0; list-style: none; }
.counts li { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 10px 16px; min-width: 130px; }
.counts b { display: block; font-size: 24px; line-height: 1.2; }
table { border-collapse: collapse; width: 100%; table-layout: fixed; font-size: 14px; }
th, td { border-bottom: 1px solid var(--line); padding: 7px 10px 7px 0; text-align: left; vertical-align: top; }
th { color: var(--soft); font-size: 12px; font-weight: 600; }
.subject { width: 27%; } .level { width: 100px; } .times { width: 84px; } .where { width: 24%; }
td.times, th.times { text-align: right; padding-right: 20px; font-variant-numeric: tabular-nums; }
code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: 13px; }
.pill { border-radius: 10px; padding: 2px 9px; font-size: 12px; font-weight: 600; white-space: nowrap; }
.covered { color: var(--covered); background: var(--covered-ground); }
.assumed { color: var(--assumed); background: var(--assumed-ground); }
.open { color: var(--soft); background: var(--card); }
.missing { color: var(--missing); background: var(--missing-ground); }
.place { display: block; color: var(--soft); font-size: 12px; }
.at { display: inline-block; }
ul.asked { color: var(--soft); margin: 0; padding-left: 20px; }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_HIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters and those that turn the direction of a text around."""


def as_html(coverage: Coverage) -> str:
    title = f"Coverage of {_text(coverage.plan)}"
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            '<head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title}</title>",
            f"<style>{STYLE}</style></head>",
            "<body>",
            f"<h1>{title}</h1>",
            f"<p>{_text(outcome(coverage))}</p>",
            *_counts(coverage),
            *_sections(coverage),
            *_not_asked(coverage),
            "</body>",
            "</html>",
            "",
        ]
    )


def _counts(coverage: Coverage) -> Iterator[str]:
    yield '<ul class="counts">'
    for level in LEVELS:
        number = count(coverage, level)
        if level == "open" and not number:
            continue  # of a model without a pipeline only
        yield f'<li><b>{number}</b><span class="pill {level}">{level}</span></li>'
    yield "</ul>"


def _sections(coverage: Coverage) -> Iterator[str]:
    """A table an aspect; those with gaps come first, and the gaps first in them."""
    by_aspect = [(aspect, [row for row in coverage.rows if row.aspect == aspect]) for aspect in ASPECTS]
    for aspect, rows in sorted(by_aspect, key=lambda one: not any(row.level == "missing" for row in one[1])):
        if rows:
            yield f"<h2>{HEADINGS[aspect]}</h2>"
            yield from _table(sorted(rows, key=lambda row: row.level != "missing"))


def _table(rows: list[Row]) -> Iterator[str]:
    placed = any(row.places for row in rows)
    where = '<th class="where">Where</th>' if placed else ""
    yield (
        '<table><thead><tr><th class="subject">Subject</th><th class="level">Level</th>'
        f'<th class="times">Times</th><th>By, or what stands in the way</th>{where}</tr></thead><tbody>'
    )
    yield from (_row(row, placed) for row in rows)
    yield "</tbody></table>"


def _row(row: Row, placed: bool) -> str:
    code = f" <code>{_text(row.code)}</code>" if row.code else ""
    return (
        f'<tr><td class="subject"><code>{_text(row.subject)}</code></td>'
        f'<td class="level"><span class="pill {row.level}">{row.level}</span></td>'
        f'<td class="times">{row.occurrences}</td><td>{_text(row.by)}{code}</td>{_where(row) if placed else ""}</tr>'
    )


def _where(row: Row) -> str:
    places = [
        f'{_text(place.file)}<span class="at">:{place.line}:{place.column}</span>'
        for place in row.places[:MAX_PLACES]
    ]
    left = len(row.places) - MAX_PLACES
    places += [f"and {left} more"] if left > 0 else []
    return "<td>" + "".join(f'<span class="place">{place}</span>' for place in places) + "</td>"


def _not_asked(coverage: Coverage) -> Iterator[str]:
    if coverage.not_asked:
        yield '<h2>Not asked</h2><ul class="asked">'
        yield from (f"<li>{_text(told)}</li>" for told in coverage.not_asked)
        yield "</ul>"


def _text(untrusted: str) -> str:
    return escape(_HIDDEN.sub("\ufffd", untrusted))
