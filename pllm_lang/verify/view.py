"""What a rule sees: a step with everything known about it, and a plan with everything that it names. Data only."""

from __future__ import annotations

import msgspec

from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.facts import Facts
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.records import Component, Format, Operator, Policy
from pllm_lang.ir.plan import Placement, Plan, Requirement, Step, TensorType
from pllm_lang.verify.obligation import Obligation


class PlanView(msgspec.Struct, frozen=True):
    """A plan with the library and its policy (None where it is under none).

    `requirements` are the plan's own, in the order written; the n-th is the part (-n, "requires") of the source map.
    `value_names` says what `%v12` is called.
    """

    plan: Plan
    library: Library
    policy: Policy | None
    requirements: tuple[Requirement, ...] = ()
    value_names: dict[str, str] = {}

    def format_of(self, type_: TensorType) -> Format:
        return self.plan.formats[type_.format]


class StepView(msgspec.Struct, frozen=True):
    """One step met with one set of incoming facts.

    `env` knows operands and results by the operator's names, its shape variables and parameters, and the
    component's. `derived` are the facts of the results as the operator's meaning and the component's errors give
    them, before the results' formats are asked to hold them. `component` is None where the step has none.
    """

    step: Step
    operator: Operator
    component: Component | None
    env: Env
    operand_types: tuple[TensorType, ...]
    operand_places: tuple[Placement, ...]
    derived: tuple[Facts, ...]
    n_parties: int | None


CLEAR = "std.methods.clear"
"""The component behind `@ party` without `using`."""


def is_structural(view: StepView) -> bool:
    """Whether the step only moves entries; such a step needs no component of its own."""
    return view.step.structural or "structural" in view.operator.fields


def in_the_clear(view: StepView) -> bool:
    """Whether a party computes the step on values that it knows, or the step only moves entries."""
    use = view.step.use
    return is_structural(view) or (view.component is not None and (use is None or use.key == CLEAR))


class Judged(msgspec.Struct, frozen=True):
    """What one step gives for given operands. `subject` of its obligations is the position of a result."""

    view: StepView | None
    results: tuple[Facts, ...]
    places: tuple[Placement, ...]
    obligations: tuple[Obligation, ...]


class Met(msgspec.Struct, frozen=True):
    """A step that the walk met, and how many times it runs in one execution of the plan."""

    step: Step
    judged: Judged
    times: int
