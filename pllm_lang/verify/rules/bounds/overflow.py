"""A result leaves the format that it is declared in."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.catalog.facts import Facts, Interval
from pllm_lang.catalog.records import Format
from pllm_lang.exact.number import text
from pllm_lang.ir.plan import UNKNOWN
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.hints import norm_hints
from pllm_lang.verify.initial import format_range
from pllm_lang.verify.limits import bits_for, excess_side, format_text, inside
from pllm_lang.verify.numbers import shown, shown_range
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.stored import rounded
from pllm_lang.verify.view import PlanView, StepView

CODE = "bounds.overflow"
FLOATS = (
    "floating-point steps stay finite and near their real-valued meaning (checked at run time, not proved)"
)


def check_step(view: StepView, plan: PlanView) -> Iterator[Obligation]:
    """Every result lies in its format's range; a float owes finiteness, taken for granted where it is unknown."""
    for position, (type_, exactly) in enumerate(zip(view.step.types, view.derived, strict=True)):
        if type_ == UNKNOWN:
            continue
        format_ = plan.format_of(type_)
        limit = format_range(format_)
        derived = rounded(view, position, exactly, format_)
        if limit is not None:
            yield from _judge(view, position, format_, limit, derived)


def _judge(
    view: StepView, position: int, format_: Format, limit: Interval, derived: Facts
) -> Iterator[Obligation]:
    found = derived.range
    if format_.kind == "float" and (found is None or inside(found, limit)):
        yield Obligation(CODE, Verdict.PROVED, position, assumed=(FLOATS,))
    elif found is None:
        return  # `bounds.unknown` reports it
    elif inside(found, limit):
        yield Obligation(
            CODE, Verdict.PROVED, position, evidence=(derived.rule, text(found.low), text(found.high))
        )
    else:
        yield _overflow(view, position, format_, limit, derived, found)


def _overflow(
    view: StepView, position: int, format_: Format, limit: Interval, derived: Facts, found: Interval
) -> Obligation:
    value, edge = excess_side(found, limit)
    needs = bits_for(found, format_.frac)
    return Obligation(
        CODE,
        Verdict.UNPROVED,
        position,
        part=f"target{position}",
        message=f"the result reaches {shown(value)}, outside {format_text(format_)} which holds {shown_range(limit)}",
        value=text(value),
        limit=text(edge),
        term=derived.rule,
        needs=str(needs),
        notes=(
            f"proved range {shown_range(found)}" + (f", from {derived.rule}" if derived.rule else ""),
            *norm_hints(view, derived.rule),
        ),
        help=_help(format_, needs),
    )


def _help(format_: Format, needs: int) -> str:
    if format_.frac:
        return f"it needs {needs} bits with {format_.frac} fraction bits, or a narrower range of the inputs"
    return f"it needs {needs} bits, or a narrower range of the inputs"
