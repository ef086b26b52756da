"""Text made safe to print, and how many columns it takes.

In: text of a source file. Out: the same without characters that move the cursor, reorder the line or hide
themselves, and widths in terminal columns (wide East Asian letters take two, combining marks none).
"""

from __future__ import annotations

import unicodedata

_TAB = "    "
_WIDE = frozenset("WF")
_WIDTHLESS = frozenset(["Mn", "Me"])


def visible(text: str) -> str:
    """Control characters as their pictures, tabs as four spaces, all else that cannot be seen as `·`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join([_shown(char) for char in text])


def width(text: str) -> int:
    """Columns that `visible(text)` takes on a terminal."""
    if text.isascii() and text.isprintable():
        return len(text)
    return sum(_columns(shown) for char in text for shown in _shown(char))


def _shown(char: str) -> str:
    if char == "\t":
        return _TAB
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return char if char.isprintable() else "·"


def _columns(char: str) -> int:
    if unicodedata.category(char) in _WIDTHLESS:
        return 0
    return 2 if unicodedata.east_asian_width(char) in _WIDE else 1
