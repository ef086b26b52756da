"""What of a model a pipeline covers, by operator, before any plan is checked.

In: a semantic graph, and a pipeline or none. Out: the rows of a coverage report. An operator is covered where a
component of the pipeline, or what the profile's record says of everything else, implements it; nothing is
filled in. Values, placement and material are not looked at, so the report is never `complete`: that takes
`pllm check` of an experiment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from math import prod

import msgspec

from pllm_lang.artifacts.coverage import SCHEMA, Coverage, Row
from pllm_lang.catalog.expr import Ref
from pllm_lang.catalog.records import Component as ComponentEntry
from pllm_lang.models.graph import ModelGraph, Op
from pllm_lang.sdk.library import shipped_library
from pllm_lang.sdk.pipeline import Pipeline
from pllm_lang.sdk.profiles import Profile
from pllm_lang.sdk.protocols import MaskedLinear

NOT_ASKED = ("bounds of values", "placement", "material", "assurance")
LARGEST_PRODUCT = 127 * 127
"""Of a weight and an activation in 8 bits, as masked linear layers have them."""
MASKED_RING_BITS = 32


class Use(msgspec.Struct, frozen=True):
    """An operation, how often it runs in prefill and decode together, and whether in the layers."""

    op: Op
    times: int
    in_layers: bool


def model_coverage(graph: ModelGraph, pipeline: Pipeline | None) -> Coverage:
    """The report: operators first, then bounds, roles, host features and unknown components."""
    uses = tuple(_uses(graph))
    rows = list(_operator_rows(uses, pipeline))
    if pipeline is not None:
        rows += [*_ring_rows(graph, uses, pipeline), *_role_rows(pipeline), *_component_rows(pipeline)]
    return Coverage(SCHEMA, graph.config.model_type, False, tuple(rows), NOT_ASKED)


def _uses(graph: ModelGraph) -> Iterator[Use]:
    for stage in (graph.prefill, graph.decode):
        for repeat in stage.layers:
            yield from (Use(op, len(repeat.layers), True) for op in repeat.ops)
        yield from (Use(op, 1, False) for op in (*stage.before, *stage.after))


def _operator_rows(uses: Iterable[Use], pipeline: Pipeline | None) -> Iterator[Row]:
    counts: dict[tuple[str, str, str], int] = {}
    for use in uses:
        by, blocker = _method(use, pipeline)
        key = (use.op.operator, by, blocker)
        counts[key] = counts.get(key, 0) + use.times
    for (operator, by, blocker), times in counts.items():
        yield Row("operator", operator, "covered" if by else "missing", by or blocker, times)


def _method(use: Use, pipeline: Pipeline | None) -> tuple[str, str]:
    """The id of the component that does an operation, or else what stands in the way."""
    operator = _operators().get(use.op.operator)
    if operator is None:
        return "", "the library has no operator of this name"
    if pipeline is None:
        methods = ", ".join(method.id for method in shipped_library().implementing(operator))
        return "", f"no pipeline is given; methods for it: {methods}"
    chosen = [*(_slots(pipeline) if use.in_layers else ()), *_everything_else(pipeline)]
    found = next((entry.id for entry in chosen if operator in entry.implements), "")
    return found, "" if found else "no component of the pipeline does it"


@cache
def _operators() -> dict[str, str]:
    """Keys of the library's operators by name."""
    return {key.rsplit(".", 1)[1]: key for key in shipped_library().keys("operator")}


def _slots(pipeline: Pipeline) -> list[ComponentEntry]:
    """The records of the components in the slots; inside the layers these come first."""
    return [record for used in pipeline.components.values() if (record := used.record) is not None]


def _everything_else(pipeline: Pipeline) -> list[ComponentEntry]:
    """What the profile's record says of operators that no slot names, as outside of the layers."""
    stated = pipeline.record.fields.get("everything_else") if isinstance(pipeline, Profile) else None
    found = shipped_library().component(stated.name) if isinstance(stated, Ref) else None
    return [] if found is None else [found]


def _ring_rows(graph: ModelGraph, uses: Iterable[Use], pipeline: Pipeline) -> Iterator[Row]:
    """Whether each masked product fits its ring: K * 127 * 127 < 2^31 for K input features."""
    if MaskedLinear.id not in {used.component for used in pipeline.components.values()}:
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


def _role_rows(pipeline: Pipeline) -> Iterator[Row]:
    """The roles that the components need: the client is always there, a slot names each other."""
    needed: dict[str, str] = {}
    for entry in _slots(pipeline):
        for role in entry.roles:
            needed.setdefault(role, entry.id)
    for role, component in sorted(needed.items()):
        if role == "client" or role in pipeline.components:
            yield Row("role", role, "covered", component, 1)
        else:
            yield Row("role", role, "missing", f"{component} needs it, and no slot is named {role}", 1)


def _component_rows(pipeline: Pipeline) -> Iterator[Row]:
    for slot, used in pipeline.components.items():
        record = used.record
        if record is None:
            yield Row("version", slot, "missing", f"the library has no record of {used.component}", 1)
            continue
        yield Row("version", slot, "covered", f"{record.id} version {record.version}", 1)
        for feature in record.host_features:
            yield Row("target", feature, "assumed", f"{record.id} needs it of its host", 1)
