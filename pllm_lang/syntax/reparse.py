"""After an edit: what was read before, read again at the cost of what has changed.

In: a `Reading` of the old text, and the new source. Out: exactly what `read` would give for the new source. Text lines that
changed get new tokens (`relex`); then the same parse runs over all tokens, mistakes and all, except that lines of the old
tree which nothing has changed are put into the new one without being read (`reuse`).
"""

from __future__ import annotations

from pllm_lang.syntax.parse import Reading, read, tools, without_collecting
from pllm_lang.syntax.relex import change_between, relex
from pllm_lang.syntax.reuse import Reuse
from pllm_lang.text.source import Source


def reparse(before: Reading, source: Source) -> Reading:
    """Equal to `read(source)`; `before` is what was read of an earlier text of the same file."""
    with without_collecting():
        change = change_between(before.parsed.source.text, source.text)
        relexed = relex(tools()[0], before.lexed, before.parsed.source.text, source.text, change)
        return read(source, relexed.lexed, Reuse(before, change, relexed))
