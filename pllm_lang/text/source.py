"""A source file as text: decoded, with positions. Knows nothing of plans."""

from __future__ import annotations

from bisect import bisect_right

import msgspec


class Source(msgspec.Struct, frozen=True):
    """`name` is how messages call the file; `text` its decoded content."""

    name: str
    text: str
    line_starts: tuple[int, ...]

    def line_column(self, offset: int) -> tuple[int, int]:
        """Line and column of a character offset, both counted from 1; columns count characters."""
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def line_text(self, line: int) -> str:
        """The text of a line (counted from 1) without its line end."""
        start = self.line_starts[line - 1]
        end = self.line_starts[line] if line < len(self.line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")


def make_source(name: str, text: str) -> Source:
    starts = [0]
    find = text.find
    at = find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = find("\n", at + 1)
    return Source(name, text, tuple(starts))
