"""Rename: the declaration and every place that means it, in all files of the project."""

from __future__ import annotations

import re

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from pllm_lang.lsp import pointing, project
from pllm_lang.lsp.feature import Feature
from pllm_lang.lsp.names import Occurrence
from pllm_lang.lsp.view import View
from pllm_lang.syntax.load_table import load_table

_NAME = re.compile(r"[^\W\d]\w*")


def refuse(message: str) -> JsonRpcException:
    """An error of the request, with words for the user."""
    return JsonRpcException(message, types.LSPErrorCodes.RequestFailed)


def prepared(view: View, params: types.PrepareRenameParams) -> types.PrepareRenamePlaceholder | None:
    one = _renamable(view, view.offset(params.position))
    return None if one is None else types.PrepareRenamePlaceholder(view.range(one.start, one.end), one.text)


def answer(view: View, params: types.RenameParams) -> types.WorkspaceEdit | None:
    one = _renamable(view, view.offset(params.position))
    if one is None:
        raise refuse("there is no name here that can be renamed")
    new = params.new_name
    if not _NAME.fullmatch(new) or new in load_table().literals:
        raise refuse(f"`{new}` is not a name")
    if new != one.text and _is_taken(view, one, new):
        raise refuse(f"`{new}` is already the name of something else here")
    edits: dict[str, list[types.TextEdit]] = {}
    for place in project.everywhere(view, one):
        where = project.location(view, place)
        if where is not None and place.occurrence.text == one.text:
            edits.setdefault(place.file, []).append(types.TextEdit(where.range, new))
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


FEATURES = (
    Feature(types.TEXT_DOCUMENT_PREPARE_RENAME, prepared),
    Feature(types.TEXT_DOCUMENT_RENAME, answer, options=types.RenameOptions(prepare_provider=True)),
)
