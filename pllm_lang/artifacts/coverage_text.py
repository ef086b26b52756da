"""The coverage report as a table for people."""

from __future__ import annotations

from pllm_lang.artifacts.coverage import Coverage, Row

_MARKS = {"covered": "ok", "assumed": "ok, assumed", "missing": "MISSING"}


def as_text(coverage: Coverage) -> str:
    """A line a row, columns aligned, then what was not asked and the outcome."""
    rows = [("what", "subject", "times", "level", "by or blocker"), *map(_cells, coverage.rows)]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [
        "  ".join([*(cell.ljust(w) for cell, w in zip(row[:4], widths, strict=True)), row[4]]).rstrip()
        for row in rows
    ]
    lines += [f"not asked: {told}" for told in coverage.not_asked]
    missing = sum(row.level == "missing" for row in coverage.rows)
    lines.append(
        f"{coverage.plan}: "
        + ("complete" if coverage.complete else f"incomplete, {missing} of {len(coverage.rows)} rows missing")
    )
    return "\n".join(lines)


def _cells(row: Row) -> tuple[str, str, str, str, str]:
    return row.aspect, row.subject, str(row.occurrences), _MARKS[row.level], row.by
