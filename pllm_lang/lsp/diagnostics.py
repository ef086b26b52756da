"""From findings to diagnostics: the same code, place and words, with the address of the page that explains them."""

from __future__ import annotations

from collections.abc import Iterable

from lsprotocol import types

from pllm_lang.lsp.view import View
from pllm_lang.resources import rule_pages_dir
from pllm_lang.text.finding import Finding, Severity

SOURCE = "pllm"
_SEVERITY = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.NOTE: types.DiagnosticSeverity.Information,
}
_UNNECESSARY = frozenset({"names.unused", "suppression.unused"})


def diagnostics(view: View, findings: Iterable[Finding], file: str) -> list[types.Diagnostic]:
    """A diagnostic for every finding of one file."""
    return [diagnostic(view, finding) for finding in findings if finding.span.file == file]


def diagnostic(view: View, finding: Finding) -> types.Diagnostic:
    buffer = view.buffer_of(finding.span.file)
    where = view.location(finding.span)
    if where is None or buffer is None:
        place = types.Range(types.Position(0, 0), types.Position(0, 0))
    else:
        place = where.range
    page = page_of(finding.code)
    return types.Diagnostic(
        range=place,
        message=told(finding),
        severity=_SEVERITY[finding.severity],
        code=finding.code,
        code_description=types.CodeDescription(page) if page else None,
        source=SOURCE,
        tags=[types.DiagnosticTag.Unnecessary] if finding.code in _UNNECESSARY else None,
        related_information=_related(view, finding) or None,
    )


def told(finding: Finding) -> str:
    """The message, its notes and its next step, a line each."""
    count = f" ({finding.count} times)" if finding.count > 1 else ""
    witness = finding.data.get("witness", "")
    lines = [finding.message + count, *finding.notes]
    if witness:
        lines.append(f"witness: {witness}")
    if finding.help:
        lines.append(f"help: {finding.help}")
    return "\n".join(lines)


def page_of(code: str) -> str:
    """The address of the page about a code, "" where there is none."""
    page = rule_pages_dir().joinpath(*code.split(".")).with_suffix(".md")
    return page.as_uri() if page.is_file() else ""


def _related(view: View, finding: Finding) -> list[types.DiagnosticRelatedInformation]:
    found = [(view.location(label.span), label.text) for label in finding.labels]
    return [types.DiagnosticRelatedInformation(where, text) for where, text in found if where is not None]
