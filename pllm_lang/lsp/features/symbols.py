"""Symbols of the document, as a tree, and of the whole project, by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from lsprotocol import types

from pllm_lang.lsp import project
from pllm_lang.lsp.feature import Feature
from pllm_lang.lsp.view import View, range_in
from pllm_lang.resolve.modules import Module
from pllm_lang.syntax import nodes as syn

MAX_SYMBOLS = 500
_KINDS: dict[type, types.SymbolKind] = {
    syn.Plan: types.SymbolKind.Function,
    syn.Block: types.SymbolKind.Function,
    syn.Operator: types.SymbolKind.Operator,
    syn.Policy: types.SymbolKind.Interface,
    syn.Record: types.SymbolKind.Class,
    syn.Format: types.SymbolKind.Struct,
    syn.Const: types.SymbolKind.Constant,
    syn.Model: types.SymbolKind.Object,
    syn.Input: types.SymbolKind.Field,
    syn.Weight: types.SymbolKind.Field,
    syn.State: types.SymbolKind.Field,
    syn.Step: types.SymbolKind.Variable,
    syn.Stage: types.SymbolKind.Namespace,
    syn.Repeat: types.SymbolKind.Array,
}


Symbols: TypeAlias = "list[types.DocumentSymbol] | list[types.SymbolInformation]"


def answer(view: View, params: types.DocumentSymbolParams) -> Symbols:  # noqa: ARG001 - the request's shape
    decls = [decl for decl in view.opened.parsed.file.decls if not isinstance(decl, syn.Import)]
    tree = [_symbol(view, decl) for decl in decls]
    document = view.client.text_document
    symbols = document.document_symbol if document is not None else None
    if symbols is None or not symbols.hierarchical_document_symbol_support:
        return list(_flat(view, tree, ""))
    return tree


def _symbol(view: View, node: syn.Decl | syn.Stmt) -> types.DocumentSymbol:
    name = _name(node)
    children = [_symbol(view, stmt) for stmt in _inside(node)]
    return types.DocumentSymbol(
        name=", ".join(word.id for word in name) or "_",
        kind=_KINDS[type(node)],
        range=view.range(node.at, node.at + node.end),
        selection_range=view.range(node.at + name[0].start, node.at + name[0].end),
        detail=_detail(node),
        children=children or None,
    )


def _name(node: syn.Decl | syn.Stmt) -> tuple[syn.Word, ...]:
    match node:
        case syn.Step():
            return tuple(target.name for target in node.targets)
        case syn.Repeat():
            return (node.variable,)
        case _:
            name = getattr(node, "name", None)
            return (name,) if isinstance(name, syn.Word) else ()


def _inside(node: syn.Decl | syn.Stmt) -> Iterator[syn.Stmt]:
    body = node.body if isinstance(node, syn.Plan | syn.Block | syn.Stage | syn.Repeat) else ()
    return (stmt for stmt in body if type(stmt) in _KINDS)


def _detail(node: syn.Decl | syn.Stmt) -> str:
    if isinstance(node, syn.Record):
        return node.kind
    if isinstance(node, syn.Step):
        call = node.value
        return call.callee.id if isinstance(call, syn.Call) and isinstance(call.callee, syn.Name) else ""
    return type(node).__name__.lower()


def _flat(
    view: View, tree: Sequence[types.DocumentSymbol], container: str
) -> Iterator[types.SymbolInformation]:
    for symbol in tree:
        yield types.SymbolInformation(
            types.Location(view.document.uri, symbol.selection_range),
            symbol.name,
            symbol.kind,
            container_name=container or None,
        )
        yield from _flat(view, symbol.children or [], symbol.name)


def in_project(view: View, params: types.WorkspaceSymbolParams) -> list[types.SymbolInformation]:
    """Declarations of every project that has an open document, whose name holds the letters asked for in their order."""
    found: list[types.SymbolInformation] = []
    module = view.opened.module
    if module is not None:
        found += _declared(view, view.document.path, module, params.query)
    for path, other in project.modules(view):
        found += _declared(view, path, other, params.query)
        if len(found) >= MAX_SYMBOLS:
            break
    return found[:MAX_SYMBOLS]


def _declared(view: View, path: str, module: Module, query: str) -> Iterator[types.SymbolInformation]:
    buffer = view.documents.buffer_of(path)
    for decl in module.file.decls if buffer is not None else ():
        if isinstance(decl, syn.Import) or not _matches(query, decl.name.id) or buffer is None:
            continue
        place = range_in(buffer, decl.at + decl.name.start, decl.at + decl.name.end)
        where = types.Location(view.documents.uri_of(path), place)
        yield types.SymbolInformation(where, decl.name.id, _KINDS[type(decl)], container_name=module.name)


def _matches(query: str, name: str) -> bool:
    letters = iter(name.lower())
    return all(letter in letters for letter in query.lower())


FEATURES = (
    Feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, answer),
    Feature(types.WORKSPACE_SYMBOL, in_project),
)
