"""Findings as one JSON document, for programs.

In: findings and the sources they speak of. Out: a document of the schema `pllm.lang.findings.v1`. Lines and
columns count from 1, offsets from 0; all count Unicode characters of the decoded text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pllm_lang.text.finding import Finding, Span
from pllm_lang.text.json_text import json_text
from pllm_lang.text.order import arrange, docs_address, tally
from pllm_lang.text.source import Source

SCHEMA = "pllm.lang.findings.v1"


def render_json(findings: Iterable[Finding], sources: Mapping[str, Source]) -> str:
    return json_text(findings_document(findings, sources)) + "\n"


def findings_document(findings: Iterable[Finding], sources: Mapping[str, Source]) -> dict[str, Any]:
    """`verdict` is `refused` where there is an error, else `accepted`; `counts` are of findings, not of
    places."""
    arranged = arrange(findings)
    counts = tally(arranged)
    return {
        "schema": SCHEMA,
        "verdict": "refused" if counts.errors else "accepted",
        "counts": counts._asdict(),
        "findings": [_finding(finding, sources) for finding in arranged],
    }


def _finding(finding: Finding, sources: Mapping[str, Source]) -> dict[str, Any]:
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "verdict": finding.verdict.value if finding.verdict else None,
        "message": finding.message,
        "span": _span(finding.span, sources),
        "subject": finding.subject,
        "count": finding.count,
        "data": finding.data,
        "labels": [{"span": _span(label.span, sources), "text": label.text} for label in finding.labels],
        "notes": list(finding.notes),
        "help": finding.help,
        "fixes": [
            {
                "title": fix.title,
                "safe": fix.safe,
                "edits": [{"span": _span(edit.span, sources), "text": edit.text} for edit in fix.edits],
            }
            for fix in finding.fixes
        ],
        "docs": docs_address(finding.code),
    }


def _span(span: Span, sources: Mapping[str, Source]) -> dict[str, Any]:
    source = sources.get(span.file)
    return {"file": span.file, "start": _point(span.start, source), "end": _point(span.end, source)}


def _point(offset: int, source: Source | None) -> dict[str, int | None]:
    if source is None:
        return {"offset": offset, "line": None, "column": None}
    line, column = source.line_column(min(offset, len(source.text)))
    return {"offset": offset, "line": line, "column": column}
