"""JSON that is safe to print: what moves a cursor, reorders a line or hides itself stands in it as an escape.

In: a document. Out: indented text that reads back as the same document, whatever names and messages a file brings. JSON
itself asks for escapes below U+0020 only, and a terminal or a review page obeys U+009B and U+202E as well.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

_UNSEEN = re.compile(r"[^\n\x20-\x7e]")


def json_text(document: Any) -> str:
    """`document` with two spaces a level and no line end behind it. Raises what `msgspec.json.encode` raises."""
    return plain_json(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())


def plain_json(text: str) -> str:
    """The same JSON with escapes. Outside of strings JSON is ASCII, so that whatever is found stands in a string."""
    return _UNSEEN.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    char = found[0]
    return char if char.isprintable() else json.dumps(char)[1:-1]
