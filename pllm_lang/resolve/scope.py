"""What every module-level name of one module stands for.

In: a parsed module and what the modules that it imports export. Out: its scope, the values of its constants, findings.
Order of precedence: what the module declares and imports, then the operators of the shipped library.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from pllm_lang.resolve.constants import Fault, evaluate
from pllm_lang.resolve.limits import MAX_CONSTANT_DEPTH
from pllm_lang.resolve.modules import Binding, ConstValue, Exports
from pllm_lang.resolve.places import anchor_span, node_span
from pllm_lang.resolve.suggest import did_you_mean
from pllm_lang.resolve.units import Problem
from pllm_lang.syntax.nodes import Const, Decl, File, Import, ImportName, Name, Record, Word
from pllm_lang.text.finding import Edit, Finding, Fix, Label, Severity, Span
from pllm_lang.text.source import Source

_SKIPPED = re.compile(r'#[^\n]*|"(?:[^"\\\n]|\\.)*"')
_USED = re.compile(r"(?<![.\w])[A-Za-z_]\w*(?![\w:])")


class Imported(msgspec.Struct, frozen=True):
    """An import declaration and the name of its module; `module` is "" where it was not found."""

    decl: Import
    module: str


class Scope(msgspec.Struct, frozen=True):
    names: dict[str, Binding]
    constants: dict[str, ConstValue]
    findings: tuple[Finding, ...]


def kind_of(decl: Decl) -> str:
    """The keyword of a declaration."""
    return decl.kind if isinstance(decl, Record) else type(decl).__name__.lower()


def declared_kinds(file: File) -> dict[str, str]:
    return {d.name.id: kind_of(d) for d in file.decls if not isinstance(d, Import)}


def bind_names(
    module: str,
    source: Source,
    file: File,
    imports: tuple[Imported, ...],
    exports: Mapping[str, Exports],
    prelude: Mapping[str, Binding],
) -> Scope:
    findings: list[Finding] = []
    places: dict[str, Span] = {}
    names: dict[str, Binding] = {}
    constants: dict[str, ConstValue] = {}

    def bind(word: Word, span: Span, binding: Binding) -> bool:
        if word.id in places:
            findings.append(_duplicate(word.id, span, places[word.id]))
            return False
        places[word.id] = span
        names[word.id] = binding
        return True

    for imported in imports:
        offered = exports.get(imported.module)
        for item in imported.decl.names if offered else ():
            findings += _bind_import(source.name, imported, item, offered, bind, constants)
    for decl in file.decls:
        if isinstance(decl, Import):
            continue
        span = node_span(source.name, decl, decl.name)
        shadowed = prelude.get(decl.name.id)
        if (
            bind(decl.name, span, Binding(module, decl.name.id, kind_of(decl)))
            and shadowed
            and shadowed.module != module
        ):
            findings.append(_shadows(decl.name.id, span, shadowed))
    found = evaluate_constants(source.name, file, names, constants)
    findings += found[1]
    findings += unused_imports(source, imports)
    return Scope({**prelude, **names}, found[0], tuple(findings))


def _bind_import(file, imported, item: ImportName, offered, bind, constants) -> list[Finding]:
    span = node_span(file, imported.decl, item.name)
    kind = offered.kinds.get(item.name.id)
    if kind is None:
        message = f"`{imported.module}` declares no `{item.name.id}`"
        help_ = did_you_mean(item.name.id, offered.kinds) or _offers(offered)
        return [Finding("names.unknown", message, span, help=help_)]
    word = item.alias or item.name
    if bind(word, node_span(file, imported.decl, word), Binding(imported.module, item.name.id, kind)):
        if item.name.id in offered.constants:
            constants[word.id] = offered.constants[item.name.id]
    return []


def _offers(offered: Exports) -> str:
    names = sorted(offered.kinds)
    return (
        "it declares " + ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
        if names
        else "it is empty"
    )


def _duplicate(name: str, span: Span, first: Span) -> Finding:
    return Finding(
        "names.duplicate",
        f"`{name}` is declared twice in this file",
        span,
        labels=(Label(first, "first declared here"),),
        help="give one of the two another name (an import can be renamed: `a as b`)",
    )


def _shadows(name: str, span: Span, shadowed: Binding) -> Finding:
    return Finding(
        "names.shadows",
        f"`{name}` hides the shipped operator `{shadowed.key}` in this file",
        span,
        severity=Severity.WARNING,
        help="choose another name, so that a reader knows which one is meant",
    )


def unused_imports(source: Source, imports: tuple[Imported, ...]) -> list[Finding]:
    """A warning for each imported name that the rest of the text never uses."""
    if not imports:
        return []
    text = list(source.text)
    for imported in imports:
        start, end = imported.decl.at, imported.decl.at + imported.decl.end
        text[start:end] = " " * (end - start)
    used = set(_USED.findall(_SKIPPED.sub(" ", "".join(text))))
    findings: list[Finding] = []
    for imported in imports:
        for item in imported.decl.names:
            if (item.alias or item.name).id not in used:
                findings.append(_unused(source, imported.decl, item))
    return findings


def _unused(source: Source, decl: Import, item: ImportName) -> Finding:
    span = node_span(source.name, decl, item)
    removed = anchor_span(source.name, decl)
    if len(decl.names) > 1:
        tail = re.compile(r"\s*,\s*").match(source.text, span.end)
        head = re.compile(r",\s*$").search(source.text[decl.at : span.start])
        if tail:
            removed = Span(source.name, span.start, tail.end())
        elif head:
            removed = Span(source.name, decl.at + head.start(), span.end)
    name = (item.alias or item.name).id
    return Finding(
        "names.unused",
        f"`{name}` is imported and never used",
        span,
        severity=Severity.WARNING,
        help="remove it from the import",
        fixes=(Fix(f"remove `{name}`", (Edit(removed, ""),), safe=True),),
    )


def evaluate_constants(
    file_name: str, file: File, names: Mapping[str, Binding], imported: Mapping[str, ConstValue]
) -> tuple[dict[str, ConstValue], list[Finding]]:
    """Values of all constants of a file, in any order of declaration; imported ones are given."""
    decls = {d.name.id: d for d in file.decls if isinstance(d, Const)}
    values: dict[str, ConstValue] = dict(imported)
    findings: list[Finding] = []
    failed: set[str] = set()
    stack: list[str] = []

    def lookup(node: Name) -> ConstValue | Fault:
        name = node.id
        if name in values:
            return values[name]
        if name in failed:
            return Fault(node, Problem("", ""))
        if name in stack:
            circle = " -> ".join([*stack[stack.index(name) :], name])
            return Fault(
                node,
                Problem(
                    "names.cycle",
                    f"`{name}` is defined by itself: {circle}",
                    "give one of them a value of its own",
                ),
            )
        if name in decls:
            return value_of(name, node)
        if name in names:
            return Fault(
                node, Problem("names.wrong_kind", f"`{name}` is a {names[name].kind}, not a constant")
            )
        return Fault(
            node, Problem("names.unknown", f"no constant `{name}`", did_you_mean(name, (*decls, *values)))
        )

    def value_of(name: str, node: Name) -> ConstValue | Fault:
        if len(stack) >= MAX_CONSTANT_DEPTH:
            return Fault(
                node,
                Problem("names.too_deep", f"more than {MAX_CONSTANT_DEPTH} constants stand on each other"),
            )
        stack.append(name)
        value = evaluate(decls[name].value, lookup)
        stack.pop()
        if not isinstance(value, Fault):
            values[name] = value
            return value
        failed.add(name)
        if value.problem.code:
            findings.append(fault_finding(file_name, decls[name], value))
        return Fault(node, Problem("", ""))

    for name, decl in decls.items():
        if name not in values and name not in failed:
            value_of(name, Name(decl.name.start, decl.name.end, name))
    return values, findings


def fault_finding(file: str, anchor, fault: Fault) -> Finding:
    """The finding of a fault whose node lies in `anchor`."""
    return Finding(
        fault.problem.code,
        fault.problem.message,
        node_span(file, anchor, fault.node),
        help=fault.problem.help,
    )
