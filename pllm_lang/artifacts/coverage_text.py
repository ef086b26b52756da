"""The coverage report as a table for people."""

from __future__ import annotations

from pllm_lang.artifacts.coverage_report import ASPECTS, Coverage, Place, Row, count
from pllm_lang.text.visible import visible

_MARKS = {"covered": "covered", "assumed": "assumed", "open": "open", "missing": "MISSING"}
WIDEST = 48
"""Characters of a column before the last."""


def as_text(coverage: Coverage) -> str:
    """A line a row, aspect by aspect, columns aligned, then what was not asked and the outcome."""
    ordered = sorted(coverage.rows, key=lambda row: ASPECTS.index(row.aspect))
    rows = [("what", "subject", "times", "level", "where", "by or blocker"), *map(_cells, ordered)]
    widths = [min(WIDEST, max(len(row[column]) for row in rows)) for column in range(5)]
    lines = [
        "  ".join([*(cell.ljust(w) for cell, w in zip(row[:5], widths, strict=True)), row[5]]).rstrip()
        for row in rows
    ]
    lines += [f"not asked: {visible(told)}" for told in coverage.not_asked]
    lines.append(f"{coverage.plan}: {outcome(coverage)}")
    return "\n".join(lines)


def outcome(coverage: Coverage) -> str:
    if coverage.complete:
        assumed = count(coverage, "assumed")
        return (
            f"complete, {assumed} of {len(coverage.rows)} rows rest on assumptions" if assumed else "complete"
        )
    missing, left_open = count(coverage, "missing"), count(coverage, "open")
    if left_open and not missing:
        return f"no pipeline was named, so {left_open} of {len(coverage.rows)} rows are open: each lists what could do it"
    if not missing and coverage.not_asked:
        return f"incomplete: nothing missing in {len(coverage.rows)} rows, but not everything was asked"
    return f"incomplete, {missing} of {len(coverage.rows)} rows missing"


def place_text(places: tuple[Place, ...]) -> str:
    """The first place, and how many there are beside it."""
    if not places:
        return ""
    first = f"{places[0].file}:{places[0].line}:{places[0].column}"
    return first if len(places) == 1 else f"{first} +{len(places) - 1}"


def _cells(row: Row) -> tuple[str, ...]:
    """What a record says of itself may hold any characters; none of them moves the cursor."""
    blocker = f"{row.by} [{row.code}]" if row.code else row.by
    where = place_text(row.places)
    said = (row.aspect, row.subject, str(row.occurrences), _MARKS[row.level], where, blocker)
    return tuple(map(visible, said))
