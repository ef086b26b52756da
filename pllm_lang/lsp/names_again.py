"""The names of a file that was looked through before: statements that are as they were, where they were, cost a look at
what the names in them stand for.

In: a module, the library, and what came of the last time. Out: what `names.occurrences` gives, kept for the next time.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from pllm_lang.catalog.library import Library
from pllm_lang.lsp.names import Index, Occurrence
from pllm_lang.resolve.modules import Binding, Module
from pllm_lang.syntax import nodes as syn

Meaning: TypeAlias = tuple[str, str]
"""Kind and target of a name."""


class _Known(NamedTuple):
    """What a statement's names were: what was asked of the body around it, at `path`, and what that was; what it defined."""

    stmt: syn.Stmt
    path: str
    asked: tuple[tuple[str, Meaning | None], ...]
    defined: tuple[tuple[str, Meaning], ...]
    found: tuple[Occurrence, ...]


class Names(NamedTuple):
    """`found` are the names of `module`; they stand for what they do by `library`. Statements are known by identity."""

    module: Module
    library: Library
    known: dict[int, _Known]
    found: tuple[Occurrence, ...]


class _Again(Index):
    def __init__(self, module: Module, library: Library, known: dict[int, _Known]) -> None:
        super().__init__(module, library)
        self.before = known
        self.known: dict[int, _Known] = {}
        self.asked: list[tuple[str, Meaning | None]] = []
        self.defined: list[tuple[str, Meaning]] = []

    def find(self, name: str) -> Meaning | None:
        meaning = super().find(name)
        self.asked.append((name, meaning))
        return meaning

    def define(self, word: syn.Word, kind: str, target: str = "") -> None:
        super().define(word, kind, target)
        self.defined.append((word.id, self.scope.names[word.id]))

    def statement(self, stmt: syn.Stmt) -> None:
        if isinstance(stmt, syn.Repeat | syn.Stage):
            super().statement(stmt)
            return
        known = self.before.get(id(stmt))
        if known is None or not self._still_holds(known):
            known = self._looked(stmt)
        else:
            self.scope.names.update(known.defined)
            self.found += known.found
        self.known[id(stmt)] = known

    def _still_holds(self, known: _Known) -> bool:
        find = self.scope.find
        return known.path == self.scope.path and all(find(name) == meaning for name, meaning in known.asked)

    def _looked(self, stmt: syn.Stmt) -> _Known:
        self.asked, self.defined, first = [], [], len(self.found)
        super().statement(stmt)
        asked, defined = tuple(dict.fromkeys(self.asked)), tuple(self.defined)
        return _Known(stmt, self.scope.path, asked, defined, tuple(self.found[first:]))


def names_again(module: Module, library: Library, before: Names | None) -> Names:
    if before is not None and before.module is module and before.library is library:
        return before
    index = _Again(module, library, _usable(module, library, before))
    found = index.all()
    return Names(module, library, index.known, found)


def _usable(module: Module, library: Library, before: Names | None) -> dict[int, _Known]:
    """What names of the module's own level stand for is asked once, for all statements."""
    if before is None or before.library is not library or before.module.name != module.name:
        return {}
    old: dict[str, Binding] = before.module.scope
    return before.known if old == module.scope else {}
