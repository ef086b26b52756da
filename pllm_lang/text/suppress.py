"""Suppressions: `# pllm: allow[code] reason` hides warnings and notes of its own line, or of the next one.

In: findings, a source and its comments. Out: the findings that remain, and findings about the suppressions
themselves: without a reason, without effect, or aimed at an error, which nothing can hide.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pllm_lang.text.edits import whole_lines
from pllm_lang.text.finding import Edit, Finding, Fix, Severity, Span
from pllm_lang.text.source import Source

_ALLOW = re.compile(r"#\s*pllm:\s*allow\[\s*([^\]]*?)\s*\]\s*(.*?)\s*$")


class Suppression(NamedTuple):
    """`line` is the line that it covers."""

    codes: tuple[str, ...]
    reason: str
    line: int
    span: Span


class Suppressed(NamedTuple):
    """`reasons` says of each hidden finding why it is."""

    kept: tuple[Finding, ...]
    hidden: tuple[Finding, ...]
    reasons: tuple[str, ...]


def suppress(findings: Iterable[Finding], source: Source, comments: Sequence[tuple[int, str]]) -> Suppressed:
    """Apply a source's suppressions to the findings of that source; others pass through."""
    suppressions = find_suppressions(source, comments)
    kept: list[Finding] = []
    hidden: list[Finding] = []
    reasons: list[str] = []
    effective: set[tuple[int, str]] = set()
    refused: dict[tuple[int, str], Finding] = {}
    for finding in findings:
        index = _covering(finding, suppressions, source)
        if index is None:
            kept.append(finding)
        elif finding.severity is Severity.ERROR:
            kept.append(finding)
            refused[index, finding.code] = finding
        else:
            hidden.append(finding)
            reasons.append(suppressions[index].reason)
            effective.add((index, finding.code))
    for index, suppression in enumerate(suppressions):
        kept += _judge(source, suppression, [code for i, code in effective if i == index], refused, index)
    return Suppressed(tuple(kept), tuple(hidden), tuple(reasons))


def find_suppressions(source: Source, comments: Sequence[tuple[int, str]]) -> list[Suppression]:
    """A comment on a line of its own covers the next line that is neither blank nor a comment."""
    found: list[Suppression] = []
    for start, text in comments:
        match = _ALLOW.match(text)
        if match is None:
            continue
        codes = tuple(code.strip() for code in match[1].split(",") if code.strip())
        span = Span(source.name, start, start + len(text.rstrip()))
        found.append(Suppression(codes, match[2], _covered_line(source, start), span))
    return found


def _covered_line(source: Source, start: int) -> int:
    line, column = source.line_column(start)
    if source.line_text(line)[: column - 1].strip():
        return line
    last = len(source.line_starts)
    line += 1
    while line < last and (not (text := source.line_text(line).strip()) or text.startswith("#")):
        line += 1
    return line


def _covering(finding: Finding, suppressions: Sequence[Suppression], source: Source) -> int | None:
    if not suppressions or finding.span.file != source.name:
        return None
    line = source.line_column(finding.span.start)[0]
    for index, suppression in enumerate(suppressions):
        if suppression.line == line and finding.code in suppression.codes:
            return index
    return None


def _removable(source: Source, span: Span) -> Span:
    """The comment with the blanks before it, or its whole line."""
    line = whole_lines(source, span)
    start = len(source.text[: span.start].rstrip(" \t"))
    return line if line != span else Span(span.file, start, span.end)


def _judge(
    source: Source,
    suppression: Suppression,
    used: Sequence[str],
    refused: dict[tuple[int, str], Finding],
    index: int,
) -> Iterable[Finding]:
    fix = Fix("Remove the suppression", (Edit(_removable(source, suppression.span), ""),), safe=True)
    if not suppression.reason:
        yield Finding(
            "suppression.no_reason",
            "this suppression gives no reason",
            suppression.span,
            Severity.WARNING,
            help="say behind the `]` why the finding does not matter here",
        )
    for code in suppression.codes or ("",):
        if (index, code) in refused:
            yield Finding(
                "suppression.not_allowed",
                f"`{code}` is an error here; only warnings and notes can be suppressed",
                suppression.span,
                help="change the plan or the policy, and remove the suppression",
                fixes=(fix,),
            )
        elif code not in used:
            message = f"nothing here is a `{code}`" if code else "this suppression names no code"
            yield Finding("suppression.unused", message, suppression.span, Severity.WARNING, fixes=(fix,))
