"""A plan under a policy, proved: what every coalition sees of the whole, from the texts of its components.

In: a plan's view. Out: obligations, each proved or with what is missing. The steps are the ones of the verifier's
design: knowledge and flow by owners (while composing), every protocol by itself, the views of every coalition, statistical
distances, assumptions, and the pattern of who sends how much to whom.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from math import comb

import msgspec

from pllm_lang.catalog.expr import NOWHERE, Origin
from pllm_lang.catalog.records import Policy
from pllm_lang.ir import protocol as p
from pllm_lang.ir.experiment import Experiment
from pllm_lang.ir.plan import Node, Repeat
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.flow import Flow
from pllm_lang.verify.narrations.composing import WALKED, Composed, compose
from pllm_lang.verify.narrations.distances import distance_of, judge_distance
from pllm_lang.verify.narrations.gaps import Gaps
from pllm_lang.verify.narrations.material import runs_of
from pllm_lang.verify.narrations.rounded_states import learnt_of_rounded
from pllm_lang.verify.narrations.stopping import takes_part
from pllm_lang.verify.narrations.strangers import no_strangers
from pllm_lang.verify.narrations.told import HELP, UNFINISHED, line_of, used_twice
from pllm_lang.verify.narrations.under_way import IDEAL, RESERVED, TooManyInstancesError
from pllm_lang.verify.narrations.uniform import not_uniform
from pllm_lang.verify.narrations.views import judge_view, view_of
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.protocol.prove import prove_protocol
from pllm_lang.verify.view import PlanView


class Proof(msgspec.Struct, frozen=True):
    """`composed` are the stages as far as they could be built; `distances` are statistical ones, by coalition and stage."""

    obligations: tuple[Obligation, ...]
    composed: tuple[Composed, ...]
    distances: tuple[tuple[frozenset[str], tuple[Fraction, ...]], ...] = ()


MAX_COALITIONS = 512
"""Sets of parties whose views one check proves."""


FOLDED_FROM = 120
"""Steps of a stage, repeats unrolled, from which equal turns are proved once."""


def prove_plan(view: PlanView, policy: Policy, flow: Flow) -> Proof:
    """A long plan is proved with its repeats folded if that is enough; else every turn is looked at."""
    bodies = [stage.body for stage in view.plan.stages]
    if all(_turned(body) <= FOLDED_FROM for body in bodies) or not any(map(_folds, bodies)):
        return _prove(view, policy, flow, folding=False)
    folded = _prove(view, policy, flow, folding=True)
    if _holds(folded):
        return folded
    proof = _prove(view, policy, flow, folding=False)
    return proof if proof.composed else _with_gaps(proof, folded)


def _with_gaps(stopped: Proof, folded: Proof) -> Proof:
    """A proof that was too long, with what was found to be missing before."""
    found = [o for o in folded.obligations if o.verdict is not Verdict.PROVED and o.code != "placement.leak"]
    known = {o.code for o in stopped.obligations}
    return msgspec.structs.replace(
        stopped, obligations=(*(o for o in found if o.code not in known), *stopped.obligations)
    )


def _turned(body: tuple[Node, ...]) -> int:
    """Steps of a body, every turn counted."""
    return sum(
        (node.high - node.low) * _turned(node.body) if isinstance(node, Repeat) else 1 for node in body
    )


def _folds(body: tuple[Node, ...]) -> bool:
    """Whether a repeat of the body has turns that others stand for."""
    repeats = [node for node in body if isinstance(node, Repeat)]
    return any(repeat.high - repeat.low > WALKED or _folds(repeat.body) for repeat in repeats)


def _holds(proof: Proof) -> bool:
    """Whether everything is proved, of a composition whose folded turns stand for the others."""
    if any(o.verdict is not Verdict.PROVED for o in proof.obligations):
        return False
    return not any(stage.unlike or (stage.folds and _rests_on_shares(stage)) for stage in proof.composed)


def _rests_on_shares(stage: Composed) -> bool:
    """Whether a step is right for uniform shares only, which is followed back through every turn."""
    return any(
        result.rests_on
        for instance in stage.whole.instances
        if any(isinstance(given.holding, p.Shared) for given in instance.protocol.inputs)
        for result in prove_protocol(instance.protocol, ()).correctness
    )


def _prove(view: PlanView, policy: Policy, flow: Flow, *, folding: bool) -> Proof:
    gaps = Gaps()
    if (
        sum(comb(len(r.among), size) for r in policy.adversaries for size in range(1, r.count + 1))
        > MAX_COALITIONS
    ):
        text = f"`{policy.name}` lets an adversary corrupt more than {MAX_COALITIONS} sets of parties; a check proves no more views"
        gaps.leave("placement.not_checked", -1, text, "let it corrupt fewer parties, or among fewer")
        return Proof(tuple(gaps.found.values()), ())
    if not no_strangers(view.plan, policy, gaps):
        return Proof(tuple(gaps.found.values()), ())
    try:
        stages = tuple(compose(view, policy, flow, gaps, folding=folding))
    except TooManyInstancesError:
        text = "the plan has more steps in a stage than views are proved of"
        gaps.leave("placement.not_checked", -1, text, "split the plan")
        return Proof(tuple(gaps.found.values()), ())
    _adversaries(view, policy, stages, gaps)
    _given_away(view, policy, stages, gaps)
    for stage in stages:
        _protocols(stage, gaps)
        for made, value in not_uniform(stage):
            text = f"it is right for uniform shares only, and those of `{value}` are not shown to be uniform"
            help_ = (
                "share or multiply the value with fresh draws first, or cut it with an interactive protocol"
            )
            gaps.leave("protocol.wrong_result", made.subject, text, help_, "using")
    whole = all(o.verdict is Verdict.PROVED for o in gaps.found.values())
    if whole and any(stage.incomplete for stage in stages):
        whole = False
        if all(o.verdict is Verdict.PROVED for o in flow.obligations):
            text = "a step of the plan could not be followed, so views are not proved"
            gaps.leave("placement.not_checked", -1, text, "look at what is reported before")
    distances: list[tuple[frozenset[str], tuple[Fraction, ...]]] = []
    for coalition in coalitions(policy):
        views = [view_of(stage, coalition) for stage in stages]
        for stage, seen in zip(stages, views, strict=True):
            judge_view(stage, seen, whole, gaps)
        proved = whole and all(seen.verdict is Verdict.PROVED for seen in views)
        proved = not _rounded_before(stages, coalition, gaps) and proved
        if proved:
            row = tuple(distance_of(stage, seen) for stage, seen in zip(stages, views, strict=True))
            distances.append((coalition, row))
            found = judge_distance(coalition, sum(row, Fraction(0)), "one run of the plan", policy, stages)
            if found is not None:
                gaps.add(found)
    _assumptions(policy, stages, gaps)
    _pattern(view, policy, stages, gaps)
    for code in ("placement.knowledge", "placement.learns") if whole else ():
        gaps.add(Obligation(code, Verdict.PROVED, -1, evidence=("every value by its holders and owners",)))
    return Proof(tuple(gaps.found.values()), stages, tuple(distances))


def coalitions(policy: Policy) -> list[frozenset[str]]:
    """Every set of parties that an adversary of the policy may corrupt."""
    found: dict[frozenset[str], None] = {}
    for rule in policy.adversaries:
        for size in range(1, rule.count + 1):
            found |= dict.fromkeys(map(frozenset, combinations(rule.among, size)))
    return list(found)


def _given_away(view: PlanView, policy: Policy, stages: tuple[Composed, ...], gaps: Gaps) -> None:
    """An input that its owner hands out in pieces, all of them to one coalition. In a plan of one stage the sharing is looked at
    as a step; what all stages begin with lies in pieces before the first."""
    first, *later = stages or (None,)
    for given in view.plan.inputs if later else ():
        held = None if first is None else first.held.get(given.value)
        if held is None or held.broken or not given.owner or not isinstance(held.holding, p.Shared):
            continue
        name = view.value_names.get(f"%v{given.value}", held.name)
        for coalition in coalitions(policy):
            told = {word for q in coalition for word in policy.learns.get(q, ())} - RESERVED
            knows = given.owner in coalition or name in told
            if knows or not all(coalition & {*piece.holders} for piece in held.holding.pieces):
                continue
            who = " and ".join(f"`{party}`" for party in sorted(coalition))
            text = f"{who} together have every piece of `{name}`, which is `{given.owner}`'s"
            help_ = "share it between parties that do not collude, or let the policy say who learns it"
            gaps.refuse("placement.leak", given.value, text, help_)


def _rounded_before(stages: tuple[Composed, ...], coalition: frozenset[str], gaps: Gaps) -> bool:
    """Whether the coalition gets a value that shows, from stage to stage, how a result was rounded."""
    who = " and ".join(f"`{party}`" for party in sorted(coalition))
    found = list(learnt_of_rounded(stages, coalition))
    for stage, name in found:
        subject = next((value for value, held in stage.held.items() if held.name == name), -1)
        text = f"{who} gets `{name}`, which is made from a state that a rounded result goes into"
        help_ = "write a result to the state that does not round, or keep what is made from it to itself"
        gaps.leave("placement.leak", subject, text, help_, "using")
    return bool(found)


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
                line_of(found.origins, made.origins),
            )
        for origin, text in used_twice(instance.protocol):
            _add(
                gaps,
                "material.used_twice",
                Verdict.REFUTED,
                made.subject,
                text,
                "",
                line_of((origin,), made.origins),
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
                line_of(result.origins, made.origins),
            )


def _add(
    gaps: Gaps, code: str, verdict: Verdict, subject: int, message: str, help_: str, clause: Origin = NOWHERE
) -> None:
    gaps.add(Obligation(code, verdict, subject, message, "using", clause=clause, help=help_))


# ---- adversaries and assumptions ----
def _adversaries(view: PlanView, policy: Policy, stages: tuple[Composed, ...], gaps: Gaps) -> None:
    """Against anybody stronger than semi-honest a proof of views is not enough: the record has to declare that the
    component is secure there, and the policy to require the claim `<kind>-security`, which assurance records meet."""
    if not any(rule.count for rule in policy.adversaries):
        text = f"`{policy.name}` names no adversary that corrupts anybody, so nothing is proved of what anybody sees"
        gaps.leave(
            "placement.adversary", -1, text, "write `adversary semi_honest corrupts 1 of [...]`", "plan"
        )
    stronger = sorted({rule.kind for rule in policy.adversaries} - {"semi_honest"})
    used = {made.key: made.subject for stage in stages for made in stage.made if made.key}
    for kind in stronger:
        claim = f"{kind}-security"
        for key, subject in used.items():
            component = view.library.component(key)
            if component is None:
                continue
            if kind not in component.adversaries:
                good = ", ".join(component.adversaries) or "nobody in particular"
                text = f"`{component.name}` is secure against {good}, and the policy's adversary is {kind}"
                help_ = f"choose a component made for {kind} parties"
                gaps.refuse("placement.adversary", subject, text, help_, "using")
            elif not any(rule.claim == claim and rule.outcomes for rule in policy.claims):
                text = f"that `{component.name}` is secure against {kind} parties rests on its record alone"
                help_ = f'write `requires claim "{claim}" outcomes [...]` in the policy, and the assurance record of it'
                gaps.leave("placement.adversary", subject, text, help_, "using")
            else:
                told = f"security of `{component.name}` against {kind} parties, by its assurance record"
                gaps.add(
                    Obligation("placement.adversary", Verdict.PROVED, subject, part=told, assumed=(told,))
                )


def _assumptions(policy: Policy, stages: tuple[Composed, ...], gaps: Gaps) -> None:
    """Primitives of the protocols used: named, and at the policy's security level."""
    asked = int(policy.security.get("computational", 0))
    stronger = sorted({rule.kind for rule in policy.adversaries} - {"semi_honest"})
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
                if stronger and one.name != "prf" and one.adversary == "semi_honest":
                    plain, name = one.name.removeprefix(IDEAL), instance.protocol.name
                    text = f"`{name}` rests on `{plain}`, assumed for semi-honest parties, and the adversary is {stronger[0]}"
                    help_ = f"choose a primitive that is assumed against {stronger[0]} parties"
                    gaps.refuse("placement.assumption", made.subject, text, help_, "using")
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
    """Who takes part learns sizes, which stages run and when they stop, unless the plan is driven by its inputs alone:
    where two parties bring some, each learns how long the other's are."""
    given = (*view.plan.inputs, *(one for stage in view.plan.stages for one in stage.inputs))
    owners = {one.owner for one in given} - {""}
    asked = ["lengths"]
    if len(view.plan.stages) > 1:
        asked += ["stages", "stop"]
    for party in policy.parties:
        subject = next((s for stage in stages if (s := takes_part(stage, party)) is not None), None)
        if subject is None or owners == {party}:
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


def over_the_budget(proof: Proof, experiment: Experiment, policy: Policy) -> Iterator[Obligation]:
    """Distances of all runs that an experiment's budget allows."""
    runs = [runs_of(place, len(proof.composed), experiment) for place in range(len(proof.composed))]
    for coalition, row in proof.distances:
        total = sum((one * times for one, times in zip(row, runs, strict=True)), Fraction(0))
        found = judge_distance(coalition, min(total, Fraction(1)), "the budget", policy, proof.composed)
        if found is not None:
            yield found
