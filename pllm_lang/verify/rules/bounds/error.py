"""An output is further from its real-valued meaning than the policy allows, or nothing says how far it is."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.catalog.closed import closed_value
from pllm_lang.exact.number import text
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.flow import Flow
from pllm_lang.verify.numbers import shown
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.view import PlanView

CODE = "bounds.error"
BUDGET = "error_budget"


def check_plan(plan: PlanView, flow: Flow) -> Iterator[Obligation]:
    """The error of every entry of every output is at most the policy's `error_budget`."""
    if plan.policy is None or BUDGET not in plan.policy.fields:
        return
    limit = closed_value(plan.policy.fields[BUDGET])
    for value in dict.fromkeys(output.value for stage in plan.plan.stages for output in stage.outputs):
        facts = flow.facts.get(value)
        error = None if facts is None else facts.error
        if limit is not None and error is not None and error <= limit:
            yield Obligation(CODE, Verdict.PROVED, value, part="output", evidence=(text(error), text(limit)))
            continue
        allowed = "a number that is not known" if limit is None else shown(limit)
        yield Obligation(
            CODE,
            Verdict.UNPROVED,
            value,
            part="output",
            message=f"the error of this output is {'unknown' if error is None else 'up to ' + shown(error)}, and the policy "
            f"`{plan.policy.name}` allows {allowed}",
            value="" if error is None else text(error),
            limit="" if limit is None else text(limit),
            term="error",
            help="use more fraction bits or exact steps, or components that state a smaller error",
        )
