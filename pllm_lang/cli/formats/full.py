"""`--format full`: excerpts, numbers and next steps for people, then what became of each protocol and plan."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator

from pllm_lang.cli.told import Told, assumptions
from pllm_lang.text.render_full import render_full
from pllm_lang.text.style import style_for
from pllm_lang.text.visible import visible
from pllm_lang.verify.report import count_verdicts

FIXES = True


def render(told: Told) -> str:
    lines = "".join(f"{visible(line)}\n" for line in (*_protocols(told), *_plans(told)))
    return (render_full(told.findings, told.sources, style_for(sys.stdout)) or all_well(told)) + lines


def all_well(told: Told) -> str:
    """What is said where nothing was found."""
    n_files, n_plans, n_proved = len(told.files), len(told.reports), len(told.protocols)
    files = f"{n_files} file{'' if n_files == 1 else 's'}"
    plans = f"{n_plans} plan{'' if n_plans == 1 else 's'}"
    proved = f", {n_proved} protocol{'' if n_proved == 1 else 's'} proved" if n_proved else ""
    return f"{files} checked, {plans} accepted{proved}\n"


def _protocols(told: Told) -> Iterator[str]:
    for report in told.protocols:
        ended = f"refused, {len(report.findings)} not proved" if report.findings else "proved"
        yield f"{report.name}: {ended}"
        for assumed in report.assumptions:
            yield f"  assumed: {assumed}"


def _plans(told: Told) -> Iterator[str]:
    named = Counter(report.name for report in told.reports)
    for report in told.reports:
        counts = count_verdicts(report.obligations)
        open_ones = counts["refuted"] + counts["unproved"]
        proved = counts["proved"]
        line = f"{proved} obligation{'' if proved == 1 else 's'} proved" + (
            f", {open_ones} not" if open_ones else ""
        )
        name = report.name if named[report.name] == 1 else f"{report.name} of {report.file}"
        yield f"{name}: {'accepted' if report.accepted else 'refused'}, {line}"
        for assumed in assumptions(report):
            yield f"  assumed: {assumed}"
        for missing in report.not_asked:
            yield f"  not asked: {missing.family} ({missing.why})"
