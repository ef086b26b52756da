"""`--format gitlab`: a Code Quality report, which GitLab shows in merge requests."""

from __future__ import annotations

from pllm_lang.cli.formats.places import fingerprints, place_of, told_in_full
from pllm_lang.cli.told import Told
from pllm_lang.text.finding import Severity
from pllm_lang.text.json_text import json_text

FIXES = False
_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "minor", Severity.NOTE: "info"}


def render(told: Told) -> str:
    issues: list[dict[str, object]] = []
    for finding, fingerprint in fingerprints(told.findings, told.sources):
        place = place_of(finding.span, told.sources)
        lines = {"begin": max(place.line, 1), "end": max(place.end_line, 1)}
        issues.append(
            {
                "description": finding.message,
                "check_name": finding.code,
                "content": {"body": told_in_full(finding)},
                "fingerprint": fingerprint,
                "severity": _SEVERITIES[finding.severity],
                "location": {"path": place.file, "lines": lines},
            }
        )
    return json_text(issues) + "\n"
