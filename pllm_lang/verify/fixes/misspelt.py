"""Rename a typo to the known name that the finding's help asks about."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pllm_lang.resolve.suggest import meant
from pllm_lang.text.finding import Fix
from pllm_lang.text.similar import edits
from pllm_lang.verify.fixes.around import Around, imported, replaced

CODES: tuple[str, ...] = ()
_WORD = re.compile(r"[A-Za-z_][\w.]*")
MAX_TEXT = 2_000


def propose(around: Around) -> Iterator[Fix]:
    """The word of the finding's text that is most like the name meant."""
    found = meant(around.finding.help)
    if found is None:
        return
    words = [match for match in _WORD.finditer(around.text[:MAX_TEXT]) if _alike(match[0], found.name)]
    if not words:
        return
    word = min(words, key=lambda match: edits(match[0], found.name))
    start = around.finding.span.start
    more = imported(around, found.module, found.name) if found.module else ()
    if more is not None:
        edit = replaced(around, start + word.start(), start + word.end(), found.name)
        yield Fix(f"Rename `{word[0]}` to `{found.name}`", (edit, *more), safe=False)


def _alike(word: str, name: str) -> bool:
    return word != name and (word.lower() == name.lower() or edits(word, name) <= 2)
