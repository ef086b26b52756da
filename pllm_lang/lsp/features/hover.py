"""Hover: type, proved range and error, holder, and the documentation of what is under the cursor."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from pllm_lang.lsp import pointing
from pllm_lang.lsp.describe import code, described, documentation, head_of, parameter
from pllm_lang.lsp.feature import Feature
from pllm_lang.lsp.names import Occurrence
from pllm_lang.lsp.values import Value, Values
from pllm_lang.lsp.view import View
from pllm_lang.resolve.modules import Module
from pllm_lang.syntax import nodes as syn

_LOCAL = frozenset({"value", "weight", "state", "variable"})


def answer(view: View, params: types.HoverParams) -> types.Hover | None:
    one = pointing.at(view, view.offset(params.position))
    text = "\n\n".join(part for part in _parts(view, one) if part) if one is not None else ""
    if one is None or not text:
        return None
    return types.Hover(_content(view, text), view.range(one.start, one.end))


def _content(view: View, text: str) -> types.MarkupContent:
    document = view.client.text_document
    formats = document.hover.content_format if document is not None and document.hover is not None else None
    plain = formats is not None and types.MarkupKind.Markdown not in formats
    return types.MarkupContent(types.MarkupKind.PlainText if plain else types.MarkupKind.Markdown, text)


def _parts(view: View, one: Occurrence) -> Iterator[str]:
    if one.kind in _LOCAL:
        yield from _value(view, one)
    elif one.kind == "party":
        yield from _party(view, one)
    elif one.target.endswith(")"):
        yield from _parameter(view, one)
    elif one.target:
        yield from _declared(view, one)


def _value(view: View, one: Occurrence) -> Iterator[str]:
    assert view.snapshot is not None
    places = list(pointing.declared(view, one))
    values = Values(view.snapshot.reports, view.name)
    found = [value for place in places for value in values.at(place.occurrence.start)]
    if not found:
        yield code(f"{one.kind} {one.text}")
        return
    first = found[0]
    yield code(f"{one.text}: {first.type_text}")
    yield from _known(first)
    if len(found) > 1:
        yield f"as in the first of {len(found)} uses of this block"
    yield from _documented(view, places)


def _known(value: Value) -> Iterator[str]:
    if value.facts_text:
        yield f"proved: {value.facts_text}"
    if value.holder:
        yield f"held by {value.holder}"


def _documented(view: View, places: list[pointing.Place]) -> Iterator[str]:
    """The `##` lines over the input, weight or state."""
    module = view.opened.module
    for decl in module.file.decls if module is not None else ():
        for stmt in decl.body if isinstance(decl, syn.Plan) else ():
            if not isinstance(stmt, syn.Input | syn.Weight | syn.State) or not stmt.doc:
                continue
            if any(stmt.at + stmt.name.start == place.occurrence.start for place in places):
                yield stmt.doc


def _party(view: View, one: Occurrence) -> Iterator[str]:
    key = one.target.partition("(")[0]
    policy = view.opened.library.policy(key)
    if policy is None:
        yield f"`{one.text}`, a role of `{key.rpartition('.')[2]}`"
        return
    yield f"`{one.text}`, a party of `{policy.name}`"
    learns = ", ".join(policy.learns.get(one.text, ())) or "nothing"
    yield f"may learn {learns}"


def _parameter(view: View, one: Occurrence) -> Iterator[str]:
    key, _, name = one.target.rstrip(")").partition("(")
    record = view.opened.library.get(key)
    for spec in getattr(record, "params", ()):
        if spec.name == name:
            yield code(parameter(spec))
            yield f"a parameter of `{key.rpartition('.')[2]}`"
            return
    yield f"`{name}` of `{key.rpartition('.')[2]}`"


def _declared(view: View, one: Occurrence) -> Iterator[str]:
    record = view.opened.library.get(one.target)
    if record is not None:
        yield described(record)
        return
    module_name, _, name = one.target.rpartition(".")
    module: Module | None = view.opened.project.modules.get(module_name)
    decl = pointing.declaration_of(module, name) if module is not None else None
    if module is None or decl is None:
        yield code(f"{one.kind} {one.text}")
        return
    yield code(head_of(module, decl))
    yield documentation(decl)
    if isinstance(decl, syn.Const) and name in module.constants:
        yield f"is {module.constants[name]}"
    if isinstance(decl, syn.Plan) and view.snapshot is not None:
        for report in view.snapshot.reports:
            if report.name == name and module is view.opened.module:
                yield "accepted" if report.accepted else "refused"
                break


FEATURES = (Feature(types.TEXT_DOCUMENT_HOVER, answer, "checked"),)
