"""What of a model a composition covers, by operator, before any plan is checked.

In: a semantic graph, the library, and a composition or none. Out: the rows of a coverage report. An operator is covered
where a component of a slot, or what the pipeline's record says of everything else, implements it; nothing is filled in.
Values, placement and material are not looked at, so the report is never `complete`: that takes `pllm check` of an
experiment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

import msgspec

from pllm_lang.artifacts.coverage_report import SCHEMA, Coverage, Level, Row
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.records import Component
from pllm_lang.models.graph import ModelGraph, Op

NOT_ASKED = ("bounds of values", "placement", "material", "assurance of deployments")
NO_PIPELINE = "what a pipeline covers (none was named)"
LARGEST_PRODUCT = 127 * 127
"""Of a weight and an activation in 8 bits, as masked linear layers have them."""
MASKED = "pllm/masked-linear"
MASKED_RING_BITS = 32
CONVERSIONS = ("quantize", "rescale")
"""What a product of integers needs before and after it: the operand in 8 bits, the result as a number again."""


class Slot(msgspec.Struct, frozen=True):
    """`record` is None for a component that the library does not know."""

    name: str
    id: str
    record: Component | None


class Composition(msgspec.Struct, frozen=True):
    """Components by slot; `rest` does what no slot does, None where nothing does."""

    slots: tuple[Slot, ...]
    rest: Component | None = None


class Use(msgspec.Struct, frozen=True):
    """An operation, how often it runs in prefill and decode together, and whether in the layers."""

    op: Op
    times: int
    in_layers: bool


def model_coverage(graph: ModelGraph, library: Library, given: Composition | None) -> Coverage:
    """Operators first, then conversions, bounds, roles, versions, host features and what is proved of protocols."""
    uses = tuple(_uses(graph))
    rows = list(_operator_rows(uses, library, given))
    if given is not None:
        rows += [*_conversion_rows(rows, library, given), *_ring_rows(graph, uses, given)]
        rows += [*_role_rows(given), *_component_rows(given), *_proof_rows(given)]
    not_asked = NOT_ASKED if given is not None else (NO_PIPELINE, *NOT_ASKED)
    return Coverage(SCHEMA, graph.config.model_type, False, tuple(rows), not_asked)


def _uses(graph: ModelGraph) -> Iterator[Use]:
    for stage in (graph.prefill, graph.decode):
        for repeat in stage.layers:
            times = len(repeat.layers)
            yield from (Use(op, times, True) for op in repeat.ops)
        yield from (Use(op, 1, False) for op in (*stage.before, *stage.after))


# ---- operators ----
def _operator_rows(uses: Iterable[Use], library: Library, given: Composition | None) -> Iterator[Row]:
    counts: dict[tuple[str, bool], int] = {}
    for use in uses:
        key = (use.op.operator, use.in_layers)
        counts[key] = counts.get(key, 0) + use.times
    rows: dict[tuple[str, Level, str], int] = {}
    for (operator, in_layers), times in counts.items():
        found = (operator, *_done(operator, in_layers, library, given))
        rows[found] = rows.get(found, 0) + times
    for (operator, level, by), times in rows.items():
        yield Row("operator", operator, level, by, times)


def _done(name: str, in_layers: bool, library: Library, given: Composition | None) -> tuple[Level, str]:
    """How an operation is covered, and by what; without a pipeline it is open which of the library's methods does it."""
    operator = _keys(library).get(name)
    if given is None and operator is not None:
        return "open", ", ".join(
            method.id for method in library.implementing(operator)
        ) or "no method is there"
    by, blocker = _method(name, in_layers, library, given)
    return ("covered", by) if by else ("missing", blocker)


def _method(name: str, in_layers: bool, library: Library, given: Composition | None) -> tuple[str, str]:
    """The id of the component that does an operation, or else what stands in the way."""
    operator = _keys(library).get(name)
    if operator is None:
        return "", "the library has no operator of this name"
    if given is None:
        return "", "no pipeline is given"
    chosen = [*(_records(given) if in_layers else ()), *([given.rest] if given.rest else ())]
    found = next((entry.id for entry in chosen if operator in entry.implements), "")
    return found, "" if found else "no component of the pipeline does it"


_kept: list[tuple[Library, dict[str, str]]] = []


def _keys(library: Library) -> dict[str, str]:
    """Keys of the library's operators by name; those of the last library are kept."""
    if not _kept or _kept[0][0] is not library:
        _kept[:] = [(library, {key.rsplit(".", 1)[1]: key for key in library.keys("operator")})]
    return _kept[0][1]


def _records(given: Composition) -> list[Component]:
    return [slot.record for slot in given.slots if slot.record is not None]


def _conversion_rows(operators: Iterable[Row], library: Library, given: Composition) -> Iterator[Row]:
    """Into and out of the integers of every product that a slot covers."""
    products = sum(row.occurrences for row in operators if row.by == MASKED)
    for name in CONVERSIONS if products else ():
        by, blocker = _method(name, False, library, given)
        yield Row("conversion", name, "covered" if by else "missing", by or blocker, products)


# ---- bounds and roles ----
def _ring_rows(graph: ModelGraph, uses: Iterable[Use], given: Composition) -> Iterator[Row]:
    """Whether each masked product fits its ring: K * 127 * 127 < 2^31 for K input features."""
    if MASKED not in {slot.id for slot in given.slots}:
        return
    sizes = {weight.name: prod(weight.shape) for weight in graph.weights}
    counts: dict[tuple[str, int], int] = {}
    for use in uses:
        if use.op.operator == "linear" and use.in_layers:
            key = (use.op.name, sizes[use.op.weights["weight"]] // use.op.shape[-1])
            counts[key] = counts.get(key, 0) + use.times
    for (name, features), times in counts.items():
        largest, limit = features * LARGEST_PRODUCT, 2 ** (MASKED_RING_BITS - 1)
        fits = largest < limit
        why = f"{features} * 127 * 127 = {largest} is {'below' if fits else 'not below'} 2^31"
        yield Row("bound", name, "covered" if fits else "missing", why, times)


def _role_rows(given: Composition) -> Iterator[Row]:
    """The roles that the components need: the client is always there, a slot names each other. Kernels run anywhere."""
    needed: dict[str, str] = {}
    for entry in _records(given):
        for role in entry.roles if entry.kind != "kernels" else ():
            needed.setdefault(role, entry.id)
    slots = {slot.name for slot in given.slots}
    for role, component in sorted(needed.items()):
        if role == "client" or role in slots:
            yield Row("role", role, "covered", component, 1)
        else:
            yield Row("role", role, "missing", f"{component} needs it, and no slot is named {role}", 1)


# ---- records ----
def _component_rows(given: Composition) -> Iterator[Row]:
    for slot in given.slots:
        if slot.record is None:
            yield Row("version", slot.name, "missing", f"the library has no record of {slot.id}", 1)
            continue
        yield Row("version", slot.name, "covered", f"{slot.id} version {slot.record.version}", 1)
        for feature in slot.record.host_features:
            yield Row("target", feature, "assumed", f"{slot.id} needs it of its host", 1)


def _proof_rows(given: Composition) -> Iterator[Row]:
    """Of a method between parties something is proved only where its protocol is written down."""
    for entry in _records(given):
        if entry.kind != "method" or not set(entry.roles) - {"client"}:
            continue
        if entry.protocol is None:
            why = "its protocol is not published, so nothing is proved of what its parties see"
            yield Row("assurance", entry.id, "missing", why, 1)
        else:
            yield Row("assurance", entry.id, "covered", "its protocol is proved by `pllm check`", 1)
