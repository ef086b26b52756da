"""Lenses over plans and experiments: how the check came out, and what the plan costs."""

from __future__ import annotations

from collections.abc import Callable

from lsprotocol import types

from pllm_lang.lsp.feature import Feature
from pllm_lang.lsp.view import View
from pllm_lang.syntax import nodes as syn
from pllm_lang.verify.check import PlanReport
from pllm_lang.verify.report import count_verdicts


def answer(view: View, params: types.CodeLensParams) -> list[types.CodeLens]:  # noqa: ARG001 - the request's shape
    assert view.snapshot is not None
    reports = {report.name: report for report in view.snapshot.reports}
    lenses: list[types.CodeLens] = []
    for decl in view.opened.parsed.file.decls:
        if not isinstance(decl, syn.Plan) and not (
            isinstance(decl, syn.Record) and decl.kind == "experiment"
        ):
            continue
        place = view.range(decl.at + decl.name.start, decl.at + decl.name.end)
        arguments = [view.document.uri, decl.name.id]
        report = reports.get(decl.name.id)
        title = verdict(report) if report is not None else "check"
        lenses.append(types.CodeLens(place, types.Command(title, "pllm.check", arguments=[*arguments])))
        if report is not None and report.plan.policy:
            lenses.append(
                types.CodeLens(place, types.Command("show cost", "pllm.cost", arguments=[*arguments]))
            )
    return lenses


def verdict(report: PlanReport) -> str:
    """`accepted, 43 obligations proved`, in the words of `pllm check`."""
    counts = count_verdicts(report.obligations)
    proved, open_ones = counts["proved"], counts["refuted"] + counts["unproved"]
    told = f"{proved} obligation{'' if proved == 1 else 's'} proved" + (
        f", {open_ones} not" if open_ones else ""
    )
    return f"{'accepted' if report.accepted else 'refused'}, {told}"


def _check(view: View, name: str) -> str:
    assert view.snapshot is not None
    report = next((one for one in view.snapshot.reports if one.name == name), None)
    return (
        f"{name}: {verdict(report)}"
        if report is not None
        else f"{name} was not checked: see what is reported"
    )


def _cost(view: View, name: str) -> str:
    assert view.snapshot is not None
    return view.documents.checker.cost(view.snapshot, name) or f"nothing is known of what {name} costs"


COMMANDS: dict[str, Callable[[View, str], str]] = {"pllm.check": _check, "pllm.cost": _cost}
FEATURES = (
    Feature(types.TEXT_DOCUMENT_CODE_LENS, answer, "checked", types.CodeLensOptions(resolve_provider=False)),
)
