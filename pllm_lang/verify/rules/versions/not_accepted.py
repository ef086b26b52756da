"""A component in a version that the policy does not accept."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.expr import MapOf, Text
from pllm_lang.catalog.records import Component
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.releases import admits
from pllm_lang.verify.view import PlanView, StepView

CODE = "versions.not_accepted"


def check_step(view: StepView, plan: PlanView) -> Iterator[Obligation]:
    """The policy's `versions:` names what it accepts of a component, by its id."""
    if view.component is not None:
        yield from check_component(view.component, view.env, plan)


def check_component(component: Component, _env: Env, plan: PlanView) -> Iterator[Obligation]:
    """The same of a component that does no step of the plan, as the others of a pipeline."""
    wanted = None if plan.policy is None else plan.policy.fields.get("versions")
    if not isinstance(wanted, MapOf):
        return
    for name, value in wanted.entries:
        if name not in (component.id, component.name) or not isinstance(value, Text):
            continue
        verdict = admits(component.version, value.value)
        if verdict:
            yield Obligation(CODE, Verdict.PROVED, 0, evidence=(component.id, component.version))
            continue
        yield Obligation(
            CODE,
            Verdict.UNPROVED if verdict is None else Verdict.REFUTED,
            0,
            part="using",
            message=f"the policy accepts `{component.name}` {value.value}, and this is {component.version}",
            value=component.version,
            limit=value.value,
            term=component.id,
            help="use an accepted version, or change the policy",
        )
