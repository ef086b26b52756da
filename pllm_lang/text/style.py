"""Colours of a terminal: a handful of escape sequences, or none.

In: a stream and the environment. Out: a `Style`, whose fields are put before a text and closed by `reset`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import IO, NamedTuple

from pllm_lang.text.finding import Severity


class Style(NamedTuple):
    error: str = ""
    warning: str = ""
    note: str = ""
    strong: str = ""
    faint: str = ""
    reset: str = ""


PLAIN = Style()
COLOURED = Style("\x1b[1;31m", "\x1b[1;33m", "\x1b[1;36m", "\x1b[1m", "\x1b[34m", "\x1b[0m")


def style_for(stream: IO[str], environment: Mapping[str, str] | None = None) -> Style:
    """Colours on a terminal, unless NO_COLOR is set or the terminal is a dumb one."""
    environment = os.environ if environment is None else environment
    if environment.get("NO_COLOR") or environment.get("TERM") == "dumb" or not stream.isatty():
        return PLAIN
    return COLOURED


def severity_style(style: Style, severity: Severity) -> str:
    return {Severity.ERROR: style.error, Severity.WARNING: style.warning, Severity.NOTE: style.note}[severity]
