"""A file in the one layout that all `.pllm` files have.

In: a `Parsed`, or a tree that was built. Out: text with an equal tree: two spaces a level, lines of at most
110 columns where lists can wrap, neighbouring steps aligned, comments kept, at most one blank line in a
row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pllm_lang.syntax import nodes as n
from pllm_lang.syntax.align import align
from pllm_lang.syntax.layout import WIDTH, Doc, concat, flat, render
from pllm_lang.syntax.parse import Parsed, has_errors
from pllm_lang.syntax.print_anchor import AnyAnchor, row
from pllm_lang.syntax.trivia import Comment, Trivia

_STEP = 2
_SHORT = (n.Import, n.Const, n.Format, n.Model)


class _Entry(NamedTuple):
    """Something on lines of its own: a comment, an anchor. `cells` are empty where it is not aligned."""

    lines: tuple[str, ...]
    blank: bool
    kind: str = ""
    cells: tuple[str, ...] = ()
    comment: str = ""


def format_source(parsed: Parsed) -> str:
    """The text of a file in the one layout. A file with syntax errors stays as it is."""
    return parsed.source.text if has_errors(parsed) else _print(parsed.file, Trivia(parsed))


def print_file(file: n.File) -> str:
    """The text of a tree that was built and has no text yet; documentation is written as `##` lines."""
    return _print(file, None)


def _print(file: n.File, trivia: Trivia | None) -> str:
    entries: list[_Entry] = []
    if file.edition:
        if trivia:
            entries += _comments(trivia.before(file.edition.start), 0)
        comment = trivia.trailing(file.edition.end) if trivia else ""
        entries.append(_Entry((f"pllm {file.edition.text}",), blank=False, comment=comment))
    previous: n.Decl | None = None
    for decl in file.decls:
        added = _anchor(decl, 0, trivia)
        apart = file.edition is not None if previous is None else not _stay_together(previous, decl)
        if apart:
            added[0] = added[0]._replace(blank=True)
        entries += added
        previous = decl
    if trivia:
        entries += _comments(trivia.before(len(trivia.text) + 1), 0)
    return "\n".join(_lines(entries, 0)) + "\n" if entries else ""


def _stay_together(previous: n.Decl, decl: n.Decl) -> bool:
    """Whether two declarations may stand without a blank line between: imports, constants and the like."""
    return type(previous) is type(decl) and isinstance(decl, _SHORT) and not _children(previous)


def _anchor(anchor: AnyAnchor, indent: int, trivia: Trivia | None) -> list[_Entry]:
    """An anchor with the comments before it and the one behind it."""
    doc = getattr(anchor, "doc", "")
    if trivia is None:
        lines = [f"{'':{indent}}##{' ' if line else ''}{line}" for line in doc.split("\n")] if doc else []
        return [*[_Entry((line,), blank=False) for line in lines], _own(anchor, indent, None)]
    entries = _comments(trivia.before(anchor.at), indent)
    blank = trivia.is_blank_before(anchor.at)
    entry = _own(anchor, indent, trivia)
    comment = trivia.trailing(anchor.at + anchor.end)
    return [*entries, entry._replace(blank=blank, comment=comment)]


def _comments(comments: Sequence[Comment], indent: int) -> list[_Entry]:
    return [_Entry((" " * indent + comment.text,), comment.blank) for comment in comments]


def _own(anchor: AnyAnchor, indent: int, trivia: Trivia | None) -> _Entry:
    """The lines of an anchor itself."""
    children = _children(anchor)
    if children is None or _is_one_line(anchor, indent, trivia):
        return _simple(anchor, indent, trivia)
    return _block(anchor, children, indent, trivia)


def _simple(anchor: AnyAnchor, indent: int, trivia: Trivia | None) -> _Entry:
    end = anchor.at + anchor.end
    if trivia and trivia.has_inside(anchor.at, end):
        lines = trivia.as_written(anchor.at, end, indent)
        trivia.before(end)
        return _Entry(tuple(lines), blank=False)
    own = row(anchor)
    doc: Doc = own.doc
    if isinstance(anchor, n.Params):
        doc = concat("params { ", row(anchor.params[0]).doc, " }")
    text = " " * indent + flat(doc)
    if len(text) <= WIDTH:
        return _Entry((text,), False, own.kind, own.cells)
    return _Entry(tuple((" " * indent + render(doc, indent, indent)).split("\n")), blank=False)


def _block(anchor: AnyAnchor, children: Sequence[AnyAnchor], indent: int, trivia: Trivia | None) -> _Entry:
    """Head, body and `}`."""
    end = anchor.at + anchor.end
    head, comment = _head(anchor, children, indent, trivia)
    entries: list[_Entry] = []
    for child in children:
        entries += _anchor(child, indent + _STEP, trivia)
    if trivia:
        entries += _comments(trivia.before(end - 1), indent + _STEP)
    if not entries and not comment:
        return _Entry((*head[:-1], head[-1] + "}"), blank=False)
    head[-1] += f"  {comment}" if comment else ""
    body = _lines([entries[0]._replace(blank=False), *entries[1:]], indent + _STEP) if entries else []
    return _Entry((*head, *body, " " * indent + "}"), blank=False)


def _head(
    anchor: AnyAnchor, children: Sequence[AnyAnchor], indent: int, trivia: Trivia | None
) -> tuple[list[str], str]:
    """The lines of a block's head, up to its `{`, and the comment behind that."""
    lines = (" " * indent + render(concat(row(anchor).doc, " {"), indent, indent)).split("\n")
    if not trivia:
        return lines, ""
    end = anchor.at + anchor.end
    brace = trivia.opening(anchor.at, end, children[0].at if children else None)
    if trivia.has_inside(anchor.at, brace):
        lines = trivia.as_written(anchor.at, brace + 1, indent)
        trivia.before(brace)
    return lines, trivia.trailing(brace + 1)


def _children(anchor: AnyAnchor) -> Sequence[AnyAnchor] | None:
    """What stands in the braces of an anchor; None for one without braces."""
    match anchor:
        case n.Params():
            return anchor.params
        case n.Protocol():
            return anchor.phases
        case n.Operator() | n.Format():
            return anchor.body or None
        case n.Record() | n.Policy() | n.Plan() | n.Block() | n.Repeat() | n.Stage() | n.Phase():
            return anchor.body
        case _:
            return None


def _is_one_line(anchor: AnyAnchor, indent: int, trivia: Trivia | None) -> bool:
    """`params { bits: integer }` stays on one line."""
    if not isinstance(anchor, n.Params) or len(anchor.params) != 1:
        return False
    if trivia and trivia.has_inside(anchor.at, anchor.at + anchor.end):
        return False
    return indent + len("params {  }") + len(flat(row(anchor.params[0]).doc)) <= WIDTH


def _lines(entries: Sequence[_Entry], indent: int) -> list[str]:
    """All entries, runs of rows of one kind aligned, each comment behind its line."""
    lines: list[str] = []
    start = 0
    while start < len(entries):
        stop = start + 1
        while stop < len(entries) and _same_run(entries[stop - 1], entries[stop]):
            stop += 1
        run = entries[start:stop]
        texts = [list(entry.lines) for entry in run]
        if run[0].cells:
            texts = [[" " * indent + line] for line in align([entry.cells for entry in run], WIDTH - indent)]
        for entry, text in zip(run, texts, strict=True):
            lines += [""] if entry.blank and lines else []
            lines += text
            lines[-1] += f"  {entry.comment}" if entry.comment else ""
        start = stop
    return lines


def _same_run(above: _Entry, below: _Entry) -> bool:
    return bool(above.cells) and above.kind == below.kind and not below.blank
