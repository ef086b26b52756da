"""The entry: one protocol, everything that can be said about it.

In: a lowered protocol, the coalitions to look at, and what each party may learn beyond the outputs. Out: a
`ProtocolReport` with findings, correctness, a view per coalition, cost, and the assumptions of it all. The
result for one (protocol, coalitions, allowed) is kept, so a plan pays for each distinct protocol once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

import msgspec

from pllm_lang.ir import protocol as ir
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.protocol import tensors as tn
from pllm_lang.verify.protocol.correctness import check_outputs
from pllm_lang.verify.protocol.cost import cost_of, patterns_of
from pllm_lang.verify.protocol.evaluate import Misfit
from pllm_lang.verify.protocol.forms import unknown_parties
from pllm_lang.verify.protocol.leak import refute_outputs
from pllm_lang.verify.protocol.narration import narrate
from pllm_lang.verify.protocol.polynomial import TooLarge
from pllm_lang.verify.protocol.problem import meaning_of
from pllm_lang.verify.protocol.report import Cost, Finding, ProtocolReport, View
from pllm_lang.verify.protocol.sizes import Sizes
from pllm_lang.verify.protocol.trace import Trace
from pllm_lang.verify.protocol.views import prove_view

Adversary = Literal["semi_honest", "malicious"]
Allowances: TypeAlias = tuple[tuple[str, tuple[ir.Expr, ...]], ...]


def prove_protocol(
    protocol: ir.Protocol,
    coalitions: Iterable[Iterable[str]] | None = None,
    allowed: Mapping[str, Sequence[ir.Expr]] | None = None,
    adversary: Adversary = "semi_honest",
    assured: bool = False,
) -> ProtocolReport:
    """Prove or refute everything about a protocol.

    `coalitions`: sets of corrupted parties (default: every single party that is not ideal). `allowed[party]`:
    expressions over the inputs' values that the party may learn, besides the outputs it is given. `assured`:
    an accepted assurance record stands behind what the component declares against malicious parties.
    """
    parties = [p.name for p in protocol.parties if p.ideal is None]
    chosen = [[p] for p in parties] if coalitions is None else coalitions
    sets = tuple(tuple(sorted(set(c))) for c in chosen)
    extra = tuple(sorted((p, tuple(exprs)) for p, exprs in (allowed or {}).items()))
    return _prove(protocol, sets, extra, adversary == "malicious", assured)


@lru_cache(maxsize=4096)
def _prove(
    protocol: ir.Protocol,
    coalitions: tuple[tuple[str, ...], ...],
    allowed: Allowances,
    malicious: bool,
    assured: bool,
) -> ProtocolReport:
    strangers = unknown_parties(protocol)
    if strangers:
        return _stopped(protocol, "protocol.unknown-party", f"no party {strangers[0]}", Verdict.REFUTED)
    try:
        trace = narrate(protocol, Sizes())
        _meanings(trace, allowed)
    except TooLarge as limit:
        return _stopped(protocol, "protocol.limit", str(limit), Verdict.UNPROVED)
    except (Misfit, KeyError) as misfit:
        return _stopped(protocol, "protocol.meaning", f"a meaning does not fit: {misfit}", Verdict.REFUTED)
    correctness = refute_outputs(protocol, check_outputs(trace))
    views = [_view(trace, c, allowed, malicious, assured) for c in coalitions]
    findings = [*trace.findings, *_aborts(trace), *_open_sharings(protocol)]
    verdict = worst(
        [f.verdict for f in findings] + [c.verdict for c in correctness] + [v.verdict for v in views]
    )
    assumptions = tuple(sorted(trace.assumptions, key=lambda a: a.name))
    return ProtocolReport(
        protocol.name,
        verdict,
        tuple(findings),
        tuple(correctness),
        tuple(views),
        cost_of(trace),
        patterns_of(trace),
        assumptions,
    )


def _view(
    trace: Trace, coalition: tuple[str, ...], allowed: Allowances, malicious: bool, assured: bool
) -> View:
    unknown = [p for p in coalition if p not in {q.name for q in trace.protocol.parties}]
    if unknown:
        return View(coalition, Verdict.UNPROVED, reason=f"no party {unknown[0]} in {trace.protocol.name}")
    if any(p.ideal is not None for p in trace.protocol.parties if p.name in coalition):
        return View(coalition, Verdict.UNPROVED, reason="a primitive cannot be corrupted")
    declared = trace.protocol.adversary == "malicious"
    if malicious and not (declared and assured):
        missing = (
            "the component declares no security" if not declared else "no assurance record stands behind it"
        )
        text = f"the rule is for semi-honest parties; against malicious ones {missing}"
        return View(coalition, Verdict.UNPROVED, reason=text)
    extra = [e for p, exprs in allowed if p in coalition for e in exprs]
    view = prove_view(trace, frozenset(coalition), extra)
    if malicious:
        text = "semi-honest by proof; against malicious parties by declaration and assurance record"
        return msgspec.structs.replace(view, reason=view.reason or text)
    return view


def _aborts(trace: Trace) -> list[Finding]:
    """A check that does not hold by itself in an honest run says something about its operands."""
    out: list[Finding] = []
    for check, value in trace.checks:
        if any(p.terms for p in tn.parts_of(value)):
            text = f"{check.party} may abort in an honest run: the checked value is not 0 as a polynomial"
            out.append(Finding("protocol.abort", text, (check.origin,), Verdict.UNPROVED))
    return out


def _open_sharings(protocol: ir.Protocol) -> list[Finding]:
    """A sharing all of whose pieces one party holds is no sharing, whatever the views say."""
    out: list[Finding] = []
    for thing in (*protocol.inputs, *protocol.outputs):
        if not isinstance(thing.holding, ir.Shared):
            continue
        for party in [p.name for p in protocol.parties if p.ideal is None]:
            if all(party in piece.holders for piece in thing.holding.pieces):
                text = f"{party} holds every piece of {thing.name}: it is not shared"
                out.append(Finding("protocol.open-sharing", text, (thing.origin,)))
    return out


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    if Verdict.REFUTED in verdicts:
        return Verdict.REFUTED
    return Verdict.UNPROVED if Verdict.UNPROVED in verdicts else Verdict.PROVED


def _meanings(trace: Trace, allowed: Allowances) -> None:
    """Evaluate every meaning and allowance once, so that one that does not fit is found here."""
    exprs = [o.meaning for o in trace.protocol.outputs if o.meaning is not None]
    for expr in [*exprs, *(e for _, given in allowed for e in given)]:
        meaning_of(trace, trace.copies[0].values, expr)


def _stopped(protocol: ir.Protocol, code: str, text: str, verdict: Verdict) -> ProtocolReport:
    """A report that says why nothing else could be said."""
    finding = Finding(code, text, (), verdict)
    return ProtocolReport(protocol.name, verdict, (finding,), (), (), Cost((), (), ()), (), ())
