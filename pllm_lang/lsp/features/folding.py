"""What can be folded: blocks in braces, runs of imports, runs of comments."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from pllm_lang.lsp.feature import Feature
from pllm_lang.lsp.view import View
from pllm_lang.syntax import nodes as syn

_NESTED = ("body", "phases")


def answer(view: View, params: types.FoldingRangeParams) -> list[types.FoldingRange]:  # noqa: ARG001 - the request's shape
    found = {
        (fold.start_line, fold.kind): fold for fold in (*_blocks(view), *_imports(view), *_comments(view))
    }
    document = view.client.text_document
    limit = (
        document.folding_range.range_limit
        if document is not None and document.folding_range is not None
        else None
    )
    ordered = sorted(found.values(), key=lambda fold: (fold.start_line, -fold.end_line))
    return ordered[:limit] if limit else ordered


def _fold(
    view: View, start: int, end: int, kind: types.FoldingRangeKind | None = None
) -> Iterator[types.FoldingRange]:
    first, last = view.buffer.position(start).line, view.buffer.position(end).line
    if kind is None:
        last -= 1  # the closing brace stays in sight
    if last > first:
        yield types.FoldingRange(first, last, kind=kind)


def _blocks(view: View) -> Iterator[types.FoldingRange]:
    waiting: list[syn.Anchor] = [d for d in view.opened.parsed.file.decls if not isinstance(d, syn.Import)]
    while waiting:
        node = waiting.pop()
        yield from _fold(view, node.at, node.at + node.end)
        for field in _NESTED:
            inner: tuple[object, ...] = getattr(node, field, ())
            waiting += [one for one in inner if isinstance(one, syn.Anchor)]


def _imports(view: View) -> Iterator[types.FoldingRange]:
    imports = [decl for decl in view.opened.parsed.file.decls if isinstance(decl, syn.Import)]
    if imports:
        yield from _fold(
            view, imports[0].at, imports[-1].at + imports[-1].end, types.FoldingRangeKind.Imports
        )


def _comments(view: View) -> Iterator[types.FoldingRange]:
    first = last = -2
    kind = types.FoldingRangeKind.Comment
    for start, _ in view.opened.parsed.comments:
        place = view.buffer.position(start)
        if view.buffer.lines[place.line].content[: place.column].strip():
            continue
        if place.line != last + 1:
            if last > first >= 0:
                yield types.FoldingRange(first, last, kind=kind)
            first = place.line
        last = place.line
    if last > first >= 0:
        yield types.FoldingRange(first, last, kind=kind)


FEATURES = (Feature(types.TEXT_DOCUMENT_FOLDING_RANGE, answer),)
