"""An operand or result does not fit the ring that the component computes in."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.catalog.facts import Facts
from pllm_lang.catalog.records import Component
from pllm_lang.exact.number import text
from pllm_lang.ir.plan import UNKNOWN
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.carrier import (
    Carried,
    carried_values,
    embedded_values,
    is_between,
    is_given_between,
    ring_modulus,
)
from pllm_lang.verify.hints import norm_hints
from pllm_lang.verify.limits import bits_for, centred, excess_side, inside, ring_text
from pllm_lang.verify.numbers import shown, shown_range
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.view import PlanView, StepView, in_the_clear

CODE = "bounds.carrier"


def check_step(view: StepView, plan: PlanView) -> Iterator[Obligation]:
    """Entering and leaving a carrier is an embedding and its centred lift; both owe the range."""
    component = view.component
    if (
        component is not None
        and component.carrier is not None
        and ring_modulus(component.carrier, view) is None
    ):
        yield _no_ring(component)
    all_carried = tuple(carried_values(view, plan))
    off = [carried for carried in all_carried if is_between(carried, view, plan)]
    for carried in all_carried:
        if carried in off:
            yield _off_grid(carried)
        elif not is_given_between(carried, view, plan):
            yield _judge(view, carried, carried.facts)
        elif not off:
            yield _given_off_grid(carried)
    for carried in embedded_values(view, plan):
        found = _judge(view, carried, carried.facts)
        if found.verdict is not Verdict.PROVED:
            yield found
    if view.component is not None and not in_the_clear(view):
        yield from _nowhere(view, plan, {carried.name for carried in all_carried})


def _no_ring(component: Component) -> Obligation:
    return Obligation(
        CODE,
        Verdict.UNPROVED,
        0,
        part="using",
        message=f"the carrier of `{component.name}` is no ring that is known here",
        term=component.name,
        clause=component.origin,
        help="write `carrier: ring(bits)` or `carrier: ring(modulus: q)`, with a whole number of at least 2 residues",
    )


def _nowhere(view: StepView, plan: PlanView, carried_names: set[str]) -> Iterator[Obligation]:
    """Results of a method that no grid and no ring holds: nothing can be said about their wrapping."""
    for position, (spec, type_) in enumerate(zip(view.operator.results, view.step.types, strict=True)):
        if (
            type_ == UNKNOWN
            or plan.format_of(type_).kind not in ("exact", "float")
            or spec.name in carried_names
        ):
            continue
        name = "" if view.component is None else view.component.name
        yield Obligation(
            CODE,
            Verdict.UNPROVED,
            position,
            part=f"target{position}",
            message=f"nothing says in what format or ring `{name}` gives this result",
            term=spec.name,
            help=f"the component's record must say it: `gives: {{ {spec.name}: F }}` or `carrier: ring(bits)`",
        )


def _off_grid(carried: Carried) -> Obligation:
    text = f"{_told(carried)} may lie between the numbers of {ring_text(carried.modulus)}, and nothing says how it is rounded"
    return _between(carried, text, "quantize, rescale or cast it to a format with a grid before this step")


def _given_off_grid(carried: Carried) -> Obligation:
    text = f"the result may lie between the numbers of {ring_text(carried.modulus)}, in which the component gives it"
    return _between(
        carried,
        text,
        "quantize the operands to whole numbers before this step, or take a component that names the result's format",
    )


def _between(carried: Carried, message: str, help: str) -> Obligation:
    return Obligation(
        CODE, Verdict.UNPROVED, 0, part=carried.part, message=message, term=carried.name, help=help
    )


def _judge(view: StepView, carried: Carried, facts: Facts) -> Obligation:
    limit = centred(carried.modulus)
    ring = ring_text(carried.modulus)
    if facts.range is None:
        return Obligation(
            CODE,
            Verdict.UNPROVED,
            0,
            part=carried.part,
            message=f"nothing bounds {_told(carried)}, which must fit {ring}",
            limit=text(limit.high),
            term=carried.name,
            help="state a range of the inputs with `where abs(x) <= ...`",
        )
    raw = carried.raw
    assert raw is not None
    if inside(raw, limit):
        return Obligation(CODE, Verdict.PROVED, 0, evidence=(carried.name, text(raw.low), text(raw.high)))
    value, edge = excess_side(raw, limit)
    needs = bits_for(raw)
    return Obligation(
        CODE,
        Verdict.UNPROVED,
        0,
        part=carried.part,
        message=f"{_told(carried)} reaches {shown(value)}, outside {ring} which holds {shown_range(limit)}",
        value=text(value),
        limit=text(edge),
        term=facts.rule or carried.name,
        needs=str(needs),
        notes=(
            f"proved range {shown_range(raw)}" + (f", from {facts.rule}" if facts.rule else ""),
            *norm_hints(view, facts.rule),
        ),
        help=f"it needs a ring of {needs} bits, or a narrower range of the operands",
    )


def _told(carried: Carried) -> str:
    return "the result" if carried.part.startswith("target") else f"the operand `{carried.name}`"
