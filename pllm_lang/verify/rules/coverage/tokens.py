"""The budget lets a request bring more tokens than the plan takes, or does not say how often a later stage runs."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from pllm_lang.ir.plan import UNKNOWN, Input, Plan, Step
from pllm_lang.ir.walk import family, nodes
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.hosting import ExperimentView
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.view import PlanView

CODE = "coverage.tokens"
BUDGET = "max_input_tokens"
GIVEN = "max_new_tokens"


def check_experiment(view: ExperimentView) -> Iterator[Obligation]:
    """The first stage takes as many tokens as the budget allows a request: ids that choose rows of a weight, each input of them; else
    those of the longest input of an index format, else rows."""
    yield from _later_stages(view)
    asked = dict(view.experiment.budget).get(BUDGET)
    given = (*view.plan.plan.inputs, *(view.plan.plan.stages[0].inputs if view.plan.plan.stages else ()))
    typed = [one for one in given if one.type != UNKNOWN]
    ids = [one for one in typed if view.plan.format_of(one.type).kind == "index"]
    looked_up = _looked_up(view.plan.plan)
    chosen = [one for one in ids if one.value in looked_up]
    sizes = [(_tokens(one, view.plan), one.value) for one in chosen or ids or typed]
    if asked is None or not sizes:
        return
    taken, subject = min(sizes) if chosen else max(sizes)
    if int(asked) <= taken:
        yield Obligation(CODE, Verdict.PROVED, subject, evidence=(f"{asked} of {taken}",))
        return
    name = view.plan.value_names.get(f"%v{subject}", "the input")
    yield Obligation(
        CODE,
        Verdict.REFUTED,
        subject,
        message=f"the budget allows {asked} input tokens, and `{name}` of the plan takes {taken}",
        value=asked,
        limit=str(taken),
        help=f"lower `{BUDGET}` to {taken}, or write the plan for more tokens",
    )


_TABLES = ("std.nn.embedding", "std.operators.gather")


def _looked_up(plan: Plan) -> set[int]:
    """Values by which the first stage takes rows of a weight."""
    weights = {weight.value for weight in plan.weights}
    found = [node for stage in plan.stages[:1] for node, _ in nodes(stage.body) if isinstance(node, Step)]
    return {
        family(step.operands[1])
        for step in found
        if step.operator in _TABLES and len(step.operands) == 2 and family(step.operands[0]) in weights
    }


def _later_stages(view: ExperimentView) -> Iterator[Obligation]:
    """A later stage runs once for every further token, so everything that a run burns is counted by `max_new_tokens`."""
    budget = dict(view.experiment.budget)
    results = [met.step.results[0] for met in view.flow.met if met.step.results]
    if len(view.plan.plan.stages) < 2 or not budget or GIVEN in budget or not results:
        return
    yield Obligation(
        CODE,
        Verdict.UNPROVED,
        results[0],
        message="the plan has a stage that runs once for every further token, and the budget does not say how many tokens there are",
        help=f"add `{GIVEN}: ...` to the budget; 1 where only the first stage runs",
    )


def _tokens(given: Input, plan: PlanView) -> int:
    ids = plan.format_of(given.type).kind == "index"
    return prod(given.type.shape if ids else given.type.shape[:-1])
