"""Diagnostics for clients that pull them."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
from lsprotocol import types

from pllm_lang.lsp.diagnostics import SOURCE, diagnostics
from pllm_lang.lsp.feature import Feature
from pllm_lang.lsp.view import View
from pllm_lang.text.finding import Finding


def answer(view: View, params: types.DocumentDiagnosticParams) -> Any:
    """All findings of the document, or that they are as they were; those of files that it reads, where nobody has them open."""
    assert view.snapshot is not None
    items = diagnostics(view, view.snapshot.findings, view.name)
    own = _digest(items)
    related = _related(view)
    if params.previous_result_id == own:
        return types.RelatedUnchangedDocumentDiagnosticReport(result_id=own, related_documents=related)
    return types.RelatedFullDocumentDiagnosticReport(items=items, result_id=own, related_documents=related)


def _related(view: View) -> Any:
    document = view.client.text_document
    if document is None or document.diagnostic is None or not document.diagnostic.related_document_support:
        return None
    assert view.snapshot is not None
    by_file: dict[str, list[Finding]] = {}
    for module in view.opened.project.modules.values():
        if module.source.name != view.name and not module.name.startswith("std."):
            by_file[module.source.name] = []
    for finding in view.snapshot.findings:
        if finding.span.file in by_file:
            by_file[finding.span.file].append(finding)
    told: dict[str, Any] = {}
    for file, findings in by_file.items():
        path = view.path_of(file)
        if view.documents.at(path) is None:
            items = diagnostics(view, findings, file)
            told[view.documents.uri_of(path)] = types.FullDocumentDiagnosticReport(items=items)
    return told or None


def _digest(items: list[types.Diagnostic]) -> str:
    return hashlib.sha256(msgspec.msgpack.encode([repr(item) for item in items])).hexdigest()[:32]


FEATURES = (
    Feature(
        types.TEXT_DOCUMENT_DIAGNOSTIC,
        answer,
        "checked",
        types.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=False, identifier=SOURCE),
    ),
)
