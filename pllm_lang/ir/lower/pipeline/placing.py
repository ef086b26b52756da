"""A plan under way to its pipeline: formats, values and weights that the placed plan gets, and who has what."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from pllm_lang.catalog.expr import NOWHERE, Origin, Ref
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.records import Format, OperandSpec
from pllm_lang.ir.lower.facts import NOTHING, Stated, facts_in, measured_bits, stored_bits
from pllm_lang.ir.lower.pipeline.slots import Slots
from pllm_lang.ir.lower.types import format_key
from pllm_lang.ir.plan import ComponentUse, Member, Operand, Placement, Plan, TensorType, Weight
from pllm_lang.ir.source_map import SourceMap
from pllm_lang.ir.walk import family, nodes
from pllm_lang.resolve.modules import FactsFile
from pllm_lang.text.finding import Finding, Span, Verdict


class Stored(msgspec.Struct, frozen=True):
    """A weight as integers, and the number that each of its rows is multiplied by."""

    value: int
    scale: int


class Pending(msgspec.Struct, frozen=True):
    """A product of integers that is not yet what the plan's step means: `step` scales its rows, and `scale` its columns,
    None where the plan itself multiplies by integers and scales them."""

    step: int
    scale: Operand | None
    party: str


class Placing:
    """`stated` says that the plan's own `@` and `using` were written by its author, so they stand."""

    def __init__(
        self,
        plan: Plan,
        places: SourceMap,
        slots: Slots,
        library: Library,
        facts: tuple[FactsFile, ...],
        stated: bool,
    ) -> None:
        self.plan, self.places, self.slots, self.library, self.stated = plan, places, slots, library, stated
        self.facts = facts
        self.values = dict(places.values)
        self.parts = dict(places.parts)
        self.formats = list(plan.formats)
        self.format_index = {format_key(one): index for index, one in enumerate(plan.formats)}
        self.types: dict[int, TensorType] = {}
        self.homes: dict[int, str] = {}
        self.weight_of = {weight.value: weight for weight in plan.weights}
        self.scale_of = {w.scale_of: w.value for w in plan.weights if w.scale_of >= 0}
        self.stored: dict[tuple[int, bool], Stored] = {}
        self.added: list[Weight] = []
        self.transposed: dict[int, Operand] = {}
        self.pending: dict[int, Pending] = {}
        self.findings: list[Finding] = []
        self.owner = _owner(plan)
        self.next_value = 1 + max((*places.values, *_numbers(plan)), default=-1)
        self._begin()

    def _begin(self) -> None:
        for given in (*self.plan.inputs, *self.plan.states, *(i for s in self.plan.stages for i in s.inputs)):
            self.types[given.value] = given.type
            self.homes[given.value] = home_of(given.placement)
        for given in (*self.plan.weights, *self.plan.constants):
            self.types[given.value] = given.type
            secret = isinstance(given, Weight) and given.secret_from
            self.homes[given.value] = NOBODY if secret else ""

    # ---- values and formats ----
    def new_value(self, name: str, like: int) -> int:
        """A value that the pipeline makes, found where `like` was written."""
        value, self.next_value = self.next_value, self.next_value + 1
        self.values[value] = (name, self.values[like][1] if like in self.values else NOWHERE)
        origin = self.parts.get((like, "step"))
        if origin is not None:
            self.parts[value, "step"] = origin
        return value

    def name(self, value: int) -> str:
        return self.values[value][0] if value in self.values else ""

    def type_of(self, operand: Operand) -> TensorType:
        return self.types[family(operand)]

    def format_of(self, operand: Operand) -> Format:
        return self.formats[self.type_of(operand).format]

    def format(self, form: Format) -> int:
        key = format_key(form)
        index = self.format_index.get(key)
        if index is None:
            index = self.format_index[key] = len(self.formats)
            self.formats.append(form)
        return index

    # ---- who has what ----
    def party_of(self, operands: Iterable[Operand]) -> str:
        """The party that has all operands in the clear; "" where there is no such party, or several bring them."""
        homes = {self.homes.get(family(operand), NOBODY) for operand in operands} - {""}
        if not homes:
            return self.owner
        return homes.pop() if len(homes) == 1 and NOBODY not in homes else ""

    def made_at(self, use: ComponentUse, position: int, operands: Iterable[Operand]) -> str:
        """Who gets the result of a component in the clear; whoever has the operands, where no protocol says."""
        component = self.library.component(use.key)
        if component is None or component.protocol is None:
            return self.party_of(operands) or NOBODY
        outputs, roles = component.protocol.outputs, dict(use.roles)
        spec = outputs[position] if position < len(outputs) else None
        match spec:
            case OperandSpec(placement=("to", Ref(name=role))):
                return roles.get(role, role)
            case _:
                return NOBODY

    # ---- stored weights ----
    def store(self, weight: Weight, form: Format, transposed: bool) -> Stored:
        """The weight as integers of `form` with one scale a row, made once."""
        known = self.stored.get((weight.value, transposed))
        if known is None:
            known = self.stored[weight.value, transposed] = self._store(weight, form, transposed)
        return known

    def _store(self, weight: Weight, form: Format, transposed: bool) -> Stored:
        name, shape = self.name(weight.value), weight.type.shape
        if transposed:
            shape = (*shape[:-2], shape[-1], shape[-2])
        value = self.new_value(name, weight.value)
        known = NOTHING if transposed else self.facts_of(weight, form)
        kind, checkpoint = TensorType(self.format(form), shape), known.checkpoint or weight.facts_key
        self._add(
            Weight(value, kind, weight.count, weight.secret_from, known.true, checkpoint, assumed=known.seen)
        )
        return Stored(value, self.scale(self.weight_of[value]))

    def scale(self, weight: Weight) -> int:
        """The scale that is stored beside a weight."""
        known = self.scale_of.get(weight.value)
        if known is not None:
            return known
        value = self.new_value(f"{self.name(weight.value)}.scale", weight.value)
        kind = TensorType(self.format(EXACT), weight.type.shape[:-1])
        self._add(Weight(value, kind, weight.count, weight.secret_from, (), weight.facts_key, weight.value))
        self.scale_of[weight.value] = value
        return value

    def facts_of(self, weight: Weight, form: Format) -> Stated:
        """What the experiment's facts files say of a weight that is stored in `form`; nothing where they measured other
        numbers than it stores, or another checkpoint than the plan's own facts of it."""
        name, count = self.name(weight.value), weight.count
        if measured_bits(self.facts, name, count) - {stored_bits(form)}:
            return NOTHING
        found = facts_in(self.facts, name, count)
        return found if weight.facts_key in ("", found.checkpoint) else NOTHING

    def _add(self, weight: Weight) -> None:
        self.added.append(weight)
        self.weight_of[weight.value] = weight
        self.types[weight.value] = weight.type
        self.homes[weight.value] = NOBODY if weight.secret_from else ""

    # ---- findings ----
    def refuse(self, value: int, message: str, help_: str) -> None:
        place: Origin = self.parts.get((value, "step")) or self.values.get(value, ("", self.places.plan))[1]
        span = Span(place.file, place.start, place.end)
        self.findings.append(
            Finding("coverage.missing_conversion", message, span, verdict=Verdict.REFUTED, help=help_)
        )


NOBODY = "-"
"""In place of a party: no single party has the value in the clear."""

EXACT = Format("exact", "exact")


def home_of(placement: Placement) -> str:
    """The one party that has a value in the clear, "" where it is public."""
    if placement.kind == "public":
        return ""
    one = placement.kind == "party" and len(placement.parties) == 1
    return placement.parties[0] if one else NOBODY


def member_like(operand: Operand, value: int) -> Operand:
    """The same member of another family."""
    return Member(value, operand.index) if isinstance(operand, Member) else value


def format_param(index: int) -> Ref:
    return Ref(f"%f{index}")


def _owner(plan: Plan) -> str:
    """The party that brings every input; "" where there are several."""
    given = (*plan.inputs, *(one for stage in plan.stages for one in stage.inputs))
    owners = {one.owner or home_of(one.placement) for one in given} - {""}
    return owners.pop() if len(owners) == 1 and NOBODY not in owners else ""


def _numbers(plan: Plan) -> Iterable[int]:
    given = (*plan.inputs, *plan.weights, *plan.states, *plan.constants)
    yield from (one.value for one in (*given, *(i for s in plan.stages for i in s.inputs)))
    for stage in plan.stages:
        for node, _ in nodes(stage.body):
            yield from getattr(node, "results", ())
