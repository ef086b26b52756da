"""The known word nearest to a misspelt one, for "did you mean"."""

from __future__ import annotations

from collections.abc import Iterable


def closest(word: str, known: Iterable[str]) -> str | None:
    """The nearest of `known`: at most one edit for words below six letters, two for longer; else None.

    An edit inserts, drops or replaces a letter, or swaps two neighbours. Of equals the first in order wins.
    """
    limit = 1 if len(word) < 6 else 2
    if len(word) < 3 or len(word) > 60:
        return None
    scored = [
        (distance, other)
        for other in known
        if other != word
        and abs(len(other) - len(word)) <= limit
        and (distance := edits(word, other)) <= limit
    ]
    return min(scored)[1] if scored else None


def edits(left: str, right: str) -> int:
    """The number of edits between two words (optimal string alignment)."""
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        older, before, row = before, row, [i]
        for j, b in enumerate(right, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and b == left[i - 2]:
                best = min(best, older[j - 2] + 1)
            row.append(best)
    return row[-1]
