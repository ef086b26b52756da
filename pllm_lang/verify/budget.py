"""How often the stages of a plan run within an experiment's budget."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.ir.experiment import Experiment
from pllm_lang.ir.plan import Plan, Step
from pllm_lang.ir.walk import nodes
from pllm_lang.verify.flow import Flow
from pllm_lang.verify.view import Met


def runs_of(place: int, stages: int, experiment: Experiment | None) -> int:
    """How often a stage runs within the budget: the first once a request, each later one for every further token.

    A plan of one stage makes every token by itself. Without a budget every stage runs once; a budget that states no tokens for
    later stages is refused (`coverage.tokens`).
    """
    budget = dict(experiment.budget) if experiment is not None else {}
    requests = int(budget.get("requests", "1"))
    tokens = int(budget.get("max_new_tokens", "1"))
    if stages == 1:
        return requests * max(tokens, 1)
    if place == 0 or "max_new_tokens" not in budget:
        return requests
    return requests * max(tokens - 1, 0)


def runs_of_steps(flow: Flow, plan: Plan, experiment: Experiment) -> Iterator[tuple[Met, int]]:
    """Each step met, with how often it runs within the whole budget."""
    place_of = {
        node.results[0]: place
        for place, stage in enumerate(plan.stages)
        for node, _ in nodes(stage.body)
        if isinstance(node, Step) and node.results
    }
    for met in flow.met:
        if met.step.results:
            yield met, met.times * runs_of(place_of[met.step.results[0]], len(plan.stages), experiment)
