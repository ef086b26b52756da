"""Nothing bounds a result: an operator without a bound rule, or operands about which nothing is known."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.catalog.facts import Facts
from pllm_lang.catalog.records import Format
from pllm_lang.ir.plan import UNKNOWN
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.initial import format_range
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.stored import NO_NUMBERS, UNSTATED_ROUNDING, rounded
from pllm_lang.verify.view import PlanView, StepView, in_the_clear

CODE = "bounds.unknown"


def check_step(view: StepView, plan: PlanView) -> Iterator[Obligation]:
    """Every result that takes a format, or that a method computes, has a known range; floats owe finiteness only."""
    for position, (type_, derived) in enumerate(zip(view.step.types, view.derived, strict=True)):
        if type_ == UNKNOWN or _has_no_ends(plan.format_of(type_)):
            continue
        if plan.format_of(type_).kind == "exact" and in_the_clear(view) and not _undefined(view, derived):
            continue  # it takes no format yet; the step that gives it one owes the range
        if rounded(view, position, derived, plan.format_of(type_)).rule == UNSTATED_ROUNDING:
            yield _unstated(position, view)
        elif derived.range is not None:
            yield Obligation(CODE, Verdict.PROVED, position, evidence=(derived.rule,))
        else:
            yield _unproved(position, view)


def _has_no_ends(format_: Format) -> bool:
    """A float's finiteness is taken for granted."""
    return format_.kind == "float" or (format_.kind in NO_NUMBERS and format_range(format_) is None)


def _undefined(view: StepView, derived: Facts) -> bool:
    """Whether operands of known ranges leave the result unknown: some of them may have none, as a quotient by 0."""
    known = all(view.env.facts[spec.name].range is not None for spec in view.operator.operands)
    return known and derived.range is None


def _unstated(position: int, view: StepView) -> Obligation:
    assert view.component is not None
    component = view.component.name
    result = view.operator.results[position].name
    return Obligation(
        CODE,
        Verdict.UNPROVED,
        position,
        part=f"target{position}",
        message=f"nothing bounds this result: it is off its format's grid, and `{component}` does not say how it rounds",
        term=component,
        help=f"the component's record must say it, such as `ensures error({result}) <= ulp({result})`",
    )


def _unproved(position: int, view: StepView) -> Obligation:
    names = [spec.name for spec in view.operator.operands]
    open_ones = [name for name in names if view.env.facts[name].range is None]
    why = (
        f"nothing is known of its operand `{open_ones[0]}`"
        if open_ones
        else f"`{view.operator.name}` has no bound for these operands"
    )
    return Obligation(
        CODE,
        Verdict.UNPROVED,
        position,
        part=f"target{position}",
        message=f"nothing bounds this result: {why}",
        term=open_ones[0] if open_ones else view.operator.name,
        help="state a range of the inputs with `where abs(x) <= ...`, or of this result with `assume`",
    )
