"""A component with a known defect in the version that is used."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import holds
from pllm_lang.catalog.expr import Text
from pllm_lang.catalog.records import Component
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.hosting import defects_of
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.releases import in_versions
from pllm_lang.verify.terms import term_text
from pllm_lang.verify.view import PlanView, StepView

CODE = "versions.defect"


def check_step(view: StepView, _plan: PlanView) -> Iterator[Obligation]:
    """No known defect of the component applies; a defect bound to a machine's feature is `target.defect`'s."""
    if view.component is not None and "defects" in view.component.fields:
        yield from check_component(view.component, view.env, _plan)


def check_component(component: Component, env: Env, _plan: PlanView) -> Iterator[Obligation]:
    """The same of a component that does no step of the plan, as the others of a pipeline."""
    for defect in defects_of(component.fields):
        if "feature" in defect:
            continue
        versions, when, effect = defect.get("versions"), defect.get("when"), defect.get("effect")
        applies = None if when is None else holds(when, env)
        if (
            isinstance(versions, Text) and not in_versions(component.version, versions.value)
        ) or applies is False:
            yield Obligation(CODE, Verdict.PROVED, 0, evidence=(component.id, component.version))
            continue
        told = effect.value if isinstance(effect, Text) else "results are wrong"
        case = "" if when is None else f", where {term_text(when)}"
        yield Obligation(
            CODE,
            Verdict.REFUTED if when is None or applies else Verdict.UNPROVED,
            0,
            part="using",
            message=f"`{component.name}` {component.version} has a known defect{case}: {told}",
            value=component.version,
            limit=versions.value if isinstance(versions, Text) else "",
            term=component.id,
            clause=component.origin,
            reason="its record lists the defect",
            help="use a version without the defect, or another component",
        )
