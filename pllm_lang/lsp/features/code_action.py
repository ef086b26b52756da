"""Code actions: every fix that a finding has, tried on the text before it is offered; the safe ones all at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lsprotocol import types

from pllm_lang.lsp.diagnostics import diagnostic
from pllm_lang.lsp.feature import Feature
from pllm_lang.lsp.view import View
from pllm_lang.text.edits import in_order
from pllm_lang.text.finding import Edit, Finding, Fix

FIX_ALL = "source.fixAll.pllm"


def work(view: View, params: types.CodeActionParams) -> tuple[Finding, ...]:
    """The findings in question with their fixes; this runs beside the editor's messages."""
    assert view.snapshot is not None
    findings = tuple(one for one in view.snapshot.findings if one.span.file == view.name)
    if not _wants_all(params):
        start, end = view.offset(params.range.start), view.offset(params.range.end)
        findings = tuple(one for one in findings if _touches(view, one, start, end))
    if not findings:
        return ()
    asked = view.documents.asked(view.document)
    return view.documents.checker.fixes(asked, view.snapshot, findings)


def answer(view: View, params: types.CodeActionParams, found: tuple[Finding, ...]) -> list[types.CodeAction]:
    actions = [] if _only_all(params) else [one for finding in found for one in _actions(view, finding)]
    if _wants_all(params):
        actions += _fix_all(view, found)
    return actions


def _touches(view: View, finding: Finding, start: int, end: int) -> bool:
    """Whether the finding's place meets the range, or stands on the line of the cursor."""
    line = view.buffer.position(finding.span.start).line
    first, last = view.buffer.position(start).line, view.buffer.position(end).line
    return (finding.span.start <= end and start <= finding.span.end) or first <= line <= last


def _wants_all(params: types.CodeActionParams) -> bool:
    only = params.context.only or []
    return any(kind == FIX_ALL or FIX_ALL.startswith(f"{kind}.") for kind in only)


def _only_all(params: types.CodeActionParams) -> bool:
    only = params.context.only or []
    return bool(only) and not any(kind in ("", "quickfix") or kind.startswith("quickfix.") for kind in only)


def _actions(view: View, finding: Finding) -> Iterator[types.CodeAction]:
    first_safe = next((fix for fix in finding.fixes if fix.safe), None)
    for fix in finding.fixes:
        edit = view.workspace_edit(fix.edits)
        if edit is not None:
            yield types.CodeAction(
                title=fix.title if fix.safe else f"{fix.title} (may change other findings)",
                kind=types.CodeActionKind.QuickFix,
                diagnostics=[diagnostic(view, finding)],
                is_preferred=True if fix is first_safe else None,
                edit=edit,
            )


def _fix_all(view: View, found: Iterable[Finding]) -> Iterator[types.CodeAction]:
    edits: list[Edit] = []
    for finding in found:
        fix: Fix | None = next((one for one in finding.fixes if one.safe), None)
        if fix is not None and in_order([*edits, *fix.edits]) is not None:
            edits += fix.edits
    edit = view.workspace_edit(dict.fromkeys(edits)) if edits else None
    if edit is not None:
        yield types.CodeAction(title="Apply all safe fixes", kind=FIX_ALL, edit=edit)


FEATURES = (
    Feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        answer,
        "checked",
        types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix, FIX_ALL]),
        work=work,
    ),
)
