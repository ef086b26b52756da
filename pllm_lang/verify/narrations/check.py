"""A component's narration, checked by itself: everything that it claims, for each example of its parameters.

In: a component with a protocol. Out: a `Checked` with the findings; it is proved where there are none.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from pllm_lang.catalog.expr import MapOf, Num
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.records import Component, Operator
from pllm_lang.ir import protocol as p
from pllm_lang.ir.lower.protocol import LoweredProtocol, Setting, lower_protocol
from pllm_lang.text.finding import Finding, Span, Verdict
from pllm_lang.verify.narrations.examples import settings, told
from pllm_lang.verify.narrations.told import findings_of, spans, used_twice
from pllm_lang.verify.protocol.prove import prove_protocol
from pllm_lang.verify.protocol.report import ProtocolReport

STATISTICAL = 40
"""Bits that an integer mask has to be wider by, where the record states no statistical security."""


class CheckedProtocol(msgspec.Struct, frozen=True):
    """`examples` and `reports` belong together; `assumptions` name what the proofs rest on."""

    key: str
    findings: tuple[Finding, ...]
    examples: tuple[str, ...] = ()
    reports: tuple[ProtocolReport, ...] = ()
    assumptions: tuple[str, ...] = ()


def check_component(key: str, component: Component, library: Library) -> CheckedProtocol:
    """Proved for every operator that it implements and every example that the record admits; refused where it admits
    none."""
    operators = [o for o in map(library.operator, component.implements) if o is not None]
    parts = [_check_for(operator, key, component, library) for operator in operators or [None]]
    if len(parts) == 1:
        return parts[0]
    findings = {(f.code, f.span.start): f for part in reversed(parts) for f in part.findings}
    return CheckedProtocol(
        key,
        tuple(findings.values()),
        tuple(example for part in parts for example in part.examples),
        tuple(report for part in parts for report in part.reports),
        tuple(dict.fromkeys(told for part in parts for told in part.assumptions)),
    )


def _check_for(
    operator: Operator | None, key: str, component: Component, library: Library
) -> CheckedProtocol:
    lowered = [
        (setting, lower_protocol(component, operator, library, setting))
        for setting in settings(component, operator)
    ]
    usable = [
        (setting, found) for setting, found in lowered if found.protocol is not None and not found.findings
    ]
    if not usable:
        return CheckedProtocol(key, _malformed(component, lowered))
    distinct = {found.protocol: (setting, found) for setting, found in reversed(usable)}
    findings: dict[tuple[str, int], Finding] = {}
    examples, reports = list[str](), list[ProtocolReport]()
    for protocol, (setting, found) in reversed(distinct.items()):
        assert protocol is not None
        report = prove_protocol(protocol, allowed=_revealed(protocol, component))
        examples.append(told(setting))
        reports.append(report)
        said = findings_of(report, found.origins, component.origin, statistical_of(component), told(setting))
        for finding in (*_used_twice(protocol, found, component), *said):
            findings.setdefault((finding.code, finding.span.start), finding)
    rests = {a.name: f"{a.name} ({a.security} bits)" for report in reports for a in report.assumptions}
    return CheckedProtocol(
        key, tuple(findings.values()), tuple(examples), tuple(reports), tuple(rests.values())
    )


def _used_twice(protocol: p.Protocol, found: LoweredProtocol, component: Component) -> Iterator[Finding]:
    for origin, text in used_twice(protocol):
        place = spans((origin,), found.origins, component.origin)[0]
        help_ = "draw it `per execution`, so that each use has its own"
        yield Finding("material.used_twice", text, place, verdict=Verdict.REFUTED, help=help_)


def _revealed(protocol: p.Protocol, component: Component) -> dict[str, list[p.Expr]]:
    """What the record says it reveals may be learnt by everybody; a plan asks its policy about that."""
    names = [given.name for given in protocol.inputs if given.name in component.reveals]
    return {party.name: [p.Ref(name) for name in names] for party in protocol.parties} if names else {}


def _malformed(component: Component, lowered: list[tuple[Setting, LoweredProtocol]]) -> tuple[Finding, ...]:
    """The findings of the example that comes furthest."""
    if lowered:
        return min(lowered, key=lambda pair: (pair[1].protocol is None, len(pair[1].findings)))[1].findings
    place = component.origin
    text = "no example of formats and numbers meets the record's own `requires`, so nothing is proved"
    span = Span(place.file, place.start, place.end)
    return (Finding("protocol.malformed", text, span, verdict=Verdict.UNPROVED),)


def statistical_of(component: Component) -> int:
    entries = dict(component.security.entries) if isinstance(component.security, MapOf) else {}
    stated = entries.get("statistical")
    return int(stated.value) if isinstance(stated, Num) else STATISTICAL
