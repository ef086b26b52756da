"""A step that nothing covers: no component, no party, or a component that does something else."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.catalog.evaluate import holds
from pllm_lang.catalog.names import is_exact
from pllm_lang.catalog.records import Component
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.rules.coverage.party_count import condition
from pllm_lang.verify.view import PlanView, StepView, is_structural

CODE = "coverage.no_component"


def check_step(view: StepView, plan: PlanView) -> Iterator[Obligation]:
    """Exactly one component covers each step that computes; structural steps follow the step that uses them."""
    if view.component is None and is_structural(view):
        return
    name = view.operator.name
    if view.component is None:
        yield Obligation(
            CODE,
            Verdict.REFUTED,
            0,
            message=f"nothing covers `{name}`: the step names no component and no party",
            help=_help(view, plan),
        )
        return
    assumed = (*view.component.rests_on, *view.operator.rests_on)
    yield Obligation(CODE, Verdict.PROVED, 0, evidence=(view.component.id,), assumed=assumed)


def _help(view: StepView, plan: PlanView) -> str:
    """The component to begin with, and the others; left out are those that do not take these formats and parties."""
    name = view.operator.name
    methods = [c for c in plan.library.implementing(view.step.operator) if c.name != "clear"]
    if not methods:
        return f"write `@ party` to compute it in the clear; no component of the library implements `{name}`"
    published = sorted(c.name for c in methods if c.is_published_system and False not in _met(c, view))
    known = (
        f" (published: {', '.join(published)}; `pllm audit NAME` says what is known of one)"
        if published
        else ""
    )
    methods = [c for c in methods if not c.is_published_system]
    if not methods:
        return f"write `@ party` to compute it in the clear, or `using` a method{known}"
    fitting = [c for c in methods if False not in _met(c, view)] or methods
    first, *others = sorted(fitting, key=lambda c: _rank(c, view, plan))
    rest = f" (or {', '.join(sorted(c.name for c in others))})" if others else ""
    return f"write `using {first.name}`, of `{first.module}`{rest}, or `@ party` to compute it in the clear{known}"


def _rank(component: Component, view: StepView, plan: PlanView) -> tuple[bool, bool, int, str]:
    """Under a policy components with a protocol come first, else those of which most requirements are met."""
    unproved = plan.policy is not None and component.protocol is None
    met = sum(one is True for one in _met(component, view))
    return unproved, component.module != "std.methods", -met, component.name


def _met(component: Component, view: StepView) -> list[bool | None]:
    """Of the requirements on formats and the number of parties: which hold for this step."""
    found = [holds(c.expr, view.env) for c in component.requires if is_exact(c.expr, view.env)]
    if component.n_parties is not None and view.n_parties is not None:
        found.append(holds(condition(component.n_parties), view.env))
    return found
