"""A plan under a policy whose placement this version cannot prove: it ends unproved, never accepted."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.text.finding import Verdict
from pllm_lang.verify.flow import Flow
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.view import PlanView

CODE = "placement.not_checked"


def check_plan(plan: PlanView, _flow: Flow) -> Iterator[Obligation]:
    """One obligation for each plan under a policy."""
    if plan.plan.policy:
        name = plan.plan.policy.rsplit(".", 1)[-1]
        yield Obligation(
            CODE,
            Verdict.UNPROVED,
            -1,
            message=f"who learns what under `{name}` is not checked by this version",
            help="without `under`, the plan's coverage and bounds are checked and placement is listed as not asked",
        )
