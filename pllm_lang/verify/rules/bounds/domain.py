"""A range leaves the domain that an operator or component is made for."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.text.finding import Verdict
from pllm_lang.verify.clauses import Judgement, clauses_reading_facts, judge_clause
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.view import PlanView, StepView

CODE = "bounds.domain"


def check_step(view: StepView, _plan: PlanView) -> Iterator[Obligation]:
    """Every `requires` of the operator and of the component that speaks of ranges, norms or errors."""
    for owner, clause in clauses_reading_facts(view):
        yield _obligation(owner, judge_clause(clause, view))


def _obligation(owner: str, judged: Judgement) -> Obligation:
    if judged.holds:
        return Obligation(CODE, Verdict.PROVED, 0, evidence=(judged.text,))
    return Obligation(
        CODE,
        Verdict.UNPROVED,
        0,
        message=f"`{owner}` requires {judged.text}, and here {judged.found}",
        value=judged.value,
        limit=judged.limit,
        term=judged.text,
        clause=judged.clause.origin,
        reason=judged.clause.reason,
        help=judged.help,
    )
