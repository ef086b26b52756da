"""The composition of a pipeline's record as the SDK's documents have it: one component a slot.

In: the library, and how an experiment names a pipeline. Out: components by slot with the SDK's parameters, what the
SDK decides by itself, and what its format cannot say. What the SDK's client always does, a cache of its own and every
operator that no slot names, is no slot of its documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from pllm_lang.catalog import expr as ex
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.records import Record
from pllm_lang.interchange.errors import ExportRefused
from pllm_lang.interchange.experiment.check import read_components
from pllm_lang.interchange.experiment.component import component_used
from pllm_lang.interchange.experiment.document import ComponentDoc
from pllm_lang.ir.words import show_expr

NAMED_SLOTS = frozenset({"linear", "preparation", "inference", "verification", "kernels"})
"""Slots of the SDK that are fields of a pipeline; `slots: { name: component }` holds the others."""
OTHER_SLOTS = "slots"
OF_THE_CLIENT = {
    "state": "std.components.client_local_kv",
    "outside_layers": "std.methods.clear",
    "everything_else": "std.methods.clear",
}
"""What the SDK's client does without being told."""
OF_THE_RUNTIME = {
    "std.components.masked_linear": {"activations": "std.formats.act8", "weights": "std.formats.weight8"}
}
"""The formats that the SDK's runtime of a linear method takes without being told."""
ABOUT_THE_RECORD = frozenset({"profile", "runtime", "source"})


class Composition(msgspec.Struct, frozen=True):
    """`lost` is what the format cannot say, by path; `left_to_sdk` what its runtime decides, by path."""

    components: dict[str, ComponentDoc]
    lost: dict[str, str]
    left_to_sdk: dict[str, str]


def composition_of(library: Library, value: ex.Expr) -> Composition:
    """The composition that `pipeline: value` names. Errors: `ExportRefused`, `ComponentError`, `ExperimentError`."""
    record, given = _pipeline(library, value)
    arguments = _arguments(record, given)
    components: dict[str, Any] = {}
    lost: dict[str, str] = {}
    left: dict[str, str] = {}
    implied = OF_THE_CLIENT | OF_THE_RUNTIME.get(_key(record.fields.get("linear")), {})
    for slot, named in _entries(record, implied):
        if library.component(_key(arguments.get(slot, named))) is None and slot not in NAMED_SLOTS:
            lost[f"pipeline.{slot}"] = f"the document has no place for {show_expr(named)}"
            continue
        used = component_used(library, named, f"pipeline.{slot}", arguments)
        components[slot] = msgspec.to_builtins(used.component)
        lost |= used.lost
        left |= used.left_to_sdk
    return Composition(read_components(components), lost, left)


def _key(value: ex.Expr | None) -> str:
    """The declaration that an expression names, "" for none."""
    return value.fn if isinstance(value, ex.Apply) else value.name if isinstance(value, ex.Ref) else ""


def _pipeline(library: Library, value: ex.Expr) -> tuple[Record, dict[str, ex.Expr]]:
    """The record of the pipeline, of a suite the one that it is made of, and the arguments given."""
    record = library.get(_key(value))
    if isinstance(record, Record) and record.kind == "suite" and isinstance(value, ex.Ref):
        value = record.fields["pipeline"]
        record = library.get(_key(value))
    if not isinstance(record, Record) or record.kind != "pipeline":
        raise ExportRefused(f"{show_expr(value)} is no pipeline", "pipeline")
    if isinstance(value, ex.Apply) and value.args:
        raise ExportRefused("the arguments of a pipeline have names", "pipeline")
    return record, dict(value.named) if isinstance(value, ex.Apply) else {}


def _arguments(record: Record, given: Mapping[str, ex.Expr]) -> dict[str, ex.Expr]:
    known = {param.name: param.default for param in record.params}
    for name in given:
        if name not in known:
            raise ExportRefused(f"the pipeline {record.name} has no parameter {name}", "pipeline")
    values = {**known, **given}
    for name, value in values.items():
        if value is None:
            raise ExportRefused(f"the pipeline {record.name} needs {name}", "pipeline")
    return {name: value for name, value in values.items() if value is not None}


def _entries(record: Record, implied: Mapping[str, str]) -> Iterator[tuple[str, ex.Expr]]:
    """The slots of a record that its documents name; an operator's field is the slot with its bare name."""
    fields = {n: v for n, v in record.fields.items() if n not in {OTHER_SLOTS, *ABOUT_THE_RECORD}}
    others = record.fields.get(OTHER_SLOTS)
    written = {slot: value for slot, value in fields.items() if value != ex.Ref(implied.get(slot, ""))}
    yield from written.items()
    for slot, value in others.entries if isinstance(others, ex.MapOf) else ():
        if slot in written:
            raise ExportRefused(f"the slot {slot} is filled twice", "pipeline")
        yield slot, value
