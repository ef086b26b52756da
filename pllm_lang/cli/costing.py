"""The cost report that a call asks for, and its forms."""

from __future__ import annotations

from pllm_lang.artifacts.cost import cost_report
from pllm_lang.artifacts.cost_report import CostReport, document
from pllm_lang.artifacts.cost_text import as_text
from pllm_lang.cli.proofs import proof_of


def cost_of_target(target: str) -> CostReport:
    """Raises NoSuchPlanError."""
    found = proof_of(target)
    return cost_report(found.report, found.proof, found.library, found.experiment)


def rendered(report: CostReport, format_: str) -> str:
    if format_ == "json":
        return document(report).decode() + "\n"
    if format_ == "svg":
        from pllm_lang.artifacts.cost_svg import as_svg

        return as_svg(report)
    return as_text(report) + "\n"
