"""Hints behind the results of steps: shape, proved range, holder."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from pllm_lang.lsp.feature import Feature
from pllm_lang.lsp.values import Value, Values
from pllm_lang.lsp.view import View
from pllm_lang.resolve.bodies import statements
from pllm_lang.syntax import nodes as syn


def answer(view: View, params: types.InlayHintParams) -> list[types.InlayHint]:
    start, end = view.offset(params.range.start), view.offset(params.range.end)
    return list(_hints(view, start, end))


def _hints(view: View, start: int, end: int) -> Iterator[types.InlayHint]:
    assert view.snapshot is not None
    values = Values(view.snapshot.reports, view.name)
    module = view.opened.module
    for decl in module.file.decls if module is not None else ():
        if not isinstance(decl, syn.Plan | syn.Block) or decl.at > end or decl.at + decl.end < start:
            continue
        for step in statements(decl.body):
            if not isinstance(step, syn.Step) or step.at > end or step.at + step.end < start:
                continue
            for target in step.targets:
                found = values.at(step.at + target.start)
                if found:
                    yield _hint(view, step.at + target.end, found)


def _hint(view: View, at: int, found: tuple[Value, ...]) -> types.InlayHint:
    first = found[0]
    same = all(one.type == first.type and one.range_text == first.range_text for one in found)
    label = f": {first.type_text}" + (f" {first.range_text}" if first.range_text and same else "")
    position = view.buffer.position(at)
    lines = [line for line in (first.facts_text, f"held by {first.holder}" if first.holder else "") if line]
    if first.holder:
        label += f" @ {first.holder}"
    return types.InlayHint(
        position=types.Position(*position),
        label=label,
        kind=types.InlayHintKind.Type,
        tooltip="\n".join(lines) or None,
        padding_left=False,
        padding_right=True,
    )


FEATURES = (Feature(types.TEXT_DOCUMENT_INLAY_HINT, answer, "checked"),)
