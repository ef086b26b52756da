"""The text that a string literal spells."""

from __future__ import annotations

import msgspec

from pllm_lang.syntax.nodes import String


def read_text(literal: String) -> str:
    """Quotes off, JSON escapes undone. A literal with another escape (a syntax finding) is taken as written."""
    try:
        return msgspec.json.decode(literal.text, type=str)
    except msgspec.DecodeError:
        return literal.text[1:-1]
