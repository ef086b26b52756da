"""Probabilistic steps fail more often than the plan or its policy allows, or nothing says how often they may."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import exact_term
from pllm_lang.catalog.expr import Apply, Expr, Ref
from pllm_lang.exact.number import Exact, text
from pllm_lang.ir.experiment import Experiment
from pllm_lang.ir.plan import Node, Repeat, Requirement
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.failure import FAILURE, asks_for_failure, holds_up_to, limits_failure, met_failure
from pllm_lang.verify.flow import Flow
from pllm_lang.verify.hosting import ExperimentView
from pllm_lang.verify.numbers import decimal, log2_text
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.terms import term_text
from pllm_lang.verify.view import Met, PlanView

CODE = "bounds.failure"
BUDGET = "failure_budget"


def check_plan(plan: PlanView, flow: Flow) -> Iterator[Obligation]:
    """The union bound of all failures lies within every budget stated; a plan that can fail must state one."""
    failing = [met for met in flow.met if met_failure(met) != 0]
    total = _total(failing)
    budgets = _budgets(plan)
    limited = any(limits_failure(budget) for budget in budgets)
    worst = max(failing or flow.met, key=lambda met: _size(met_failure(met)), default=None)
    subject = -1 if worst is None else worst.step.results[0]
    if failing and not limited:
        yield _unbudgeted(subject, total)
    for budget in budgets:
        yield _judge(subject, total, budget)


def check_experiment(view: ExperimentView) -> Iterator[Obligation]:
    """The same over all runs that the experiment's budget allows: each stage at most once a request and token."""
    failing = [met for met in view.flow.met if met_failure(met) != 0]
    runs = budgeted_runs(view.experiment)
    if not failing or runs == 1:
        return  # one run is the plan's own question
    once = _total(failing)
    total = None if once is None else once * runs
    worst = max(failing, key=lambda met: _size(met_failure(met)))
    for budget in _budgets(view.plan):
        yield _judge(worst.step.results[0], total, budget)


def budgeted_runs(experiment: Experiment) -> int:
    """An upper bound of how often a stage runs within the budget."""
    budget = dict(experiment.budget)
    return max(1, int(budget.get("requests", "1"))) * max(1, int(budget.get("max_new_tokens", "1")))


def _budgets(plan: PlanView) -> list[Expr]:
    """Conditions on `failure`: those of the plan, and the policy's `failure_budget`."""
    stated = [r.condition for stage in plan.plan.stages for r in _requirements(stage.body)]
    limit = None if plan.policy is None else plan.policy.fields.get(BUDGET)
    return stated + ([Apply("<=", (Ref(FAILURE), limit))] if limit is not None else [])


def _requirements(body: tuple[Node, ...]) -> Iterator[Requirement]:
    for node in body:
        if isinstance(node, Requirement) and asks_for_failure(node.condition):
            yield node
        elif isinstance(node, Repeat):
            yield from _requirements(node.body)


def _total(failing: list[Met]) -> Exact | None:
    total: Exact = 0
    for met in failing:
        one = met_failure(met)
        if one is None:
            return None
        total = total + one
    return total


def _size(failure: Exact | None) -> Exact:
    return 2**64 if failure is None else failure


def _told(total: Exact | None) -> str:
    if total is None:
        return "unknown"
    if total == 0:
        return "zero"
    return f"at most {log2_text(total)} (about {decimal(total)})" if total < 1 else "not bounded below 1"


def _judge(subject: int, total: Exact | None, budget: Expr) -> Obligation:
    if total is not None and holds_up_to(budget, total):
        return Obligation(CODE, Verdict.PROVED, subject, evidence=(text(total or 0),))
    limit = _limit(budget)
    return Obligation(
        CODE,
        Verdict.UNPROVED,
        subject,
        message=f"the probability of a wrong result is {_told(total)}, and {term_text(budget)} is required",
        value="" if total is None else text(total),
        limit="" if limit is None else text(limit),
        term=FAILURE,
        notes=("a union bound over entries and executions; it may be too large, never too small",),
        help="use a larger ring, fewer fraction bits, a narrower range, or a method that never fails",
    )


def _limit(budget: Expr) -> Exact | None:
    if not isinstance(budget, Apply):
        return None
    sides = [
        exact_term(arg, Env()) for arg in budget.args if not (isinstance(arg, Ref) and arg.name == FAILURE)
    ]
    return sides[0] if len(sides) == 1 else None


def _unbudgeted(subject: int, total: Exact | None) -> Obligation:
    return Obligation(
        CODE,
        Verdict.UNPROVED,
        subject,
        message=f"the probability of a wrong result is {_told(total)}, and nothing says how much is allowed",
        value="" if total is None else text(total),
        term=FAILURE,
        help="state it in the plan, `requires failure <= 2^-40`, or as `failure_budget:` of its policy",
    )
