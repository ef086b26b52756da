"""`--format sarif`: SARIF 2.1.0, with the page of each rule, fixes, related places and what is suppressed.

Columns count UTF-16 units, as the log says; `charOffset` does so too. What a comment or the baseline hides is in the log as a
suppressed result, so that a reader of the log sees everything that the check found.
"""

from __future__ import annotations

import os
import re
from typing import Any
from urllib.parse import quote

from pllm_lang import __version__
from pllm_lang.cli.formats.places import fingerprints, relative, told_in_full
from pllm_lang.cli.told import Hidden, Told
from pllm_lang.resources import rule_pages_dir
from pllm_lang.text.finding import Edit, Finding, Fix, Severity, Span
from pllm_lang.text.json_text import json_text
from pllm_lang.text.order import docs_address
from pllm_lang.text.source import Source

FIXES = True
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "%SRCROOT%"
"""What relative places hang on: the folder of the call, by the name that readers of logs know."""
HOME = "https://github.com/pllm-lang/pllm-lang"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
_KINDS = {"comment": "inSource", "baseline": "external"}


def render(told: Told) -> str:
    hidden = {id(one.finding): one for one in told.hidden}
    shown = [*fingerprints(told.findings, told.sources)]
    shown += [
        (one, digest) for other in told.hidden for one, digest in fingerprints((other.finding,), told.sources)
    ]
    codes = sorted({finding.code for finding, _ in shown})
    results = [
        _result(one, digest, codes.index(one.code), told, hidden.get(id(one))) for one, digest in shown
    ]
    driver = {
        "name": "pllm-lang",
        "version": __version__,
        "semanticVersion": __version__,
        "informationUri": HOME,
        "rules": [_rule(code) for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "utf16CodeUnits",
        "originalUriBaseIds": {ROOT: {"description": {"text": "the folder of the call"}}},
        "artifacts": [{"location": _location(file)} for file in sorted({*map(relative, told.files)})],
        "results": results,
    }
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json_text(document) + "\n"


def _rule(code: str) -> dict[str, Any]:
    page = rule_pages_dir().joinpath(*code.split(".")).with_suffix(".md")
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    rule: dict[str, Any] = {
        "id": code,
        "name": _pascal(code),
        "helpUri": f"{HOME}/blob/main/{docs_address(code)}",
    }
    if text:
        first = text.split("\n\n", 2)[1].replace("\n", " ")
        rule |= {"shortDescription": {"text": first}, "help": {"text": text, "markdown": text}}
    return rule


def _pascal(code: str) -> str:
    return "".join(word.capitalize() for word in re.split(r"[._]", code))


def _result(
    finding: Finding, fingerprint: str, rule: int, told: Told, hidden: Hidden | None
) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": _LEVELS[finding.severity],
        "message": {"text": told_in_full(finding)},
        "locations": [{"physicalLocation": _physical(finding.span, told)}],
        "partialFingerprints": {"pllmFinding/v1": fingerprint},
        "suppressions": [] if hidden is None else [_suppression(hidden)],
    }
    if finding.labels:
        result["relatedLocations"] = [
            {"id": k, "physicalLocation": _physical(label.span, told), "message": {"text": label.text}}
            for k, label in enumerate(finding.labels)
        ]
    if finding.fixes:
        result["fixes"] = [_fix(fix, told) for fix in finding.fixes]
    properties: dict[str, Any] = dict(finding.data)
    if finding.verdict:
        properties["verdict"] = finding.verdict.value
    if properties:
        result["properties"] = properties
    if finding.count > 1:
        result["occurrenceCount"] = finding.count
    return result


def _suppression(hidden: Hidden) -> dict[str, str]:
    told = {"kind": _KINDS[hidden.by]}
    return told | ({"justification": hidden.reason} if hidden.reason else {})


def _fix(fix: Fix, told: Told) -> dict[str, Any]:
    files: dict[str, list[Edit]] = {}
    for edit in fix.edits:
        files.setdefault(edit.span.file, []).append(edit)
    changes = [
        {
            "artifactLocation": _location(relative(file)),
            "replacements": [
                {
                    "deletedRegion": _region(edit.span, told.sources.get(file)),
                    "insertedContent": {"text": edit.text},
                }
                for edit in edits
            ],
        }
        for file, edits in files.items()
    ]
    title = fix.title if fix.safe else f"{fix.title} (unsafe)"
    return {"description": {"text": title}, "artifactChanges": changes}


def _physical(span: Span, told: Told) -> dict[str, Any]:
    source = told.sources.get(span.file)
    place: dict[str, Any] = {"artifactLocation": _location(relative(span.file))}
    return place | ({} if source is None else {"region": _region(span, source)})


def _location(file: str) -> dict[str, str]:
    """A relative path hangs on ROOT; one that lies elsewhere is an address of its own."""
    if os.path.isabs(file):
        return {"uri": "file://" + quote(file)}
    if file.startswith("../"):
        return {"uri": quote(file)}
    return {"uri": quote(file), "uriBaseId": ROOT}


def _region(span: Span, source: Source | None) -> dict[str, int]:
    if source is None:
        return {"startLine": 1}
    text, size = source.text, len(source.text)
    start, end = min(span.start, size), min(span.end, size)
    first, last = source.line_column(start)[0], source.line_column(end)[0]
    before = _utf16(text[:start])
    return {
        "startLine": first,
        "startColumn": _utf16(text[source.line_starts[first - 1] : start]) + 1,
        "endLine": last,
        "endColumn": _utf16(text[source.line_starts[last - 1] : end]) + 1,
        "charOffset": before,
        "charLength": _utf16(text[start:end]),
    }


def _utf16(text: str) -> int:
    return len(text) + sum(char > "\uffff" for char in text)
