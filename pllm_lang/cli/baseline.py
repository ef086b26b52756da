"""The baseline: warnings and notes that were there before, and are not shown again.

An entry is a file, a code and a message with how often it occurs: lines may move. Errors cannot be in a baseline: one that
names them hides nothing. The document is `pllm.lang.baseline.v1`; paths are relative to its own folder.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable

import msgspec

from pllm_lang.cli.told import Hidden
from pllm_lang.cli.writing import replace_text
from pllm_lang.text.finding import Finding, Severity
from pllm_lang.text.json_text import json_text
from pllm_lang.text.order import arrange
from pllm_lang.text.regular_file import Unreadable, read_bytes

SCHEMA = "pllm.lang.baseline.v1"
MAX_BASELINE_BYTES = 10_000_000

Key = tuple[str, str, str]


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    file: str
    code: str
    message: str
    count: int = 1


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    schema: str
    findings: tuple[Entry, ...]


class BadBaselineError(Exception):
    """The baseline cannot be read; the text says which file and why."""


def read_baseline(path: str) -> Counter[Key]:
    """How often each finding is to be hidden; raises BadBaselineError."""
    data = read_bytes(path, MAX_BASELINE_BYTES)
    if isinstance(data, Unreadable):
        hint = "; `--update-baseline` writes it" if data.code == "file.missing" else ""
        raise BadBaselineError(f"{path}: {data.message}{hint}")
    try:
        document = msgspec.json.decode(data, type=Document)
    except (msgspec.DecodeError, RecursionError) as problem:
        raise BadBaselineError(f"{path}: {problem}") from problem
    if document.schema != SCHEMA:
        raise BadBaselineError(f"{path}: this is no `{SCHEMA}`")
    counted: Counter[Key] = Counter()
    for entry in document.findings:
        counted[entry.file, entry.code, entry.message] += entry.count
    return counted


def split(
    findings: Iterable[Finding], known: Counter[Key], path: str
) -> tuple[tuple[Finding, ...], tuple[Hidden, ...]]:
    """The findings that remain, and those that the baseline hides: as many of each as it counts, never an error."""
    left = Counter(known)
    kept: list[Finding] = []
    hidden: list[Hidden] = []
    for finding in arrange(findings):
        key = _key(finding, path)
        if _can_hide(finding) and left[key] > 0:
            left[key] -= 1
            hidden.append(Hidden(finding, "baseline"))
        else:
            kept.append(finding)
    return tuple(kept), tuple(hidden)


def write_baseline(path: str, findings: Iterable[Finding]) -> int:
    """Write all warnings and notes; how many. Raises OSError."""
    counted = Counter(_key(finding, path) for finding in arrange(findings) if _can_hide(finding))
    entries = tuple(Entry(*key, counted[key]) for key in sorted(counted))
    replace_text(path, json_text(Document(SCHEMA, entries)) + "\n")
    return counted.total()


def _can_hide(finding: Finding) -> bool:
    return finding.severity is not Severity.ERROR and finding.verdict is None


def _key(finding: Finding, baseline: str) -> Key:
    folder = os.path.dirname(os.path.abspath(baseline))
    file = os.path.relpath(os.path.abspath(finding.span.file), folder).replace(os.sep, "/")
    return file, finding.code, finding.message
