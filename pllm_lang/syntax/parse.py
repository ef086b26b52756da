"""From a source file to its syntax tree.

In: a `Source`. Out: `Parsed`: the tree, syntax findings and the comments. A mistake costs its own statement only:
the parser takes up again at the next line that can begin one.
"""

from __future__ import annotations

import gc
from functools import cache

import msgspec

from ..text.finding import Finding, Span
from ..text.source import Source
from .lexer import Lexed, Lexer, lex, make_lexer
from .load_table import load_table
from .machine import Machine, Stack, make_machine, run
from .nodes import File


class Parsed(msgspec.Struct, frozen=True):
    """`comments` are (offset, text) in order, `#` and `##` alike, for the formatter and for suppressions."""

    file: File
    findings: tuple[Finding, ...]
    comments: tuple[tuple[int, str], ...]


@cache
def tools() -> tuple[Lexer, Machine]:
    table = load_table()
    return make_lexer(table), make_machine(table)


def parse(source: Source) -> Parsed:
    enabled = gc.isenabled()
    gc.disable()
    try:
        return _parse(source)
    finally:
        if enabled:
            gc.enable()


def _parse(source: Source) -> Parsed:
    lexer, machine = tools()
    lexed = lex(lexer, source.text)
    docs = find_docs(source.text, lexed)
    stack = Stack(machine.start)
    at = run(machine, stack, lexed.tokens, 0, docs)
    if at < len(lexed.tokens):
        _, end, text = lexed.tokens[at]
        span = Span(source.name, end - len(text), end)
        return Parsed(File(None, ()), (Finding("syntax.unexpected", f"`{text}` does not fit here", span),), ())
    return Parsed(stack.values[0], (), tuple(lexed.comments))


def find_docs(text: str, lexed: Lexed) -> dict[int, str]:
    """The documentation (`##` lines without a blank line between) before each place where text goes on."""
    docs: dict[int, str] = {}
    lines: list[str] = []
    previous_end = -1
    for start, comment in lexed.comments:
        if not comment.startswith("##"):
            continue
        if lines and text.count("\n", previous_end, start) != 1:
            lines = []
        if lines and text[previous_end:start].strip():
            lines = []
        lines.append(comment[2:].strip())
        previous_end = start + len(comment)
        following = _skip_line_end(text, previous_end)
        docs[following] = "\n".join(lines)
    return docs


def _skip_line_end(text: str, at: int) -> int:
    """The place of the first character of the next line that is not blank."""
    length = len(text)
    if at < length and text[at] == "\r":
        at += 1
    at += 1
    while at < length and text[at] in " \t":
        at += 1
    return at
