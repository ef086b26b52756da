"""A component with a property that the policy forbids."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.records import Component
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.hosting import words
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.view import PlanView, StepView

CODE = "assurance.forbidden_property"


def check_step(view: StepView, plan: PlanView) -> Iterator[Obligation]:
    """No component's `properties:` are among the words of the policy's `forbids [...]`."""
    if view.component is not None:
        yield from check_component(view.component, view.env, plan)


def check_component(component: Component, _env: Env, plan: PlanView) -> Iterator[Obligation]:
    """The same of a component that does no step of the plan, as the others of a pipeline."""
    if plan.policy is None:
        return
    own = set(words(component.fields.get("properties")))
    for word in plan.policy.forbids:
        if word not in own:
            yield Obligation(CODE, Verdict.PROVED, 0, part="using", evidence=(component.id, word))
            continue
        yield Obligation(
            CODE,
            Verdict.REFUTED,
            0,
            part="using",
            message=f"the policy forbids {word}, and `{component.name}` is that",
            term=word,
            clause=component.origin,
            reason="its record says so under `properties`",
            help="choose another component, or change the policy",
        )
