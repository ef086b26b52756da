"""From a source file to its syntax tree.

In: a `Source`. Out: `Parsed`: the tree, what is wrong with the syntax, and the comments. One slip costs one
message: its line is dropped, and the parse goes on where the next one begins (`recover`). The tree of a file
with syntax errors is for editors; a check does not go further with it.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from typing import NamedTuple, TypeAlias

import msgspec

from pllm_lang.syntax.docs import find_docs
from pllm_lang.syntax.lexer import Lexed, Lexer, lex, make_lexer
from pllm_lang.syntax.load_table import load_table
from pllm_lang.syntax.machine import Lexeme, Machine, Stack, is_too_deep, make_machine, run
from pllm_lang.syntax.nodes import File
from pllm_lang.syntax.recover import give_up, recover, skip_declaration
from pllm_lang.syntax.slips.explain import explain, too_deep
from pllm_lang.syntax.trouble import look
from pllm_lang.text.finding import Edit, Finding, Fix, Severity, Span
from pllm_lang.text.limits import MAX_SYNTAX_FINDINGS, MAX_TOKENS
from pllm_lang.text.source import Source

EDITIONS = frozenset(["1"])


class Parsed(msgspec.Struct, frozen=True):
    """`comments` are (offset, text) in order, `#` and `##` alike, for the formatter and for suppressions."""

    source: Source
    file: File
    findings: tuple[Finding, ...]
    comments: tuple[tuple[int, str], ...]


def has_errors(parsed: Parsed) -> bool:
    return any(finding.severity is Severity.ERROR for finding in parsed.findings)


class Reading(NamedTuple):
    """A parse with all that reading a later text of the same file needs (`reparse`).

    `broken` are the tokens that getting over mistakes went over: the indexes of the first and the last, for each mistake.
    """

    parsed: Parsed
    lexed: Lexed
    broken: tuple[tuple[int, int], ...]


Run: TypeAlias = Callable[[Machine, Stack, list[Lexeme], int, dict[int, str]], int]
"""`machine.run`, or what does the same for less."""


def parse(source: Source) -> Parsed:
    """The tree of a file. Never raises for what the text holds."""
    return read(source).parsed


@contextmanager
def without_collecting() -> Generator[None]:
    """Nothing built by a parse is cyclic, and collecting while it grows costs as much as parsing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@cache
def tools() -> tuple[Lexer, Machine]:
    """The lexer and the machine, made from the parse table once a process."""
    table = load_table()
    return make_lexer(table), make_machine(table)


def read(source: Source, lexed: Lexed | None = None, advance: Run = run) -> Reading:
    """`lexed` are the tokens of the source, where they are known."""
    with without_collecting():
        return _parse(source, lexed, advance)


def _parse(source: Source, lexed: Lexed | None, advance: Run) -> Reading:
    lexer, machine = tools()
    lexed = lexed or lex(lexer, source.text)
    if len(lexed.tokens) > MAX_TOKENS:
        return Reading(Parsed(source, File(None, ()), (_too_large(source, lexed),), ()), lexed, ())
    stack = Stack(machine.table.start)
    findings, broken = _read(source, machine, lexed, stack, advance)
    file: File = stack.values[0]
    if not findings or file.edition is not None:
        findings += _judge_edition(source, file)
    return Reading(Parsed(source, file, tuple(findings), tuple(lexed.comments)), lexed, tuple(broken))


def _read(
    source: Source, machine: Machine, lexed: Lexed, stack: Stack, advance: Run
) -> tuple[list[Finding], list[tuple[int, int]]]:
    """Run the machine to the end of the text, over all mistakes; what they are, and which tokens they cost."""
    tokens = lexed.tokens
    docs = find_docs(source.text, lexed.comments)
    findings: list[Finding] = []
    broken: list[tuple[int, int]] = []
    stuck = -1
    at = 0
    while (at := advance(machine, stack, tokens, at, docs)) < len(tokens):
        trouble = look(source, machine, stack, tokens, at)
        begun = stack.line[0]
        is_deep = is_too_deep(stack)
        slip = too_deep(trouble) if is_deep else explain(trouble)
        # A second mistake at one place is a consequence of how the parse went on after the first.
        if at > stuck:
            findings.append(slip.finding)
        if at <= stuck or len(findings) > MAX_SYNTAX_FINDINGS:
            at = give_up(trouble, stack)
        else:
            stuck = at
            at = skip_declaration(trouble, stack) if is_deep else recover(trouble, stack, slip.intended)
        broken.append((min(begun, trouble.first), max(at, trouble.at)))
        stack.line = (at, tuple(stack.states))
    if len(findings) > MAX_SYNTAX_FINDINGS:
        findings[-1] = _too_many(findings[-1].span)
    return findings, broken


def _too_large(source: Source, lexed: Lexed) -> Finding:
    _, end, text = lexed.tokens[MAX_TOKENS]
    return Finding(
        "syntax.too_large",
        f"the file has more than {MAX_TOKENS:,} words and signs",
        Span(source.name, end - len(text), end),
        help="split it into modules",
        data={"value": str(len(lexed.tokens)), "limit": str(MAX_TOKENS)},
    )


def _too_many(span: Span) -> Finding:
    message = f"more than {MAX_SYNTAX_FINDINGS} syntax errors; the rest of the file was not looked at"
    return Finding("syntax.too_many", message, span)


def _judge_edition(source: Source, file: File) -> list[Finding]:
    edition = file.edition
    if edition is None:
        fix = Fix("Write the edition", (Edit(Span(source.name, 0, 0), "pllm 1\n\n"),), safe=True)
        return [
            Finding(
                "syntax.missing_edition",
                "the file does not say in which edition of the language it is written",
                Span(source.name, 0, 0),
                Severity.WARNING,
                help="write `pllm 1` on the first line",
                fixes=(fix,),
            )
        ]
    if edition.text in EDITIONS:
        return []
    return [
        Finding(
            "syntax.unsupported_edition",
            f"edition {edition.text} of the language is not known here",
            Span(source.name, edition.start, edition.end),
            help="this version reads edition 1; write `pllm 1`, or install a newer version",
            data={"value": edition.text, "limit": "1"},
        )
    ]
