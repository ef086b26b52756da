"""`names.unused` for imported names: a warning, with a fix that removes the name."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from pllm_lang.resolve.places import anchor_span, node_span
from pllm_lang.syntax.nodes import Import, ImportName
from pllm_lang.text.edits import whole_lines
from pllm_lang.text.finding import Edit, Finding, Fix, Severity, Span
from pllm_lang.text.source import Source

_SKIPPED = re.compile(r'#[^\n]*|"(?:[^"\\\n]|\\.)*"')
_USED = re.compile(r"(?<![.\w])[A-Za-z_]\w*(?![\w:])")
_COMMA_AFTER = re.compile(r"\s*,\s*")
_COMMA_BEFORE = re.compile(r",\s*$")


def unused_imports(source: Source, imports: Iterable[Import], bound: Collection[str]) -> list[Finding]:
    """Each name of `bound` that an import brings and the rest of the text never uses."""
    decls = list(imports)
    if not decls:
        return []
    unused = _unused(_without(source.text, decls), set(bound))
    if not unused:
        return []
    names = [(decl, item) for decl in decls for item in decl.names]
    return [_finding(source, decl, item) for decl, item in names if local_name(item) in unused]


_PIECE = 1 << 14
"""Characters that are looked through before it is asked whether all names were seen: most texts use theirs early."""


def _unused(text: str, names: set[str]) -> set[str]:
    """The names that a text never uses. It is read by whole lines, behind which no string and no comment goes on."""
    at = 0
    while names and at < len(text):
        stop = text.find("\n", at + _PIECE)
        stop = len(text) if stop < 0 else stop
        names = names.difference(_USED.findall(_SKIPPED.sub(" ", text[at:stop])))
        at = stop
    return names


def local_name(item: ImportName) -> str:
    return (item.alias or item.name).id


def _without(text: str, decls: list[Import]) -> str:
    kept: list[str] = []
    at = 0
    for decl in decls:
        kept.append(text[at : decl.at])
        at = decl.at + decl.end
    return " ".join([*kept, text[at:]])


def _finding(source: Source, decl: Import, item: ImportName) -> Finding:
    name = local_name(item)
    return Finding(
        "names.unused",
        f"`{name}` is imported and never used",
        node_span(source.name, decl, item),
        severity=Severity.WARNING,
        help="remove it from the import",
        fixes=(Fix(f"Remove `{name}`", (Edit(_removable(source, decl, item), ""),), safe=True),),
    )


def _removable(source: Source, decl: Import, item: ImportName) -> Span:
    """The name and one comma; the whole import where it brings nothing else."""
    span = node_span(source.name, decl, item)
    if len(decl.names) == 1:
        return whole_lines(source, anchor_span(source.name, decl))
    after = _COMMA_AFTER.match(source.text, span.end)
    if after:
        return Span(source.name, span.start, after.end())
    before = _COMMA_BEFORE.search(source.text[decl.at : span.start])
    return Span(source.name, decl.at + before.start(), span.end) if before else span
