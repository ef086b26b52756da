"""Content digests of modules: what a module declares, not where, in which order or how it is written.

Records count by their digests, constants by their values, blocks and models by their text without places, comments and
parentheses. Plans do not count: a lock has a digest of each plan it is about.
"""

from __future__ import annotations

import hashlib
from typing import Any, cast

import msgspec
import rfc8785

from pllm_lang.catalog.library import Library
from pllm_lang.resolve.modules import Project
from pllm_lang.syntax import nodes as syn

DOMAIN = b"pllm.lang.module.v1\x00"
_PLACES = frozenset({"at", "start", "end", "doc"})


def module_digests(project: Project, library: Library) -> dict[str, str]:
    """Hex SHA-256 of every module that the project has read or imports from the compiled library."""
    names = set(project.modules)
    for module in project.modules.values():
        names.update(module.imports)
    return {name: module_digest(name, project, library) for name in sorted(names)}


def module_digest(name: str, project: Project, library: Library) -> str:
    module = project.modules.get(name)
    offered = library.exports.get(name)
    if module is not None:
        own = {local for local, binding in module.scope.items() if binding.module == name}
        constants = {local: module.constants[local] for local in own if local in module.constants}
        written = [d for d in module.file.decls if isinstance(d, syn.Block)]
    else:
        own = set(offered.kinds) if offered else set[str]()
        constants = offered.constants if offered else {}
        written = list[syn.Block]()
    content = {
        "constants": {local: repr(value) for local, value in constants.items()},
        "records": {
            local: library.digest_of(f"{name}.{local}") for local in own if library.kind(f"{name}.{local}")
        },
        "blocks": {block.name.id: _said(block) for block in written},
    }
    return hashlib.sha256(DOMAIN + rfc8785.dumps(content)).hexdigest()


def _said(tree: Any) -> Any:
    """What a syntax tree says, as plain lists."""
    if isinstance(tree, syn.Paren):
        return _said(tree.inner)
    if isinstance(tree, tuple):
        return [_said(part) for part in cast("tuple[Any, ...]", tree)]
    if isinstance(tree, msgspec.Struct):
        return [
            type(tree).__name__,
            *(_said(getattr(tree, f)) for f in tree.__struct_fields__ if f not in _PLACES),
        ]
    return tree
