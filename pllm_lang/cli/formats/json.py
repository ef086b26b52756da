"""`--format json`: the document `pllm.lang.findings.v1`, with what became of each protocol and plan."""

from __future__ import annotations

from typing import Any

from pllm_lang.cli.told import Told, assumptions
from pllm_lang.text.json_text import json_text
from pllm_lang.text.render_json import findings_document
from pllm_lang.verify.report import count_verdicts

FIXES = True


def render(told: Told) -> str:
    document: dict[str, Any] = findings_document(told.findings, told.sources)
    if told.protocols:
        document["protocols"] = [
            {
                "name": report.name,
                "verdict": "refused" if report.findings else "proved",
                "assumed": list(report.assumptions),
            }
            for report in told.protocols
        ]
    document["plans"] = [
        {
            "name": report.name,
            "file": report.file,
            "verdict": "accepted" if report.accepted else "refused",
            "obligations": count_verdicts(report.obligations),
            "assumed": list(assumptions(report)),
            "not_asked": [{"family": one.family, "why": one.why} for one in report.not_asked],
        }
        for report in told.reports
    ]
    return json_text(document) + "\n"
