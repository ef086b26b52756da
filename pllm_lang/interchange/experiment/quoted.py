"""A text as a string literal of `.pllm`: on one line, with nothing in it that cannot be seen."""

from __future__ import annotations

import json


def quoted(text: str) -> str:
    """`text` in quotes, with JSON escapes for quotes, backslashes and every character that does not print."""
    return '"' + "".join(_escaped(char) for char in text) + '"'


def _escaped(char: str) -> str:
    return char if char.isprintable() and char not in '"\\' else json.dumps(char)[1:-1]
