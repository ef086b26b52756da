"""Names and where they lead: what stands at a place, where it is declared, where else it is meant."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

import msgspec

from pllm_lang.lsp.names import Occurrence, occurrences
from pllm_lang.lsp.names_again import names_again
from pllm_lang.lsp.view import View
from pllm_lang.resolve.modules import Module
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.finding import Span


class Place(msgspec.Struct, frozen=True):
    """An occurrence in a file, as findings call it."""

    file: str
    occurrence: Occurrence

    @property
    def span(self) -> Span:
        return Span(self.file, self.occurrence.start, self.occurrence.end)


def names(view: View) -> tuple[Occurrence, ...]:
    """The names of the document; none where it cannot be read."""
    module = view.opened.module
    if module is None:
        return ()
    view.document.names = names_again(module, view.opened.library, view.document.names)
    return view.document.names.found


def at(view: View, offset: int) -> Occurrence | None:
    """The name under the cursor, or right before it."""
    found = names(view)
    index = bisect_right(found, offset, key=lambda one: one.start) - 1
    for place in (index, index - 1):
        if place >= 0 and found[place].start <= offset <= found[place].end:
            return found[place]
    return None


def declared(view: View, one: Occurrence) -> Iterator[Place]:
    """Where a name's meaning is given: in the document, in a module that it imports, or in the library."""
    if not one.target:
        return
    own = [other for other in names(view) if other.target == one.target and other.defines]
    before = [other for other in own if other.start <= one.start]
    if own:
        yield Place(view.name, (before or own)[-1])
        return
    for module in others(view, one.target):
        for other in occurrences(module, view.opened.library):
            if other.target == one.target and other.defines:
                yield Place(module.source.name, other)
                return
    record = view.opened.library.get(one.target.partition("(")[0])
    if record is not None and record.origin.file:
        start, inside = record.origin.start, one.target.partition("(")[2].rstrip(")")
        for spec in getattr(record, "params", ()):
            if spec.name == inside and spec.origin.file:
                start = spec.origin.start
        name = inside or record.name
        yield Place(
            record.origin.file, Occurrence(start, start + len(name), name, one.kind, one.target, True)
        )


def others(view: View, target: str) -> Iterator[Module]:
    """Modules of the project beside the document that may declare a target."""
    for name, module in view.opened.project.modules.items():
        if module is not view.opened.module and target.startswith(f"{name}."):
            yield module


def declaration_of(module: Module, name: str) -> syn.Decl | None:
    return next((d for d in module.file.decls if not isinstance(d, syn.Import) and d.name.id == name), None)
