"""A component whose security level is below the policy's."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import term
from pllm_lang.catalog.expr import MapOf
from pllm_lang.catalog.records import Component
from pllm_lang.exact.number import exact, text
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.view import PlanView, StepView

CODE = "versions.security_level"


def check_step(view: StepView, plan: PlanView) -> Iterator[Obligation]:
    """Each security level that the component's record states is at least the policy's of that sort."""
    if view.component is not None:
        yield from check_component(view.component, view.env, plan)


def check_component(component: Component, env: Env, plan: PlanView) -> Iterator[Obligation]:
    """The same of a component that does no step of the plan, as the others of a pipeline."""
    if plan.policy is None or not isinstance(component.security, MapOf):
        return
    for sort, level in component.security.entries:
        wanted = plan.policy.security.get(sort)
        if wanted is None:
            continue
        found = term(level, env)
        if found is not None and found.low >= exact(wanted):
            yield Obligation(CODE, Verdict.PROVED, 0, evidence=(component.id, sort, text(found.low)))
            continue
        told = "unknown here" if found is None else f"{text(found.low)} bits"
        yield Obligation(
            CODE,
            Verdict.UNPROVED if found is None else Verdict.REFUTED,
            0,
            part="using",
            message=f"the {sort} security of `{component.name}` is {told}, and the policy asks for {wanted} bits",
            value="" if found is None else text(found.low),
            limit=wanted,
            term=sort,
            help="choose stronger parameters, or another component",
        )
