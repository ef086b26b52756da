"""After an edit: parse only the line (declaration, item, statement) that changed.

In: what was parsed before, the new source, and which stretch of the old one was replaced. Out: exactly what
`parse` would give for the new source. Whenever it is not certain that only one line changed, the whole file
is parsed.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from pllm_lang.syntax.docs import find_docs
from pllm_lang.syntax.lexer import Lexed, lex
from pllm_lang.syntax.machine import Lexeme, Machine, Stack, run
from pllm_lang.syntax.nodes import Anchor, File, Format, Operator, Params, Phase, Policy, Protocol, Record
from pllm_lang.syntax.parse import Parsed, has_errors, parse, tools
from pllm_lang.syntax.table import END_KIND
from pllm_lang.text.limits import MAX_DEPTH
from pllm_lang.text.source import Source

_TRIVIA = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
# Fields of anchors that hold anchors.
_NESTED = ("params", "results", "phases", "body")
# Levels that the blocks around a line add to its depth, at most, for each block.
_LEVELS = 4


class Change(NamedTuple):
    """`length` new characters stand for `old[start:end]`."""

    start: int
    end: int
    length: int

    @property
    def delta(self) -> int:
        return self.length - (self.end - self.start)


def change_between(old: str, new: str) -> Change:
    """The smallest stretch whose replacement leads from one text to the other."""
    start = _common(len(old), len(new), lambda n: old[:n] == new[:n])
    most = min(len(old), len(new)) - start
    end = _common(most, most, lambda n: old[len(old) - n :] == new[len(new) - n :])
    return Change(start, len(old) - end, len(new) - end - start)


def _common(one: int, other: int, equal: Callable[[int], bool]) -> int:
    """The largest n that is `equal`, by halving: what is common for n is common for less."""
    low, high = 0, min(one, other)
    while low < high:
        middle = (low + high + 1) // 2
        if equal(middle):
            low = middle
        else:
            high = middle - 1
    return low


class _Site(NamedTuple):
    """The line that changed: the blocks around it from the outermost in, and which child leads on in each."""

    blocks: tuple[Any, ...]
    indexes: tuple[int, ...]
    line: Any


def reparse(parsed: Parsed, source: Source, change: Change) -> Parsed:
    """Equal to `parse(source)`, where `source` is `parsed.source` after the change."""
    if has_errors(parsed):
        return parse(source)
    told = _retold(parsed, source, change)
    if told is not None:
        return told
    site = _find_site(parsed, change)
    while site is not None:
        again = _reparse_line(parsed, source, change, site)
        if again is not None:
            return again
        site = _outer(site)
    return parse(source)


def _retold(parsed: Parsed, source: Source, change: Change) -> Parsed | None:
    """The same tree where only the words of a comment changed and nothing moved; None else. `##` lines are no such."""
    index = bisect_left(parsed.comments, change.start, key=_place_of) - 1
    if change.delta or index < 0:
        return None
    start, text = parsed.comments[index]
    new = source.text[start : start + len(text)]
    inside = change.end <= start + len(text) and text.startswith("#") and "\n" not in new
    if not inside or text.startswith("##") or new.startswith("##"):
        return None
    comments = (*parsed.comments[:index], (start, new), *parsed.comments[index + 1 :])
    return Parsed(source, parsed.file, parsed.findings, comments)


def _place_of(comment: tuple[int, str]) -> int:
    return comment[0]


def _find_site(parsed: Parsed, change: Change) -> _Site | None:
    """The innermost line that holds the change, behind its first character and but for blanks at its end."""
    blocks: list[Any] = []
    indexes: list[int] = []
    block: Any = parsed.file
    end = _last_word(parsed, change)
    while (index := _holding(_lines_of(block), change.start, end)) is not None:
        blocks.append(block)
        indexes.append(index)
        block = _lines_of(block)[index]
    return _Site(tuple(blocks), tuple(indexes), block) if blocks else None


def _last_word(parsed: Parsed, change: Change) -> int:
    """Where the change ends, without the blanks and the comment that it may reach into at the end of its line."""
    text = parsed.source.text[change.start : change.end]
    if "\n" in text:
        return change.end
    index = bisect_left(parsed.comments, change.start, key=_place_of)
    if index < len(parsed.comments) and parsed.comments[index][0] < change.end:
        text = text[: parsed.comments[index][0] - change.start]
    return change.start + len(text.rstrip(" \t\r"))


def _outer(site: _Site) -> _Site | None:
    if len(site.blocks) == 1:
        return None
    return _Site(site.blocks[:-1], site.indexes[:-1], site.blocks[-1])


def _holding(lines: Sequence[Any], start: int, end: int) -> int | None:
    index = bisect_left(lines, start, key=_at) - 1
    return index if index >= 0 and end <= lines[index].at + lines[index].end else None


def _at(line: Any) -> int:
    return line.at


def _lines_of(block: Any) -> tuple[Any, ...]:
    """The lines in the braces of a block, or of the file."""
    if isinstance(block, File):
        return block.decls
    return getattr(block, _lines_field(block), ())


def _lines_field(block: Any) -> str:
    if isinstance(block, File):
        return "decls"
    if isinstance(block, Params):
        return "params"
    return "phases" if isinstance(block, Protocol) else "body"


def _reparse_line(parsed: Parsed, source: Source, change: Change, site: _Site) -> Parsed | None:
    """The new tree where the line, and nothing but it, was parsed anew; None where that is not certain."""
    lexer, machine = tools()
    at, old_end = site.line.at, site.line.at + site.line.end
    trivia = _TRIVIA.match(parsed.source.text, old_end)
    old_following = trivia.end() if trivia else old_end
    following = old_following + change.delta
    stop = source.text.find("\n", following)
    lexed = lex(lexer, source.text, at, len(source.text) if stop < 0 else stop)
    tokens = _tokens_through(lexed, following, at_end=following == len(source.text))
    if tokens is None or not _starts_alike(parsed.source.text, at, tokens):
        return None
    end = tokens[-2][1]
    if change.end > old_following or "\n" in source.text[end : max(end, change.start + change.length)]:
        return None
    comments = [comment for comment in lexed.comments if comment[0] < following]
    docs = find_docs(source.text, comments)
    if getattr(site.line, "doc", ""):
        docs[at] = site.line.doc
    line = _parse_line(machine, tokens, docs, site)
    if line is None:
        return None
    return Parsed(
        source,
        _splice(site, line, change.delta),
        parsed.findings,
        _splice_comments(parsed, comments, at, old_following, change.delta),
    )


def _tokens_through(lexed: Lexed, following: int, *, at_end: bool) -> list[Lexeme] | None:
    """The line's tokens and the one behind it, if that one still begins where it should."""
    for index, (kind, end, text) in enumerate(lexed.tokens):
        if end - len(text) >= following:
            fits = end - len(text) == following and (at_end or kind != END_KIND)
            return lexed.tokens[: index + 1] if fits and index else None
    return None


def _starts_alike(old: str, at: int, tokens: list[Lexeme]) -> bool:
    """Whether the first token is the old one: what stands before the line ends where it did."""
    text = tokens[0][2]
    rest = old[at : at + len(text) + 1]
    return rest.startswith(text) and not (rest[len(text) :].isidentifier() and text[-1:].isidentifier())


def _parse_line(machine: Machine, tokens: list[Lexeme], docs: dict[int, str], site: _Site) -> Any:
    """The line, parsed where a line of its block stands; None where it is not one line."""
    stack = Stack(machine.table.start)
    names = machine.table.terminals
    head: list[Lexeme] = [
        (names.index("NAME" if word == "x" else word), 0, word) for word in _head(site.blocks[-1]).split()
    ]
    run(machine, stack, head, 0, {})
    size = len(stack.states)
    if run(machine, stack, tokens, 0, docs) < len(tokens):
        return None
    if tokens[-1][0] == END_KIND:
        decls = stack.values[0].decls if isinstance(stack.values[0], File) else ()
        return decls[0] if len(decls) == 1 and stack.values[0].edition is None else None
    if len(stack.states) != size + 2 or stack.depths[size - 1] + _LEVELS * len(site.blocks) > MAX_DEPTH:
        return None
    lines: list[Any] = stack.values[size - 1]
    return lines[0] if len(lines) == 1 and isinstance(lines[0], Anchor) else None


def _head(block: Any) -> str:
    """What leads to a place where a line of such a block can stand."""
    match block:
        case File():
            return ""
        case Record() | Policy() | Operator() | Format():
            return "policy x {"
        case Params():
            return "policy x { params {"
        case Protocol():
            return "policy x { protocol ( ) -> ( ) {"
        case Phase():
            return "policy x { protocol ( ) -> ( ) { offline {"
        case _:
            return "plan x {"


def _splice(site: _Site, line: Any, delta: int) -> File:
    """The old tree with the new line; what stands behind it moves by `delta`."""
    tree = line
    for block, index in zip(reversed(site.blocks), reversed(site.indexes), strict=True):
        field = _lines_field(block)
        lines = getattr(block, field)
        after = tuple([_moved(other, delta) for other in lines[index + 1 :]])
        changes: dict[str, Any] = {field: (*lines[:index], tree, *after)}
        if not isinstance(block, File):
            changes["end"] = block.end + delta
        tree = msgspec.structs.replace(block, **changes)
    return tree


def _moved(anchor: Any, delta: int) -> Any:
    if delta == 0:
        return anchor
    changes: dict[str, Any] = {"at": anchor.at + delta}
    for field in _NESTED:
        nested = getattr(anchor, field, ())
        if nested:
            changes[field] = tuple([_moved(child, delta) for child in nested])
    return msgspec.structs.replace(anchor, **changes)


def _splice_comments(
    parsed: Parsed, comments: Sequence[tuple[int, str]], at: int, end: int, delta: int
) -> tuple[tuple[int, str], ...]:
    before = [comment for comment in parsed.comments if comment[0] < at]
    after = [(start + delta, text) for start, text in parsed.comments if start >= end]
    return (*before, *comments, *after)
