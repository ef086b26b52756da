"""The article that stands before a word in a message."""

from __future__ import annotations


def with_article(word: str) -> str:
    """`an operator`, `a format`."""
    return ("an " if word[:1].lower() in "aeiou" else "a ") + word
