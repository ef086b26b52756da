"""What the formats for other programs share: places as lines and columns, and a finding told in plain sentences."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import NamedTuple

from pllm_lang.text.finding import Finding, Span
from pllm_lang.text.order import arrange
from pllm_lang.text.source import Source


class Place(NamedTuple):
    """Lines and columns count from 1, in characters; 0 where the text of the file is not at hand. `file` is relative to the
    working folder where it lies below it, with `/`."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int


def place_of(span: Span, sources: Mapping[str, Source]) -> Place:
    source = sources.get(span.file)
    file = relative(span.file)
    if source is None:
        return Place(file, 0, 0, 0, 0)
    size = len(source.text)
    return Place(file, *source.line_column(min(span.start, size)), *source.line_column(min(span.end, size)))


def relative(path: str) -> str:
    """The path from the working folder; as it is where it lies elsewhere."""
    below = os.path.relpath(path) if os.path.isabs(path) else os.path.normpath(path)
    shown = path if below.startswith("..") else below
    return shown.replace(os.sep, "/")


def told_in_full(finding: Finding) -> str:
    """Message, verdict, witness, notes and help, a line each."""
    verdict = f" ({finding.verdict.value})" if finding.verdict else ""
    lines = [finding.message + verdict]
    if finding.count > 1:
        lines.append(f"the same at {finding.count} places")
    if "witness" in finding.data:
        lines.append(f"witness: {finding.data['witness']}")
    lines += [f"note: {note}" for note in finding.notes]
    if finding.help:
        lines.append(f"help: {finding.help}")
    return "\n".join(lines)


def fingerprints(findings: tuple[Finding, ...], sources: Mapping[str, Source]) -> list[tuple[Finding, str]]:
    """Each finding, in the order in which it is told, with a digest that stays when lines above it come and go.

    It is over the file, the code, the message and the text of the line; equal ones are numbered.
    """
    seen: dict[str, int] = {}
    named: list[tuple[Finding, str]] = []
    for finding in arrange(findings):
        place = place_of(finding.span, sources)
        line = sources[finding.span.file].line_text(place.line).strip() if place.line else ""
        key = "\0".join([place.file, finding.code, finding.message, line])
        seen[key] = seen.get(key, 0) + 1
        digest = hashlib.sha256(f"{key}\0{seen[key]}".encode("utf-8", "surrogatepass"))
        named.append((finding, digest.hexdigest()))
    return named
