"""How many findings of each code there are, instead of the findings."""

from __future__ import annotations

from collections import Counter

from pllm_lang.cli.told import Told
from pllm_lang.text.json_text import json_text
from pllm_lang.text.order import arrange

SCHEMA = "pllm.lang.statistics.v1"


def statistics(told: Told, format_: str) -> str:
    """The most frequent first; `fixable` counts findings with a fix that holds."""
    found = arrange(told.findings)
    counts = Counter((finding.code, finding.severity.value) for finding in found)
    fixable = Counter(finding.code for finding in found if finding.fixes)
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    if format_ == "json":
        entries = [
            {"code": code, "severity": severity, "count": count, "fixable": fixable[code]}
            for (code, severity), count in rows
        ]
        document = {"schema": SCHEMA, "statistics": entries}
        return json_text(document) + "\n"
    if not rows:
        return "nothing found\n"
    width, wide = len(str(rows[0][1])), max(len(code) for (code, _), _ in rows)
    lines = [
        f"{count:>{width}}  {code:<{wide}}  {severity}{f', {fixable[code]} fixable' if fixable[code] else ''}"
        for (code, severity), count in rows
    ]
    return "\n".join(lines) + "\n"
