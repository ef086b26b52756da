"""A parameter, shape, format or number of parties that the operator or component does not take."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.text.finding import Verdict
from pllm_lang.verify.clauses import clauses_of_exact_names, judge_clause
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.view import PlanView, StepView

CODE = "coverage.requirement"


def check_step(view: StepView, _plan: PlanView) -> Iterator[Obligation]:
    """Every `requires` that speaks only of parameters, shapes, formats and the number of parties."""
    for owner, clause in clauses_of_exact_names(view):
        judged = judge_clause(clause, view)
        if judged.holds:
            yield Obligation(CODE, Verdict.PROVED, 0, evidence=(judged.text,))
            continue
        yield Obligation(
            CODE,
            Verdict.UNPROVED if judged.holds is None else Verdict.REFUTED,
            0,
            part="using" if owner != view.operator.name else "step",
            message=f"`{owner}` requires {judged.text}, and here {judged.found}",
            value=judged.value,
            limit=judged.limit,
            term=judged.text,
            clause=clause.origin,
            reason=clause.reason,
            help=judged.help,
        )
