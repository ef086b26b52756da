"""The coverage report as data, and as a document (`pllm.lang.coverage.v1`, schema in `schemas/`)."""

from __future__ import annotations

from typing import Literal

import msgspec

from pllm_lang.text.json_text import json_text

SCHEMA = "pllm.lang.coverage.v1"

Aspect = Literal[
    "operator",
    "conversion",
    "role",
    "bound",
    "placement",
    "material",
    "target",
    "assurance",
    "version",
    "other",
]
ASPECTS: tuple[Aspect, ...] = Aspect.__args__  # type: ignore[attr-defined]
"""In the order of a report."""
Level = Literal["covered", "assumed", "open", "missing"]
"""`open`: nothing was named that could cover it, as of a model without a pipeline; what could is listed."""

LEVELS: tuple[Level, ...] = Level.__args__  # type: ignore[attr-defined]


class Place(msgspec.Struct, frozen=True, order=True):
    """Line and column count from 1, in characters."""

    file: str
    line: int
    column: int


class Row(msgspec.Struct, frozen=True):
    """All things that are alike. `by` is the component or the proof that covers, or the blocker that stands in the way;
    `code` is the rule that a gap breaks, "" for none."""

    aspect: Aspect
    subject: str
    level: Level
    by: str
    occurrences: int
    places: tuple[Place, ...] = ()
    code: str = ""


class Coverage(msgspec.Struct, frozen=True):
    """`complete` holds iff no row is missing or open and nothing else stopped the plan; `not_asked` is what nobody looked at."""

    schema: str
    plan: str
    complete: bool
    rows: tuple[Row, ...]
    not_asked: tuple[str, ...]


def count(coverage: Coverage, level: Level) -> int:
    """Rows of a level."""
    return sum(row.level == level for row in coverage.rows)


def document(coverage: Coverage) -> bytes:
    """The report as indented JSON."""
    return json_text(coverage).encode()
