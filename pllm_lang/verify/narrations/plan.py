"""A plan under a policy, proved: what every coalition sees of the whole, from the texts of its components.

In: a plan's view. Out: obligations, each proved or with what is missing. The steps are the ones of the verifier's
design: knowledge and flow by owners (while composing), every protocol by itself, the views of every coalition, statistical
distances, assumptions, and the pattern of who sends how much to whom.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

import msgspec

from pllm_lang.catalog.expr import NOWHERE, Origin
from pllm_lang.catalog.records import Policy
from pllm_lang.ir import protocol as p
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.flow import Flow
from pllm_lang.verify.narrations.composing import Composed, compose
from pllm_lang.verify.narrations.gaps import Gaps
from pllm_lang.verify.narrations.steps import IDEAL
from pllm_lang.verify.narrations.told import HELP, UNFINISHED, leak_data, leak_message, leak_notes, used_twice
from pllm_lang.verify.narrations.under_way import Made, TooManyInstancesError
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.protocol.compose import BY_PARTS, inlined, prove_by_parts, prove_composed_view
from pllm_lang.verify.protocol.narration import narrate
from pllm_lang.verify.protocol.polynomial import TooLarge
from pllm_lang.verify.protocol.prove import prove_protocol
from pllm_lang.verify.protocol.report import Statistical, View
from pllm_lang.verify.protocol.sizes import Sizes
from pllm_lang.verify.view import PlanView

MAX_INLINED = 120
"""Instances of a composition that is looked at as one text; a longer one has to be proved by its parts."""

STATISTICAL = 40
"""Bits of statistical security where a policy says none."""


LEAK_HELP = (
    "bind the roles to parties that do not collude, use material once, or let the policy say what is learnt"
)


class Proof(msgspec.Struct, frozen=True):
    """`composed` are the stages as far as they could be built."""

    obligations: tuple[Obligation, ...]
    composed: tuple[Composed, ...]


def prove_plan(view: PlanView, policy: Policy, flow: Flow) -> Proof:
    gaps = Gaps()
    try:
        stages = tuple(compose(view, policy, flow, gaps))
    except TooManyInstancesError:
        text = "the plan has more steps in a stage than views are proved of"
        gaps.leave("placement.not_checked", -1, text, "split the plan")
        return Proof(tuple(gaps.found.values()), ())
    _adversaries(view, policy, stages, gaps)
    for stage in stages:
        _protocols(stage, gaps)
    whole = all(o.verdict is Verdict.PROVED for o in gaps.found.values())
    if whole and any(stage.incomplete for stage in stages):
        whole = False
        if all(o.verdict is Verdict.PROVED for o in flow.obligations):
            text = "a step of the plan could not be followed, so views are not proved"
            gaps.leave("placement.not_checked", -1, text, "look at what is reported before")
    for stage in stages:
        for coalition in coalitions(policy):
            _view(stage, coalition, policy, whole, gaps)
    _assumptions(policy, stages, gaps)
    _pattern(view, policy, stages, gaps)
    for code in ("placement.knowledge", "placement.learns") if whole else ():
        gaps.add(Obligation(code, Verdict.PROVED, -1, evidence=("every value by its holders and owners",)))
    return Proof(tuple(gaps.found.values()), stages)


def coalitions(policy: Policy) -> list[frozenset[str]]:
    """Every set of parties that an adversary of the policy may corrupt."""
    found: dict[frozenset[str], None] = {}
    for rule in policy.adversaries:
        for size in range(1, rule.count + 1):
            found |= dict.fromkeys(map(frozenset, combinations(rule.among, size)))
    return list(found)


# ---- every protocol by itself ----
def _protocols(stage: Composed, gaps: Gaps) -> None:
    """Knowledge, results and endings of each distinct protocol, reported at the first step that uses it."""
    seen: set[p.Protocol] = set()
    for instance, made in zip(stage.whole.instances, stage.made, strict=True):
        if not made.key or instance.protocol in seen:
            continue
        seen.add(instance.protocol)
        report = prove_protocol(instance.protocol, ())
        unfinished = any(found.code in UNFINISHED for found in report.findings)
        for found in report.findings:
            code = found.code.replace("-", "_")
            _add(
                gaps,
                code,
                found.verdict,
                made.subject,
                found.message,
                HELP.get(code, ""),
                _place(found.origins, made.origins),
            )
        for origin, text in used_twice(instance.protocol):
            _add(
                gaps,
                "material.used_twice",
                Verdict.REFUTED,
                made.subject,
                text,
                "",
                _place((origin,), made.origins),
            )
        for result in report.correctness:
            if result.verdict is Verdict.UNPROVED and unfinished:
                continue
            text = f"`{result.output}` of `{instance.protocol.name}` is not shown to be what the operator means: {result.how}"
            _add(
                gaps,
                "protocol.wrong_result",
                result.verdict,
                made.subject,
                text,
                "",
                _place(result.origins, made.origins),
            )


def _add(
    gaps: Gaps, code: str, verdict: Verdict, subject: int, message: str, help_: str, clause: Origin = NOWHERE
) -> None:
    gaps.add(Obligation(code, verdict, subject, message, "using", clause=clause, help=help_))


def _place(places: tuple[int, ...], origins: tuple[Origin, ...]) -> Origin:
    return next((origins[i] for i in places if 0 <= i < len(origins)), NOWHERE)


# ---- views ----
def _view(stage: Composed, coalition: frozenset[str], policy: Policy, whole: bool, gaps: Gaps) -> None:
    """`whole` says that the composition is all of the plan; a proof about less proves nothing."""
    view = view_of(stage, coalition)
    who = " and ".join(f"`{party}`" for party in sorted(coalition))
    if view.verdict is Verdict.PROVED:
        if whole:
            evidence = (f"{who}: {view.reason or 'the stage as one text'}",)
            gaps.add(
                Obligation(
                    "placement.leak", Verdict.PROVED, -1, part=f"{stage.stage} {who}", evidence=evidence
                )
            )
            _distance(stage, coalition, view, policy, who, gaps)
        return
    if len(stage.whole.instances) > MAX_INLINED:
        _at_fault(stage, coalition, who, gaps)
    elif view.verdict is Verdict.REFUTED or whole:
        gaps.add(_leak(stage, view))


def _at_fault(stage: Composed, coalition: frozenset[str], who: str, gaps: Gaps) -> None:
    """In a long stage: the protocols that have no proof of their own for the coalition's roles."""
    seen: set[tuple[p.Protocol, tuple[str, ...]]] = set()
    found = False
    for instance, made in zip(stage.whole.instances, stage.made, strict=True):
        roles = tuple(sorted(role for role, party in instance.roles if party in coalition))
        if not made.key or (instance.protocol, roles) in seen:
            continue
        seen.add((instance.protocol, roles))
        view = prove_protocol(instance.protocol, (roles,)).views[0]
        if view.verdict is not Verdict.PROVED or not _exact(instance.protocol):
            found = True
            why = leak_message(view) if view.verdict is not Verdict.PROVED else "its result rounds"
            gaps.leave(
                "placement.leak",
                made.subject,
                f"what {who} sees is not proved here: {why}",
                LEAK_HELP,
                "using",
            )
    if not found:
        where = f"the stage `{stage.stage}`" if stage.stage else "the plan"
        text = f"what {who} sees over {where} is not proved: shares that are opened may not be fresh"
        gaps.leave("placement.leak", -1, text, LEAK_HELP, f"{stage.stage} {who}")


def view_of(stage: Composed, coalition: frozenset[str]) -> View:
    """How the view of a coalition over a stage ended."""
    members = tuple(sorted(coalition))
    if stage.shared_state >= 0 and not all(map(_exact, {i.protocol for i in stage.whole.instances})):
        text = "a shared state is read and written beside results that round, which no proof covers"
        return View(members, Verdict.UNPROVED, reason=text)
    short = len(stage.whole.instances) <= MAX_INLINED
    view = (prove_composed_view if short else prove_by_parts)(stage.whole, coalition)
    if view.verdict is Verdict.PROVED and view.reason != BY_PARTS and not _sound_text(stage):
        return View(members, Verdict.UNPROVED, reason="the stage as one text has a line that cannot be run")
    return view


def _exact(protocol: p.Protocol) -> bool:
    return not any(o.scale_bits or o.error for o in protocol.outputs)


def _sound_text(stage: Composed) -> bool:
    try:
        return not narrate(inlined(stage.whole), Sizes()).findings
    except TooLarge:
        return False


def _leak(stage: Composed, view: View) -> Obligation:
    """At the step whose message comes last; messages are named by their steps."""
    leak = view.leak
    text = leak.combination if leak is not None else " ".join(view.stuck[:1])
    numbers = [int(n) for n, _ in _MESSAGE.findall(text)]
    last = max((n for n in numbers if n < len(stage.made)), default=-1)
    made = stage.made[last] if last >= 0 else None
    names = {name for n, name in _MESSAGE.findall(text) if int(n) == last}
    notes = tuple(_named(note, stage) for note in leak_notes(view))
    data = leak_data(view)
    return Obligation(
        "placement.leak",
        view.verdict,
        made.subject if made is not None else -1,
        _named(leak_message(view), stage),
        "using",
        term=_named(data.get("term", ""), stage),
        clause=_line(stage, last, names) if made is not None else NOWHERE,
        reason="sent by this line",
        witness=(_named(data["witness"], stage),) if "witness" in data else (),
        notes=(*notes, *_others(stage, numbers, last)),
        help=LEAK_HELP,
    )


_MESSAGE = re.compile(r"\b(\d+):(\w+(?:\.\w+)?)")
_PREFIX = re.compile(r"\b(\d+):")


def _named(text: str, stage: Composed) -> str:
    """Names of the inlined text (`3:u`) as those of the plan (`gate.u`)."""

    def of_step(found: re.Match[str]) -> str:
        number = int(found[1])
        outputs = stage.whole.instances[number].outputs if number < len(stage.whole.instances) else ()
        return f"{outputs[0][1]}." if outputs else found[0]

    return _PREFIX.sub(of_step, text)


def _line(stage: Composed, number: int, names: set[str]) -> Origin:
    """Where one of these messages of an instance is written."""
    body = stage.whole.instances[number].protocol.body
    sends = tuple(st.origin for st in body if isinstance(st, p.Send) and st.name in names)
    return _place(sends[-1:], stage.made[number].origins)


def _others(stage: Composed, numbers: list[int], last: int) -> Iterator[str]:
    for number in sorted(set(numbers) - {last}):
        if number < len(stage.whole.instances):
            instance = stage.whole.instances[number]
            yield f"with messages of `{instance.protocol.name}` at `{instance.outputs[0][1]}`"


# ---- statistical distance ----
def _distance(
    stage: Composed, coalition: frozenset[str], view: View, policy: Policy, who: str, gaps: Gaps
) -> None:
    """The distances of all integer masks that this coalition sees, added up."""
    total, subject, unknown = Fraction(0), _first_mask(stage), False
    for one, made in _masks(stage, coalition, view):
        subject = made.subject if made is not None else subject
        unknown |= not one.entries.isdigit()
        total += Fraction(int(one.entries) if one.entries.isdigit() else 1, 2**one.exponent)
    asked = int(policy.security.get("statistical", STATISTICAL))
    if not total:
        return
    bits = _bits(total)
    if not unknown and total <= Fraction(1, 2**asked):
        evidence = (f"{who}: at most 2^-{bits} over the stage",)
        gaps.add(
            Obligation(
                "placement.distance", Verdict.PROVED, -1, part=f"{stage.stage} {who}", evidence=evidence
            )
        )
        return
    gaps.add(
        Obligation(
            "placement.distance",
            Verdict.REFUTED,
            subject,
            f"the masks that {who} sees through hide only up to 2^-{bits} over the stage, and the policy asks 2^-{asked}",
            "using",
            value=str(bits),
            limit=str(asked),
            help="take wider masks, a smaller range, or fewer rows in one stage",
        )
    )


def _masks(
    stage: Composed, coalition: frozenset[str], view: View
) -> Iterator[tuple[Statistical, Made | None]]:
    if view.reason != BY_PARTS:
        yield from ((one, None) for one in view.statistical)
        return
    for instance, made in zip(stage.whole.instances, stage.made, strict=True):
        roles = tuple(sorted(role for role, party in instance.roles if party in coalition))
        yield from ((one, made) for one in _own_distances(instance.protocol, roles))


def _first_mask(stage: Composed) -> int:
    """The value of the first step whose protocol draws over the integers."""
    pairs = zip(stage.whole.instances, stage.made, strict=True)
    return next((made.subject for instance, made in pairs if _draws_integers(instance.protocol)), -1)


def _draws_integers(protocol: p.Protocol) -> bool:
    return any(isinstance(st, p.Draw) and isinstance(st.type.number, p.Integer) for st in protocol.body)


def _own_distances(protocol: p.Protocol, roles: tuple[str, ...]) -> tuple[Statistical, ...]:
    if not roles or not _draws_integers(protocol):
        return ()
    return prove_protocol(protocol, (roles,)).views[0].statistical


def _bits(total: Fraction) -> int:
    """The largest e with total <= 2^-e (0 where there is none)."""
    bits = 0
    while total * 2 ** (bits + 1) <= 1:
        bits += 1
    return bits


# ---- adversaries and assumptions ----
def _adversaries(view: PlanView, policy: Policy, stages: tuple[Composed, ...], gaps: Gaps) -> None:
    """Against anybody stronger than semi-honest a proof of views is not enough."""
    stronger = sorted({rule.kind for rule in policy.adversaries} - {"semi_honest"})
    used = {made.key: made.subject for stage in stages for made in stage.made if made.key}
    for kind in stronger:
        for key, subject in used.items():
            component = view.library.component(key)
            if component is None:
                continue
            if kind not in component.adversaries:
                good = ", ".join(component.adversaries) or "nobody in particular"
                text = f"`{component.name}` is secure against {good}, and the policy's adversary is {kind}"
                gaps.refuse(
                    "placement.adversary",
                    subject,
                    text,
                    f"choose a component made for {kind} parties",
                    "using",
                )
            else:
                text = f"that `{component.name}` is secure against {kind} parties rests on its record alone"
                help_ = "views are proved for semi-honest parties; nothing here proves more"
                gaps.leave("placement.adversary", subject, text, help_, "using")


def _assumptions(policy: Policy, stages: tuple[Composed, ...], gaps: Gaps) -> None:
    """Primitives of the protocols used: named, and at the policy's security level."""
    asked = int(policy.security.get("computational", 0))
    seen: set[tuple[str, p.Protocol]] = set()
    for stage in stages:
        for told in stage.assumed:
            gaps.add(Obligation("placement.assumption", Verdict.PROVED, -1, part=told, assumed=(told,)))
        for instance, made in zip(stage.whole.instances, stage.made, strict=True):
            if not made.key or (made.key, instance.protocol) in seen:
                continue
            seen.add((made.key, instance.protocol))
            report = prove_protocol(instance.protocol, ())
            for result in report.correctness:
                for reason in result.rests_on:
                    told = f"{reason} (`{instance.protocol.name}`)"
                    gaps.add(
                        Obligation("placement.assumption", Verdict.PROVED, -1, part=told, assumed=(told,))
                    )
            for one in report.assumptions:
                _assumption(one, made.subject, instance.protocol.name, asked, gaps)


def _assumption(one: p.Assumption, subject: int, name: str, asked: int, gaps: Gaps) -> None:
    plain = one.name.removeprefix(IDEAL)
    if one.security and one.security < asked:
        text = (
            f"`{name}` rests on `{plain}` with {one.security} bits of security, and the policy asks {asked}"
        )
        gaps.refuse(
            "placement.assumption",
            subject,
            text,
            "choose a primitive of the level that the policy asks",
            "using",
        )
        return
    told = f"the security of {plain}, {one.security} bits" if one.security else f"the security of {plain}"
    gaps.add(Obligation("placement.assumption", Verdict.PROVED, -1, part=told, assumed=(told,)))


# ---- pattern ----
def _pattern(view: PlanView, policy: Policy, stages: tuple[Composed, ...], gaps: Gaps) -> None:
    """Who takes part learns sizes, which stages run and when they stop, unless it drives the plan by its own input."""
    drivers = {given.owner for given in view.plan.inputs} | {
        g.owner for s in view.plan.stages for g in s.inputs
    }
    asked = ["lengths"]
    if len(view.plan.stages) > 1:
        asked += ["stages", "stop"]
    for party in policy.parties:
        subject = next((s for stage in stages if (s := _takes_part(stage, party)) is not None), None)
        if subject is None or party in drivers:
            continue
        missing = [word for word in asked if word not in policy.learns.get(party, ())]
        if missing:
            what = " and ".join(_PATTERNS[word] for word in missing)
            text = f"`{party}` takes part here, so it learns {what}, and `{policy.name}` does not let it"
            gaps.refuse(
                "placement.pattern",
                subject,
                text,
                f"write `learns {party}: [{', '.join(missing)}]` in the policy",
                "using",
            )


_PATTERNS = {
    "lengths": "how long the values are",
    "stages": "which stages run",
    "stop": "when the last one ended",
}


def _takes_part(stage: Composed, party: str) -> int | None:
    """The first value made by a protocol in which the party has a role beside others."""
    for instance, made in zip(stage.whole.instances, stage.made, strict=True):
        parties = {q for _, q in instance.roles}
        if made.key and party in parties and len(parties) > 1:
            return made.subject
    return None
