"""`--format github`: workflow commands, which GitHub shows as annotations beside the lines of a change.

A message or a file name cannot begin a command of its own: what has a meaning to the runner is escaped as it asks, and every
other control character is written as its picture.
"""

from __future__ import annotations

from pllm_lang.cli.formats.places import Place, place_of, told_in_full
from pllm_lang.cli.told import Told
from pllm_lang.text.finding import Severity
from pllm_lang.text.order import arrange
from pllm_lang.text.visible import visible

FIXES = False
_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render(told: Told) -> str:
    lines: list[str] = []
    for finding in arrange(told.findings):
        place = place_of(finding.span, told.sources)
        head = ",".join(f"{name}={_property(value)}" for name, value in _properties(place, finding.code))
        lines.append(f"::{_COMMANDS[finding.severity]} {head}::{_message(told_in_full(finding))}\n")
    return "".join(lines)


def _properties(place: Place, code: str) -> list[tuple[str, str]]:
    numbers = [("line", place.line), ("col", place.column), ("endLine", place.end_line)]
    if place.line == place.end_line:
        numbers.append(("endColumn", place.end_column))
    known = [(name, str(number)) for name, number in numbers if place.line]
    return [("file", place.file), *known, ("title", code)]


def _message(text: str) -> str:
    """Line ends stay as `%0A`; other control characters become visible."""
    shown = "\n".join(visible(line) for line in text.split("\n"))
    return shown.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
