"""Statistical distances of the integer masks that a coalition sees, added up over steps, stages and executions.

An opening behind `uniform_int(bits)` is at most 2^(range - bits) an entry away from one that says nothing. Distances add
up; the sum is compared with the policy's statistical security.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from pllm_lang.catalog.policies import UNSTATED
from pllm_lang.catalog.records import Policy
from pllm_lang.ir import protocol as p
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.narrations.composing import Composed
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.protocol.compose import BY_PARTS
from pllm_lang.verify.protocol.prove import prove_protocol
from pllm_lang.verify.protocol.report import Statistical, View


def distance_of(stage: Composed, view: View) -> Fraction:
    """The distance of one run of a stage to a view that says nothing, at most; 1 where it is not known."""
    total = Fraction(0)
    for one, times in _masks(stage, view):
        total += Fraction(int(one.entries), 2**one.exponent) * times if one.entries.isdigit() else 1
    return min(total, Fraction(1))


def _masks(stage: Composed, view: View) -> Iterator[tuple[Statistical, int]]:
    """Each with how often it is seen in one run of the stage."""
    if view.reason != BY_PARTS:
        yield from ((one, 1) for one in view.statistical)
        return
    for instance, made in zip(stage.whole.instances, stage.made, strict=True):
        roles = tuple(sorted(role for role, party in instance.roles if party in view.coalition))
        if roles and _draws_integers(instance.protocol):
            seen = prove_protocol(instance.protocol, (roles,)).views[0].statistical
            yield from ((one, made.times) for one in seen)


def judge_distance(
    coalition: frozenset[str], total: Fraction, over: str, policy: Policy, stages: tuple[Composed, ...]
) -> Obligation | None:
    """`total` over `over` (the plan, or the experiment's budget) against the policy; None where there is no mask."""
    if not total:
        return None
    asked, bits = int((UNSTATED | policy.security)["statistical"]), _bits(total)
    who = " and ".join(f"`{party}`" for party in sorted(coalition))
    if total <= Fraction(1, 2**asked):
        evidence = (f"{who}: at most 2^-{bits} over {over}",)
        return Obligation("placement.distance", Verdict.PROVED, -1, part=f"{over} {who}", evidence=evidence)
    return Obligation(
        "placement.distance",
        Verdict.REFUTED,
        _first_mask(stages),
        f"the masks that {who} sees through hide only up to 2^-{bits} over {over}, and the policy asks 2^-{asked}",
        "using",
        value=str(bits),
        limit=str(asked),
        help="take wider masks, a smaller range, or fewer rows and requests",
    )


def _first_mask(stages: tuple[Composed, ...]) -> int:
    """The value of the first step whose protocol draws over the integers."""
    for stage in stages:
        for instance, made in zip(stage.whole.instances, stage.made, strict=True):
            if _draws_integers(instance.protocol):
                return made.subject
    return -1


def _draws_integers(protocol: p.Protocol) -> bool:
    return any(isinstance(st, p.Draw) and isinstance(st.type.number, p.Integer) for st in protocol.body)


def _bits(total: Fraction) -> int:
    """The largest e with total <= 2^-e (0 where there is none)."""
    bits = 0
    while total * 2 ** (bits + 1) <= 1:
        bits += 1
    return bits
