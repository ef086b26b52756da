"""A requirement that the plan itself states does not hold (`requires error(y) <= 1/256`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.facts import Facts
from pllm_lang.catalog.records import Clause
from pllm_lang.ir.plan import Requirement
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.clauses import judge
from pllm_lang.verify.failure import asks_for_failure
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.view import PlanView

CODE = "bounds.requirement"


def check_node(plan: PlanView, node: object, facts: Mapping[int, Facts]) -> Iterator[Obligation]:
    """Judge the requirement on the facts at its place; one on `failure` is judged on the whole plan."""
    if not isinstance(node, Requirement) or asks_for_failure(node.condition):
        return
    env = Env(facts={f"%v{value}": known for value, known in facts.items()})
    judged = judge(Clause(node.condition, reason=node.reason), env, plan.value_names)
    subject = -1 - next(n for n, own in enumerate(plan.requirements) if own is node)
    if judged.holds:
        yield Obligation(CODE, Verdict.PROVED, subject, part="requires", evidence=(judged.text,))
        return
    yield Obligation(
        CODE,
        Verdict.UNPROVED,
        subject,
        part="requires",
        message=f"the plan requires {judged.text}, and here {judged.found}",
        value=judged.value,
        limit=judged.limit,
        term=judged.text,
        reason=node.reason,
        help=judged.help,
    )
