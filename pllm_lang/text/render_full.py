"""Findings with excerpts, for people.

In: findings and the sources they speak of. Out: text: for each finding what, where, the lines, the numbers,
notes, help, fixes and the documentation page; then how many there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from pllm_lang.text.excerpt import Mark, excerpt
from pllm_lang.text.finding import Finding, Label, Span
from pllm_lang.text.order import arrange, summary
from pllm_lang.text.source import Source
from pllm_lang.text.style import PLAIN, Style, severity_style
from pllm_lang.text.visible import visible

MAX_VALUE = 160
"""Characters of one value of a finding's data."""
MAX_ENTRIES = 4
_LIST = re.compile(r"\[([^\[\]]*)\]")


def render_full(findings: Iterable[Finding], sources: Mapping[str, Source], style: Style = PLAIN) -> str:
    """All findings, a blank line behind each, and the summary. Empty where nothing was found."""
    arranged = arrange(findings)
    if not arranged:
        return ""
    blocks = ["\n".join(_finding(finding, sources, style)) for finding in arranged]
    return "\n\n".join([*blocks, summary(arranged)]) + "\n"


def _finding(finding: Finding, sources: Mapping[str, Source], style: Style) -> Iterator[str]:
    colour = severity_style(style, finding.severity)
    verdict = f" ({finding.verdict.value})" if finding.verdict else ""
    head = f"{colour}{finding.severity.value}[{finding.code}]{style.reset}"
    yield f"{head}{style.strong}: {visible(finding.message)}{style.reset}{verdict}"
    margin = _margin(finding, sources)
    for file, marks in _marks(finding, colour, style).items():
        source = sources.get(file)
        arrow = "-->" if file == finding.span.file else ":::"
        start = finding.span.start if file == finding.span.file else marks[0].start
        yield f"{style.faint}{'':{margin}}{arrow}{style.reset} {place(Span(file, start, start), sources)}"
        if source is not None and source.text:
            yield f"{style.faint}{'':{margin}} |{style.reset}"
            yield from excerpt(source, marks, margin, style)
    yield from (f"{style.faint}{'':{margin}} ={style.reset} {line}" for line in _remarks(finding))


def place(span: Span, sources: Mapping[str, Source]) -> str:
    """`path:line:column`, or the path alone where its text is not at hand."""
    source = sources.get(span.file)
    if source is None:
        return visible(span.file)
    line, column = source.line_column(min(span.start, len(source.text)))
    return f"{visible(span.file)}:{line}:{column}"


def _marks(finding: Finding, colour: str, style: Style) -> dict[str, list[Mark]]:
    """The places of a finding by file, its own file first."""
    span = finding.span
    marks = {span.file: [Mark(span.start, span.end, "^", colour, "")]}
    for label in finding.labels:
        mark = Mark(label.span.start, label.span.end, "-", style.faint, visible(label.text))
        marks.setdefault(label.span.file, []).append(mark)
    return marks


def _margin(finding: Finding, sources: Mapping[str, Source]) -> int:
    """The width of the largest line number."""
    labels = [Label(finding.span, ""), *finding.labels]
    known = [(label.span.start, sources[label.span.file]) for label in labels if label.span.file in sources]
    return max([len(str(source.line_column(start)[0])) for start, source in known], default=1)


def _remarks(finding: Finding) -> Iterator[str]:
    if finding.subject:
        yield f"in {visible(finding.subject)}"
    if finding.count > 1:
        yield f"the same at {finding.count} places"
    if finding.data:
        shown = {key: shortened(visible(value)) for key, value in finding.data.items()}
        yield ", ".join(f"{key.replace('_', ' ')}: {value}" for key, value in shown.items())
    yield from (f"note: {visible(note)}" for note in finding.notes)
    if finding.help:
        yield f"help: {visible(finding.help)}"
    yield from (f"fix{'' if fix.safe else ' (unsafe)'}: {visible(fix.title)}" for fix in finding.fixes)
    yield f"see: pllm explain {finding.code}"


def shortened(value: str) -> str:
    """A value that a line can hold: of a list at most MAX_ENTRIES entries and how many there are. JSON has all of it."""
    value = _LIST.sub(_first_entries, value)
    return value if len(value) <= MAX_VALUE else f"{value[: MAX_VALUE - 4]} ..."


def _first_entries(found: re.Match[str]) -> str:
    entries = found[1].split(", ")
    if len(entries) <= MAX_ENTRIES:
        return found[0]
    return f"[{', '.join(entries[:MAX_ENTRIES])}, ... {len(entries)} entries]"
