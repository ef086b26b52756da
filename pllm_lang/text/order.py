"""Findings in the order in which they are read: root causes first, equal ones as one with a count.

In: findings as they were found. Out: the same, merged and sorted, and how many of each severity there are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from pllm_lang.text.finding import Finding, Severity

# What comes later in this list is often a consequence of what comes before; families not named stand last.
_FAMILIES = (
    *("file", "syntax", "modules", "names", "numbers", "facts", "records", "policies", "protocol"),
    *("models", "experiments", "blocks", "stages", "types", "params", "limits", "coverage"),
)
_SEVERITIES = (Severity.ERROR, Severity.WARNING, Severity.NOTE)


class Tally(NamedTuple):
    errors: int
    warnings: int
    notes: int


def arrange(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Merged and sorted: by severity, then family, then place."""
    return tuple(sorted(_merge(findings), key=_rank))


def tally(findings: Iterable[Finding]) -> Tally:
    """How many findings of each severity; one that stands for several equal places counts once."""
    severities = [finding.severity for finding in findings]
    return Tally(*(severities.count(severity) for severity in _SEVERITIES))


def summary(findings: Iterable[Finding]) -> str:
    """`2 errors, 1 warning`, or `nothing found`."""
    names = ("error", "warning", "note")
    parts = [
        f"{n} {name}{'' if n == 1 else 's'}" for n, name in zip(tally(findings), names, strict=True) if n
    ]
    return ", ".join(parts) or "nothing found"


def docs_address(code: str) -> str:
    """The documentation page of a finding's code, from the top of the project."""
    return f"docs/rules/{code.replace('.', '/')}.md"


def _merge(findings: Iterable[Finding]) -> list[Finding]:
    merged: dict[bytes, Finding] = {}
    for finding in findings:
        key = msgspec.msgpack.encode(msgspec.structs.replace(finding, count=1))
        first = merged.get(key)
        total = finding.count + (first.count if first else 0)
        merged[key] = finding if first is None else msgspec.structs.replace(first, count=total)
    return list(merged.values())


def _rank(finding: Finding) -> tuple[int, int, str, int, int, str, str]:
    family = finding.code.partition(".")[0]
    depth = _FAMILIES.index(family) if family in _FAMILIES else len(_FAMILIES)
    span = finding.span
    return (
        _SEVERITIES.index(finding.severity),
        depth,
        span.file,
        span.start,
        span.end,
        finding.code,
        finding.message,
    )
