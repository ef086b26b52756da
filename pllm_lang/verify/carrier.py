"""The ring in which a step's component computes, and the values that must fit it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import msgspec

from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import exact_term
from pllm_lang.catalog.expr import Apply, Expr, Item
from pllm_lang.catalog.facts import Facts, Interval
from pllm_lang.exact.number import normal, power
from pllm_lang.ir.plan import UNKNOWN, TensorType
from pllm_lang.verify.limits import centred, inside
from pllm_lang.verify.stored import on_grid
from pllm_lang.verify.view import PlanView, StepView
from pllm_lang.verify.wrapping import rounds


class Carried(msgspec.Struct, frozen=True):
    """A value in a carrier: `raw` is its range in the ring's units (fraction bits counted), None where unknown."""

    name: str
    part: str
    modulus: int
    facts: Facts
    raw: Interval | None


def carrier_modulus(view: StepView, plan: PlanView) -> int | None:
    """The modulus of the component's `carrier`, else that of the operands' or results' format."""
    component = view.component
    if component is not None and component.carrier is not None:
        return ring_modulus(component.carrier, view)
    for type_ in (*view.step.types, *view.operand_types):
        if type_ != UNKNOWN and plan.format_of(type_).modulus:
            return int(plan.format_of(type_).modulus)
    return None


def ring_modulus(ring: Expr, view: StepView) -> int | None:
    """The modulus that `ring(bits)`, `ring(modulus: q)` or a typed tensor of it stands for; None for anything else."""
    return modulus_in(ring, view.env)


def modulus_in(ring: Expr, env: Env) -> int | None:
    """The same where only parameters and formats are known."""
    if isinstance(ring, Item):
        return modulus_in(ring.base, env)
    if not isinstance(ring, Apply) or ring.fn != "ring":
        return None
    named = dict(ring.named)
    stated = named.get("modulus") or next(iter(ring.args), None)
    size = None if stated is None else exact_term(stated, env)
    modulus = size if size is None or "modulus" in named else power(2, size)
    return modulus if isinstance(modulus, int) and modulus >= 2 else None


def carried_values(view: StepView, plan: PlanView) -> Iterator[Carried]:
    """The operands and results that the component takes into its carrier or gives out of it."""
    component = view.component
    if component is None:
        return
    protocol = component.protocol
    own = (
        {} if protocol is None else {spec.name: spec.format for spec in (*protocol.inputs, *protocol.outputs)}
    )
    for name, part, type_, facts in _values(view):
        ring = own.get(name) or component.carrier
        modulus = None if ring is None else ring_modulus(ring, view)
        if modulus is not None:
            yield Carried(name, part, modulus, facts, _raw(facts, type_, plan))


def embedded_values(view: StepView, plan: PlanView) -> Iterator[Carried]:
    """Those that a narration calls by a format which is in no ring here, as `F[...s]` where F is `int32`: the carrier holds them.

    Under a policy they are asked where the text is followed (`protocol.scale`).
    """
    component = view.component
    if (
        plan.policy is not None
        or component is None
        or component.protocol is None
        or component.carrier is None
    ):
        return
    modulus = ring_modulus(component.carrier, view)
    own = {spec.name: spec.format for spec in (*component.protocol.inputs, *component.protocol.outputs)}
    for name, part, type_, facts in _values(view):
        kind = _kind(type_, plan)
        if modulus is None or name not in own or ring_modulus(own[name], view) is not None:
            continue
        if kind in ("int", "fixed") and not plan.format_of(type_).modulus:
            yield Carried(name, part, modulus, facts, _raw(facts, type_, plan))


def outside_carrier(view: StepView, plan: PlanView) -> set[str]:
    """Names of the operands and results that are known to leave their ring, or about which nothing is known."""
    values = carried_values(view, plan)
    return {one.name for one in values if one.raw is None or not inside(one.raw, centred(one.modulus))}


def is_between(carried: Carried, view: StepView, plan: PlanView) -> bool:
    """Whether an operand may lie between the ring's numbers: a float, or an exact result off its unit."""
    if not carried.part.startswith("operand"):
        return False
    kind = _kind(view.operand_types[int(carried.part.removeprefix("operand"))], plan)
    return kind == "float" or (kind == "exact" and not on_grid(carried.facts.unit, 1))


def is_given_between(carried: Carried, view: StepView, plan: PlanView) -> bool:
    """Whether a result without a format of its own may lie between the ring's numbers: a product of fractions."""
    if not carried.part.startswith("target"):
        return False
    position = int(carried.part.removeprefix("target"))
    type_ = view.step.types[position]
    return _kind(type_, plan) in ("float", "exact") and rounds(view, position, plan.format_of(type_))


def _kind(type_: TensorType, plan: PlanView) -> str:
    return "" if type_ == UNKNOWN else plan.format_of(type_).kind


def _values(view: StepView) -> Iterator[tuple[str, str, TensorType, Facts]]:
    operands = zip(view.operator.operands, view.operand_types, strict=False)
    for position, (spec, type_) in enumerate(operands):
        yield spec.name, f"operand{position}", type_, view.env.facts[spec.name]
    for position, (spec, type_) in enumerate(zip(view.operator.results, view.step.types, strict=True)):
        yield spec.name, f"target{position}", type_, view.derived[position]


def _raw(facts: Facts, type_: TensorType, plan: PlanView) -> Interval | None:
    if facts.range is None:
        return None
    frac = 0 if type_ == UNKNOWN else plan.format_of(type_).frac
    unit = Fraction(2) ** frac
    return Interval(normal(facts.range.low * unit), normal(facts.range.high * unit))
