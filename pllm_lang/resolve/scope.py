"""What every module-level name of one module stands for.

In: a parsed module and what the modules that it imports export. Out: its scope, the values of its constants,
and findings. What the module declares and imports goes before the operators of the shipped library.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from pllm_lang.resolve.module_constants import evaluate_constants
from pllm_lang.resolve.modules import Binding, ConstValue, Exports
from pllm_lang.resolve.places import node_span
from pllm_lang.resolve.suggest import did_you_mean
from pllm_lang.resolve.unused_imports import local_name, unused_imports
from pllm_lang.syntax.nodes import Decl, File, Import, ImportName, Record
from pllm_lang.text.finding import Finding, Label, Severity, Span
from pllm_lang.text.source import Source

MAX_OFFERED = 12


class Imported(msgspec.Struct, frozen=True):
    """An import declaration and the name of its module; `module` is "" where it was not found."""

    decl: Import
    module: str


class Text(msgspec.Struct, frozen=True):
    """A module as read: its name, its text, its tree and where its imports lead."""

    name: str
    source: Source
    file: File
    imports: tuple[Imported, ...]


class Scope(msgspec.Struct, frozen=True):
    names: dict[str, Binding]
    constants: dict[str, ConstValue]
    findings: tuple[Finding, ...]


def kind_of(decl: Decl) -> str:
    """The keyword of a declaration."""
    return decl.kind if isinstance(decl, Record) else type(decl).__name__.lower()


def declared_kinds(file: File) -> dict[str, str]:
    return {d.name.id: kind_of(d) for d in file.decls if not isinstance(d, Import)}


def bind_names(text: Text, exports: Mapping[str, Exports], prelude: Mapping[str, Binding]) -> Scope:
    table = _Table()
    for imported in text.imports:
        offered = exports.get(imported.module)
        for item in imported.decl.names if offered else ():
            table.bind_import(text.source.name, imported, item, offered or Exports({}))
    brought = frozenset(table.names)
    for decl in text.file.decls:
        if not isinstance(decl, Import):
            span = node_span(text.source.name, decl, decl.name)
            table.bind(decl.name.id, span, Binding(text.name, decl.name.id, kind_of(decl)), prelude)
    constants, findings = evaluate_constants(text.source.name, text.file, table.names, table.constants)
    findings += unused_imports(text.source, (i.decl for i in text.imports), brought)
    return Scope({**prelude, **table.names}, constants, (*table.findings, *findings))


class _Table:
    """Names bound so far, where they were bound, and what was wrong with others."""

    def __init__(self) -> None:
        self.names: dict[str, Binding] = {}
        self.constants: dict[str, ConstValue] = {}
        self.places: dict[str, Span] = {}
        self.findings: list[Finding] = []

    def bind_import(self, file: str, imported: Imported, item: ImportName, offered: Exports) -> None:
        name, local = item.name.id, local_name(item)
        kind = offered.kinds.get(name)
        if kind is None:
            message = f"`{_shown(imported.module)}` declares no `{name}`"
            span = node_span(file, imported.decl, item.name)
            help_ = did_you_mean(name, offered.kinds) or _offers(name, offered)
            self.findings.append(Finding("names.unknown", message, span, help=help_))
            return
        span = node_span(file, imported.decl, item.alias or item.name)
        if self.bind(local, span, Binding(imported.module, name, kind), {}) and name in offered.constants:
            self.constants[local] = offered.constants[name]

    def bind(self, name: str, span: Span, binding: Binding, prelude: Mapping[str, Binding]) -> bool:
        if name in self.places:
            self.findings.append(_duplicate(name, span, self.places[name]))
            return False
        self.places[name] = span
        self.names[name] = binding
        hidden = prelude.get(name)
        if hidden is not None and hidden.module != binding.module:
            self.findings.append(_shadows(name, span, hidden))
        return True


def _shown(module: str) -> str:
    """A module as an import writes it: `std.formats`, `shared/policy.pllm`."""
    return f"{module[2:]}.pllm" if module.startswith("./") else module


def _offers(name: str, offered: Exports) -> str:
    """Names that begin like the one asked for come first."""
    names = sorted(offered.kinds, key=lambda one: (not one.startswith(name), one))
    more = ", ..." if len(names) > MAX_OFFERED else ""
    return "it declares " + ", ".join(names[:MAX_OFFERED]) + more if names else "it declares nothing"


def _duplicate(name: str, span: Span, first: Span) -> Finding:
    return Finding(
        "names.duplicate",
        f"`{name}` is declared twice in this file",
        span,
        labels=(Label(first, "first declared here"),),
        help="give one of the two another name (an import can be renamed: `a as b`)",
    )


def _shadows(name: str, span: Span, hidden: Binding) -> Finding:
    return Finding(
        "names.shadows",
        f"`{name}` hides the shipped operator `{hidden.key}` in this file",
        span,
        severity=Severity.WARNING,
        help="choose another name, so that a reader knows which one is meant",
    )
