"""Findings one a line, for tools and long lists: `path:line:column: severity[code] message`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pllm_lang.text.finding import Finding
from pllm_lang.text.order import arrange, summary
from pllm_lang.text.render_full import place
from pllm_lang.text.source import Source
from pllm_lang.text.style import PLAIN, Style, severity_style
from pllm_lang.text.visible import visible


def render_concise(findings: Iterable[Finding], sources: Mapping[str, Source], style: Style = PLAIN) -> str:
    """A line for each finding, and the summary. Empty where nothing was found."""
    arranged = arrange(findings)
    if not arranged:
        return ""
    return "\n".join([*(_line(finding, sources, style) for finding in arranged), summary(arranged)]) + "\n"


def _line(finding: Finding, sources: Mapping[str, Source], style: Style) -> str:
    colour = severity_style(style, finding.severity)
    head = f"{colour}{finding.severity.value}[{finding.code}]{style.reset}"
    count = f" ({finding.count} places)" if finding.count > 1 else ""
    message = visible(finding.message).replace("\n", " ")
    return f"{place(finding.span, sources)}: {head} {message}{count}"
