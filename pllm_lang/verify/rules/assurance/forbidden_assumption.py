"""A proof that rests on something taken for granted, under a policy that forbids it."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.text.finding import Verdict
from pllm_lang.verify.flow import Flow
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.proving import primitives
from pllm_lang.verify.rules.bounds import contradiction, overflow, stated_range
from pllm_lang.verify.view import PlanView

CODE = "assurance.forbidden_assumption"

SORTS = {
    overflow.CODE: "assumed_ranges",
    contradiction.CODE: "assumed_ranges",
    stated_range.CODE: "calibrated_ranges",
}
"""The word of `forbids [...]` for what the obligations of a rule take for granted."""

PRIMITIVES = "unproved_primitives"
"""The word for what a protocol assumes: a PRF, a garbled table, encryption, ...; no text of theirs is proved."""


def check_plan(plan: PlanView, flow: Flow) -> Iterator[Obligation]:
    """No obligation rests on an assumption of a sort that the policy forbids."""
    if plan.policy is None:
        return
    seen: set[tuple[int, str]] = set()
    for obligation in (*flow.obligations, *stated_range.check_plan(plan, flow)):
        sort = SORTS.get(obligation.code, "")
        if sort not in plan.policy.forbids:
            continue
        for told in obligation.assumed:
            if (obligation.subject, told) not in seen:
                seen.add((obligation.subject, told))
                yield _refuted(obligation, sort, told)
    for subject, component, primitive in primitives(plan, flow) if PRIMITIVES in plan.policy.forbids else ():
        yield Obligation(
            CODE,
            Verdict.REFUTED,
            subject,
            part="using",
            message=f"the policy forbids unproved primitives, and `{component}` takes `{primitive}` for granted",
            term=PRIMITIVES,
            help="choose a component whose protocol needs none, or change the policy",
        )


def _refuted(obligation: Obligation, sort: str, told: str) -> Obligation:
    return Obligation(
        CODE,
        Verdict.REFUTED,
        obligation.subject,
        part=obligation.part,
        message=f"the policy forbids {sort.replace('_', ' ')}, and this is taken for granted: {told}",
        term=sort,
        help="prove it from stated ranges, use a format whose arithmetic is exact, or change the policy",
    )
