"""Documentation comments: `##` lines belong to the declaration, field, input, weight or state after them.

In: the text and its comments. Out: for each place where text goes on after such lines, what they say.
"""

from __future__ import annotations

from collections.abc import Iterable


def find_docs(text: str, comments: Iterable[tuple[int, str]]) -> dict[int, str]:
    """Lines that follow each other without a blank one between are one documentation."""
    docs: dict[int, str] = {}
    lines: list[str] = []
    following = -1
    for start, comment in comments:
        if not comment.startswith("##") or not _begins_line(text, start):
            continue
        if start != following:
            lines = []
        lines.append(comment[2:].strip())
        following = _next_line(text, start + len(comment))
        docs[following] = "\n".join(lines)
    return docs


def _begins_line(text: str, at: int) -> bool:
    return not text[text.rfind("\n", 0, at) + 1 : at].strip()


def _next_line(text: str, end: int) -> int:
    """The place of the first character that is not blank on the line after the one that ends here."""
    at = end + 1
    while at < len(text) and text[at] in " \t":
        at += 1
    return at
