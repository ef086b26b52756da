"""A component made for another number of parties."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.catalog.evaluate import holds
from pllm_lang.catalog.expr import Apply, Between, Expr, ListOf, Ref
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.terms import term_text
from pllm_lang.verify.view import PlanView, StepView

CODE = "coverage.party_count"


def check_step(view: StepView, plan: PlanView) -> Iterator[Obligation]:
    """The number of parties that hold the operands is one that the component is good for.

    Where no operand is shared, the parties bound to the component's roles count; without either (a plan under no
    policy) the question is not asked.
    """
    component = view.component
    if component is None or component.n_parties is None:
        return
    wanted = component.n_parties
    if view.n_parties is None and plan.policy is None and component.roles:
        return
    verdict = None if view.n_parties is None else holds(condition(wanted), view.env)
    if verdict:
        yield Obligation(CODE, Verdict.PROVED, 0, part="using", evidence=(str(view.n_parties),))
        return
    here = (
        "no operand is held by several parties"
        if view.n_parties is None
        else f"{view.n_parties} parties hold the operands"
    )
    yield Obligation(
        CODE,
        Verdict.UNPROVED if verdict is None else Verdict.REFUTED,
        0,
        part="using",
        message=f"`{component.name}` is made for {term_text(wanted)} parties, and here {here}",
        value="" if view.n_parties is None else str(view.n_parties),
        limit=term_text(wanted),
        help="choose a component for this number of parties, or share the operands between as many as it takes",
    )


def condition(wanted: Expr) -> Expr:
    """That the number of parties is, or is one of, `wanted`."""
    parties = Ref("n_parties")
    return Apply("in" if isinstance(wanted, (ListOf, Between)) else "==", (parties, wanted))
