"""Write `a <= b <= c` as two comparisons."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.syntax.lexer import lex
from pllm_lang.syntax.parse import tools
from pllm_lang.text.finding import Fix
from pllm_lang.verify.fixes.around import Around, replaced

CODES = ("records.chained_comparison",)
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


def propose(around: Around) -> Iterator[Fix]:
    """Only for one chain of two signs, in no brackets and beside no other condition."""
    lexer, machine = tools()
    names = machine.table.terminals
    depth = 0
    signs: list[tuple[int, int]] = []
    for kind, end, text in lex(lexer, around.text).tokens:
        depth += (text in _OPENING) - (text in _CLOSING)
        if depth == 0 and text in ("and", "or", "not"):
            return
        if depth == 0 and kind < len(names) and names[kind] == "COMPARE":
            signs.append((end - len(text), end))
    if len(signs) != 2:
        return
    (start, _), (other, end) = signs
    middle = around.text[signs[0][1] : other].strip()
    written = (
        f"{around.text[:other].rstrip()} and {middle} {around.text[other:end]} {around.text[end:].strip()}"
    )
    span = around.finding.span
    if middle and start:
        yield Fix(f"Write `{written}`", (replaced(around, span.start, span.end, written),), safe=False)
