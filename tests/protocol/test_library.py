"""Every protocol of the library is proved, and every broken copy refused for its reason."""

from __future__ import annotations

import pytest

from pllm_lang.ir import protocol as ir
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.protocol.prove import prove_protocol
from pllm_lang.verify.protocol.report import ProtocolReport
from tests.protocol.faults import FAULTS
from tests.protocol.mutations import Fault
from tests.protocol.primitives import LIBRARY

BROKEN = [(name, what, fault, why) for name, rows in FAULTS.items() for what, fault, why in rows]


def reasons(report: ProtocolReport) -> set[str]:
    """Why a report is not a proof."""
    found = {f"view:{'+'.join(v.coalition)}" for v in report.views if v.verdict is not Verdict.PROVED}
    names = {"protocol.reused-stream": "reused", "protocol.missing-output": "missing"}
    found |= {names.get(f.code, f.code.removeprefix("protocol.")) for f in report.findings}
    if any(c.verdict is not Verdict.PROVED for c in report.correctness):
        found.add("output")
    return found


@pytest.mark.parametrize("name", sorted(LIBRARY))
def test_proved(name: str) -> None:
    report = prove_protocol(LIBRARY[name])
    assert reasons(report) == set()
    assert report.verdict is Verdict.PROVED


@pytest.mark.parametrize(("name", "what", "fault", "why"), BROKEN, ids=[f"{n}: {w}" for n, w, _, _ in BROKEN])
def test_broken(name: str, what: str, fault: Fault, why: str) -> None:
    broken = fault(LIBRARY[name])
    assert broken != LIBRARY[name]
    report = prove_protocol(broken)
    assert report.verdict is not Verdict.PROVED
    assert why in reasons(report)


def test_every_protocol_has_eight_broken_copies() -> None:
    assert set(FAULTS) == set(LIBRARY)
    assert all(len(rows) >= 8 for rows in FAULTS.values())


def test_most_leaks_come_with_a_distinguisher() -> None:
    leaking = [(name, what, fault) for name, what, fault, why in BROKEN if why.startswith("view:")]
    shown = [_shows_leak(fault(LIBRARY[name])) for name, _, fault in leaking]
    assert sum(shown) >= 0.85 * len(shown)


def _shows_leak(protocol: ir.Protocol) -> bool:
    return any(v.leak is not None for v in prove_protocol(protocol).views)
