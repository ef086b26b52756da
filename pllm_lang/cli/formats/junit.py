"""`--format junit`: a test suite for each file; its plans, protocols and findings are test cases.

An error is a failure. Warnings and notes are listed in the output of a case that passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from pllm_lang.cli.formats.places import place_of, relative, told_in_full
from pllm_lang.cli.told import Told
from pllm_lang.text.finding import Finding, Severity
from pllm_lang.text.order import arrange
from pllm_lang.text.visible import visible

FIXES = False


def render(told: Told) -> str:
    found = arrange(told.findings)
    by_file: dict[str, list[Finding]] = {relative(file): [] for file in told.files}
    for finding in found:
        by_file.setdefault(relative(finding.span.file), []).append(finding)
    plans: dict[str, list[str]] = {}
    for report in told.reports:
        if report.accepted:
            plans.setdefault(relative(report.source_map.plan.file), []).append(report.name)
    suites = [_suite(file, own, plans.get(file, []), told) for file, own in by_file.items()]
    n_failures = sum(finding.severity is Severity.ERROR for finding in found)
    n_tests = sum(max(1, len(own) + len(plans.get(file, []))) for file, own in by_file.items())
    head = f'<testsuites name="pllm check" tests="{n_tests}" failures="{n_failures}">'
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *suites, "</testsuites>"]) + "\n"


def _suite(file: str, findings: list[Finding], accepted: list[str], told: Told) -> str:
    cases = [*(_passed(file, name) for name in accepted), *(_case(file, one, told) for one in findings)]
    cases = cases or [_passed(file, "checked")]
    n_failures = sum(finding.severity is Severity.ERROR for finding in findings)
    head = f'  <testsuite name={_attribute(file)} tests="{len(cases)}" failures="{n_failures}" errors="0">'
    return "\n".join([head, *cases, "  </testsuite>"])


def _passed(file: str, name: str) -> str:
    return f"    <testcase classname={_attribute(file)} name={_attribute(name)} file={_attribute(file)}/>"


def _case(file: str, finding: Finding, told: Told) -> str:
    return "\n".join(_case_lines(file, finding, told))


def _case_lines(file: str, finding: Finding, told: Told) -> Iterator[str]:
    place = place_of(finding.span, told.sources)
    where = f"{place.line}:{place.column}: " if place.line else ""
    line = f' line="{place.line}"' if place.line else ""
    name = _attribute(f"{where}{finding.code}")
    yield f"    <testcase classname={_attribute(file)} name={name} file={_attribute(file)}{line}>"
    text = escape(_plain(f"{place.file}:{where}{finding.code}\n{told_in_full(finding)}"))
    if finding.severity is Severity.ERROR:
        kind, message = _attribute(finding.code), _attribute(finding.message)
        yield f"      <failure type={kind} message={message}>{text}</failure>"
    else:
        yield f"      <system-out>{finding.severity.value}: {text}</system-out>"
    yield "    </testcase>"


def _attribute(text: str) -> str:
    return quoteattr(_plain(text).replace("\n", " "))


def _plain(text: str) -> str:
    """Without what XML 1.0 cannot hold: control characters show as pictures, lone surrogates and non-characters as `·`."""
    return "\n".join(visible(line) for line in text.split("\n"))
