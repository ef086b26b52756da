"""How likely a run is wrong although every range holds: the failure probabilities of probabilistic steps, added up."""

from __future__ import annotations

from math import prod

import msgspec

from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import holds, term
from pllm_lang.catalog.expr import Apply, Expr, Ref
from pllm_lang.catalog.facts import Exact, Facts
from pllm_lang.exact.interval import Interval
from pllm_lang.exact.number import round_up
from pllm_lang.verify.view import Met, StepView

FAILURE = "failure"
PRECISION = 64
"""Significant bits that one step's failure probability keeps, rounded up."""


def asks_for_failure(condition: Expr) -> bool:
    """Whether a plan's requirement speaks of its failure probability."""
    if isinstance(condition, Ref):
        return condition.name == FAILURE
    return isinstance(condition, Apply) and any(asks_for_failure(arg) for arg in condition.args)


def holds_up_to(condition: Expr, most: Exact, env: Env | None = None) -> bool:
    """Whether a condition on the failure probability holds for every one from 0 to `most`, which is all that is known of it."""
    facts = {FAILURE: Facts(range=Interval(0, max(most, 0)))}
    return holds(condition, msgspec.structs.replace(env or Env(), facts=facts)) is True


ANY = 2**64
"""More than any sum of failure probabilities that a plan has."""


def limits_failure(condition: Expr) -> bool:
    """Whether a condition says how much failure is allowed: one that holds for any does not."""
    return asks_for_failure(condition) and not holds_up_to(condition, ANY)


def step_failure(view: StepView) -> Exact | None:
    """Union bound over all result entries of one run of the step; 0 for a method that never fails; None unknown."""
    if view.component is None or view.component.failure is None:
        return 0
    each = term(view.component.failure, view.env)
    if each is None:
        return None
    entries = sum(prod(type_.shape) for type_ in view.step.types)
    return round_up(min(max(each.high, 0), 1), PRECISION) * entries


def met_failure(met: Met) -> Exact | None:
    """The same for all runs of a step in one execution of the plan."""
    if met.judged.view is None:
        return 0
    once = step_failure(met.judged.view)
    return None if once is None else once * met.times
