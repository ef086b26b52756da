"""From a source file to its syntax tree.

In: a `Source`. Out: `Parsed`: the tree, what is wrong with the syntax, and the comments. One slip costs one
message: its line is dropped, and the parse goes on where the next one begins (`recover`). The tree of a file
with syntax errors is for editors; a check does not go further with it.
"""

from __future__ import annotations

import gc
from functools import cache

import msgspec

from pllm_lang.syntax.docs import find_docs
from pllm_lang.syntax.lexer import Lexed, Lexer, lex, make_lexer
from pllm_lang.syntax.load_table import load_table
from pllm_lang.syntax.machine import Machine, Stack, is_too_deep, make_machine, run
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


def parse(source: Source) -> Parsed:
    """The tree of a file. Never raises for what the text holds."""
    enabled = gc.isenabled()
    # Nothing built here is cyclic, and collecting while it grows costs as much as parsing.
    gc.disable()
    try:
        return _parse(source)
    finally:
        if enabled:
            gc.enable()


@cache
def tools() -> tuple[Lexer, Machine]:
    """The lexer and the machine, made from the parse table once a process."""
    table = load_table()
    return make_lexer(table), make_machine(table)


def _parse(source: Source) -> Parsed:
    lexer, machine = tools()
    lexed = lex(lexer, source.text)
    if len(lexed.tokens) > MAX_TOKENS:
        return Parsed(source, File(None, ()), (_too_large(source, lexed),), ())
    stack = Stack(machine.table.start)
    findings = _read(source, machine, lexed, stack)
    file: File = stack.values[0]
    if not findings or file.edition is not None:
        findings += _judge_edition(source, file)
    return Parsed(source, file, tuple(findings), tuple(lexed.comments))


def _read(source: Source, machine: Machine, lexed: Lexed, stack: Stack) -> list[Finding]:
    """Run the machine to the end of the text, over all mistakes."""
    tokens = lexed.tokens
    docs = find_docs(source.text, lexed.comments)
    findings: list[Finding] = []
    stuck = -1
    at = 0
    while (at := run(machine, stack, tokens, at, docs)) < len(tokens):
        trouble = look(source, machine, stack, tokens, at)
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
        stack.line = (at, tuple(stack.states))
    if len(findings) > MAX_SYNTAX_FINDINGS:
        findings[-1] = _too_many(findings[-1].span)
    return findings


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
