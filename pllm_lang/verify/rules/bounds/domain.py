"""A range leaves the domain that an operator or component is made for."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.catalog.records import Clause
from pllm_lang.ir.walk import references
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.carrier import outside_carrier
from pllm_lang.verify.clauses import Judgement, clauses_reading_facts, judge_clause
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.view import PlanView, StepView

CODE = "bounds.domain"


def check_step(view: StepView, plan: PlanView) -> Iterator[Obligation]:
    """Every `requires` of the operator and of the component that speaks of ranges, norms or errors.

    One about a value that has left its ring already is not asked again: that finding is the cause.
    """
    escaped = outside_carrier(view, plan)
    for owner, clause in clauses_reading_facts(view):
        if not names_of(clause, view) <= escaped:
            yield _obligation(owner, judge_clause(clause, view))


def names_of(clause: Clause, view: StepView) -> set[str]:
    """The operands and results that a clause speaks of."""
    return {name for name in references(clause.expr) if name in view.env.facts}


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
