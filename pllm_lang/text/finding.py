"""What a check has to say: findings, each with a place, the numbers behind it and a next step.

Data only. A finding's `code` is family and bad thing (`bounds.overflow`); it names the rule's file, corpus
folder and documentation page.
"""

from __future__ import annotations

from enum import Enum

import msgspec


class Severity(Enum):
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Verdict(Enum):
    """How an obligation ended. Only PROVED passes."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNPROVED = "unproved"


class Span(msgspec.Struct, frozen=True, gc=False):
    """A stretch of one file: character offsets `start` <= `end` into its decoded text."""

    file: str
    start: int
    end: int


class Label(msgspec.Struct, frozen=True, gc=False):
    """A second place that the finding speaks of."""

    span: Span
    text: str


class Edit(msgspec.Struct, frozen=True, gc=False):
    span: Span
    text: str


class Fix(msgspec.Struct, frozen=True):
    """A change of the text that removes the finding; `safe` when it cannot change another verdict."""

    title: str
    edits: tuple[Edit, ...]
    safe: bool


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """One finding.

    `data` holds the numbers as strings (exact: `"1/128"`), with stable keys such as `value`, `limit`,
    `term`, `needs`, `witness`. `verdict` is set when an obligation stands behind the finding; such a finding
    is an error and nothing can suppress it. `count` is how many equal places it stands for (layers).
    """

    code: str
    message: str
    span: Span
    severity: Severity = Severity.ERROR
    verdict: Verdict | None = None
    labels: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    help: str = ""
    data: dict[str, str] = {}
    fixes: tuple[Fix, ...] = ()
    subject: str = ""
    count: int = 1
