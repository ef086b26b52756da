"""A range leaves the domain that an operator or component is made for."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.catalog.forms import format_of
from pllm_lang.catalog.records import Clause
from pllm_lang.ir.walk import references
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.carrier import outside_carrier
from pllm_lang.verify.clauses import Judgement, clauses_reading_facts, judge_clause
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.stored import on_grid
from pllm_lang.verify.view import PlanView, StepView

CODE = "bounds.domain"


def check_step(view: StepView, plan: PlanView) -> Iterator[Obligation]:
    """Every `requires` of the operator and of the component that speaks of ranges, norms or errors.

    One about a value that has left its ring already is not asked again: that finding is the cause.
    """
    yield from _places(view, plan)
    escaped = outside_carrier(view, plan)
    for owner, clause in clauses_reading_facts(view):
        if not names_of(clause, view) <= escaped:
            yield _obligation(owner, judge_clause(clause, view))


def _places(view: StepView, plan: PlanView) -> Iterator[Obligation]:
    """An exact operand that counts places is of whole numbers: 1/2 names no row."""
    for position, (spec, type_) in enumerate(zip(view.operator.operands, view.operand_types, strict=True)):
        wanted = format_of(spec.format, view.env)
        if wanted is None or wanted.kind != "index" or plan.format_of(type_).kind != "exact":
            continue
        if on_grid(view.env.facts[spec.name].unit, 1):
            continue
        yield Obligation(
            CODE,
            Verdict.UNPROVED,
            0,
            part=f"operand{position}",
            message=f"`{view.operator.name}` takes whole numbers as `{spec.name}`, and these are not known to be whole",
            term=spec.name,
            help="give whole numbers, or round the operand to a format of whole numbers first",
        )


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
