"""Rename: the declaration and every place that means it, in all files of the project.

What is left to the check is whether the new name means the same everywhere: each file is checked with it, and a rename after which
another finding is there, or a plan computes something else, is refused.
"""

from __future__ import annotations

import re
from collections import Counter

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from pllm_lang.ir.canonical import canonical_bytes
from pllm_lang.lsp import pointing, project
from pllm_lang.lsp.feature import Feature
from pllm_lang.lsp.names import Occurrence
from pllm_lang.lsp.pointing import Place
from pllm_lang.lsp.snapshot import Asked, Snapshot
from pllm_lang.lsp.view import View
from pllm_lang.syntax.load_table import load_table

_NAME = re.compile(r"[^\W\d]\w*")
MAX_OTHERS = 8
"""Other files that are checked with the new name."""


def refuse(message: str) -> JsonRpcException:
    """An error of the request, with words for the user."""
    return JsonRpcException(message, types.LSPErrorCodes.RequestFailed)


def prepared(view: View, params: types.PrepareRenameParams) -> types.PrepareRenamePlaceholder | None:
    one = _renamable(view, view.offset(params.position))
    return None if one is None else types.PrepareRenamePlaceholder(view.range(one.start, one.end), one.text)


def work(view: View, params: types.RenameParams) -> list[Place]:
    """Every place that gets the new name, where it means the same; this runs beside the editor's messages."""
    one = _renamable(view, view.offset(params.position))
    if one is None:
        raise refuse("there is no name here that can be renamed")
    new = params.new_name
    if not _NAME.fullmatch(new) or new in load_table().literals:
        raise refuse(f"`{new}` is not a name")
    if new != one.text and _is_taken(view, one, new):
        raise refuse(f"`{new}` is already the name of something else here")
    places = [place for place in project.everywhere(view, one) if place.occurrence.text == one.text]
    other = _other_finding(view, one, _texts(view, places, new)) if new != one.text else ""
    if other:
        raise refuse(f"`{new}` would not mean the same everywhere: {other}")
    return places


def answer(view: View, params: types.RenameParams, places: list[Place]) -> types.WorkspaceEdit | None:
    edits: dict[str, list[types.TextEdit]] = {}
    for place in places:
        where = project.location(view, place)
        if where is not None:
            edits.setdefault(place.file, []).append(types.TextEdit(where.range, params.new_name))
    return view.written(edits)


def _renamable(view: View, offset: int) -> Occurrence | None:
    """A name whose declaration stands in the project; names of the library stay as they are."""
    one = pointing.at(view, offset)
    if one is None or not one.target or one.target.startswith("std."):
        return None
    return one


def _is_taken(view: View, one: Occurrence, new: str) -> bool:
    """Whether the new name already means something where the old one does."""
    body = one.target.rpartition("/")[0]
    if body:
        scope = view.opened.module.scope if view.opened.module is not None else {}
        used = {o.text for o in pointing.names(view) if o.target.startswith(body.partition("/")[0] + "/")}
        return new in used or (new in scope and not scope[new].module.startswith("std."))
    if one.target.endswith(")"):
        owner = one.target.partition("(")[0]
        return f"{owner}({new})" in {o.target for o in pointing.names(view)}
    return any(new in module.scope for module in view.opened.project.modules.values())


# ---- the files with the new name ----
def _texts(view: View, places: list[Place], new: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for place in sorted(places, key=lambda place: -place.occurrence.start):
        text = found.get(place.file)
        if text is None:
            buffer = None if place.file == view.document.path else view.documents.buffer_of(place.file)
            text = view.text if buffer is None else buffer.text
        start, end = place.occurrence.start, place.occurrence.end
        found[place.file] = text[:start] + new + text[end:]
    return found


def _other_finding(view: View, one: Occurrence, texts: dict[str, str]) -> str:
    """The first code that comes or goes with the new name, or what a plan says instead; "" where nothing changes."""
    checker, own = view.documents.checker, view.documents.asked(view.document)
    assert view.snapshot is not None
    others = [path for path in texts if path != view.document.path][:MAX_OTHERS]
    asked = [_asked(view, own, path) for path in others]
    before = [view.snapshot, *(checker.trial(each, {}) for each in asked)]
    after = [checker.trial(each, texts) for each in (own, *asked)]
    for old, new in zip(before, after, strict=True):
        was, now = (Counter(finding.code for finding in snapshot.findings) for snapshot in (old, new))
        if was != now:
            return f"`{min((now - was) or (was - now))}` is {'there' if now - was else 'gone'} then"
        if "/" in one.target and _meaning(old) != _meaning(new):
            return "a plan computes something else then"
    return ""


def _asked(view: View, own: Asked, path: str) -> Asked:
    buffer = view.documents.buffer_of(path)
    text = "" if buffer is None else buffer.text
    return Asked(path, text, text, own.buffers, own.tick)


def _meaning(snapshot: Snapshot) -> list[bytes]:
    """Of accepted plans: what values are called leaves no trace in it."""
    return [canonical_bytes(report.plan) for report in snapshot.reports if report.accepted]


FEATURES = (
    Feature(types.TEXT_DOCUMENT_PREPARE_RENAME, prepared),
    Feature(
        types.TEXT_DOCUMENT_RENAME, answer, "checked", types.RenameOptions(prepare_provider=True), work=work
    ),
)
