"""A linear layer of real numbers given to a component that multiplies integers.

    q, s = quantize(rows of x, to: activations, per: row)   where x lies
    p    = linear(q, stored w) using component
    y    = rescale(p, by: outer(s, stored w.scale))         where p arrives, in the shape of the plan

In: the step and its component. Out: the steps in its place. The last one stands where the plan encodes the exact sum: the
two roundings are one. Steps that read the same `x` share its quantisation. A weight that the plan stores as integers is taken
as it is: the plan scales the columns of the product itself, and only the rows are scaled here.
"""

from __future__ import annotations

from math import prod
from typing import TypeAlias

import msgspec

from pllm_lang.catalog.expr import ListOf, Num, Ref
from pllm_lang.catalog.records import Format
from pllm_lang.ir.lower.pipeline.placing import Pending, Placing, format_param, member_like
from pllm_lang.ir.plan import ComponentUse, Operand, Step, TensorType
from pllm_lang.ir.walk import family

LINEAR = "std.operators.linear"
QUANTIZE = "std.operators.quantize"
RESCALE = "std.operators.rescale"
OUTER = "std.operators.outer"
RESHAPE = "std.operators.reshape"
SCALE_ROWS = "std.operators.scale_rows"
SCALE_COLUMNS = "std.operators.scale_columns"
ROUNDED = ("std.operators.encode", "std.operators.cast")
"""Operators that put an exact sum into a format."""

Quantised: TypeAlias = dict[Operand, tuple[int, int]]
"""Values that are there as integers: the integers and the step of each row."""


def is_of_reals(placing: Placing, step: Step) -> bool:
    """A linear layer whose operand has to be quantised first."""
    formats = placing.slots.activations, placing.slots.weights
    return step.operator == LINEAR and None not in formats and _is_real(placing.format_of(step.operands[0]))


def quantised_linear(placing: Placing, step: Step, use: ComponentUse, known: Quantised) -> tuple[Step, ...]:
    activations, form = placing.slots.activations, placing.slots.weights
    assert activations is not None
    assert form is not None
    x, w = step.operands
    stored = _stored(placing, w, form)
    if stored is None:
        text = f"`{placing.name(step.results[0])}` multiplies by a matrix that is no weight, and nothing quantises it"
        placing.refuse(step.results[0], text, "store it as a weight, or give the step a component of its own")
        return (msgspec.structs.replace(step, use=use, party=""),)
    before: tuple[Step, ...] = ()
    if x not in known:
        before = _quantized_rows(placing, step, activations)
        known[x] = before[-1].results[0], before[-1].results[1]
    integers, rows = known[x]
    weight, scale = stored
    result, kind = step.results[0], step.types[0]
    placing.pending[result] = Pending(rows, scale, placing.made_at(use, 0, (x,)))
    product = msgspec.structs.replace(
        step,
        operands=(integers, weight),
        types=(TensorType(kind.format, _as_rows(kind.shape)),),
        use=use,
        party="",
    )
    return *before, product


def rescaled(placing: Placing, step: Step) -> tuple[Step, ...]:
    """The exact sum of a pending product, put into the format that the plan asks for."""
    product = family(step.operands[0])
    pending, sums, kind = placing.pending[product], placing.type_of(product), step.types[0]
    name, party = placing.name(product), pending.party
    if pending.scale is None:
        return _rows_scaled(placing, step, pending)
    factor = placing.new_value(f"{name}_scale", product)
    operands = (pending.step, pending.scale)
    outer = Step(OUTER, operands, (), (factor,), (sums,), party=party, structural=True)
    params = (("to", dict(step.params)["to"]), ("saturate", Ref("false")))
    if sums.shape == kind.shape:
        last = msgspec.structs.replace(
            step, operator=RESCALE, operands=(product, factor), params=params, use=None, party=party
        )
        return outer, last
    real = TensorType(kind.format, sums.shape)
    scaled = placing.new_value(f"{name}_rows", product)
    back = Step(RESCALE, (product, factor), params, (scaled,), (real,), party=party)
    return outer, back, _reshape(scaled, step.results[0], kind, party, step)


def _rows_scaled(placing: Placing, step: Step, pending: Pending) -> tuple[Step, ...]:
    """The same where the columns are scaled already, or need no scale."""
    product = family(step.operands[0])
    sums, kind, name, party = placing.type_of(product), step.types[0], placing.name(product), pending.party
    exact = placing.new_value(f"{name}_scale", product)
    scaled = Step(SCALE_ROWS, (product, pending.step), (), (exact,), (sums,), party=party)
    if sums.shape == kind.shape:
        return scaled, msgspec.structs.replace(step, operands=(exact,), use=None, party=party)
    real = placing.new_value(f"{name}_rows", product)
    kept = TensorType(kind.format, sums.shape)
    encoded = Step(step.operator, (exact,), step.params, (real,), (kept,), party=party)
    return scaled, encoded, _reshape(real, step.results[0], kind, party, step)


def is_column_scale(placing: Placing, step: Step) -> bool:
    """Whether the plan scales the columns of a pending product by itself."""
    pending = placing.pending.get(family(step.operands[0])) if step.operands else None
    return step.operator == SCALE_COLUMNS and pending is not None and pending.scale is None


def columns_scaled(placing: Placing, step: Step) -> Step:
    product = family(step.operands[0])
    placing.pending[step.results[0]] = placing.pending[product]
    kind = TensorType(step.types[0].format, placing.type_of(product).shape)
    return msgspec.structs.replace(step, types=(kind,), use=None, party=placing.pending[product].party)


def is_rescaled(placing: Placing, step: Step) -> bool:
    return step.operator in ROUNDED and family(step.operands[0]) in placing.pending


def _quantized_rows(placing: Placing, step: Step, form: Format) -> tuple[Step, ...]:
    """The operand as integers with a step for each row; the component multiplies matrices."""
    x = step.operands[0]
    kind, name, party = placing.type_of(x), placing.name(family(x)), placing.party_of((x,))
    shape = _as_rows(kind.shape)
    before: tuple[Step, ...] = ()
    if shape != kind.shape:
        flat = placing.new_value(f"{name}_rows", step.results[0])
        before = (_reshape(x, flat, TensorType(kind.format, shape), party),)
        x = flat
    integers = placing.new_value(f"{name}_int", step.results[0])
    rows = placing.new_value(f"{name}_step", step.results[0])
    types = (TensorType(placing.format(form), shape), TensorType(kind.format, shape[:-1]))
    params = (("to", format_param(types[0].format)), ("per", Ref("row")))
    return *before, Step(QUANTIZE, (x,), params, (integers, rows), types, party=party)


def _as_rows(shape: tuple[int, ...]) -> tuple[int, ...]:
    """All leading axes as one."""
    return prod(shape[:-1]), shape[-1]


def _reshape(x: Operand, result: int, kind: TensorType, party: str, like: Step | None = None) -> Step:
    shape = ListOf(tuple(Num(str(size)) for size in kind.shape))
    assumes = () if like is None else like.assumes
    return Step(
        RESHAPE, (x,), (("shape", shape),), (result,), (kind,), party=party, assumes=assumes, structural=True
    )


def _stored(placing: Placing, w: Operand, form: Format) -> tuple[Operand, Operand | None] | None:
    """The matrix as integers, and its scales where it was real in the plan; None where it is no weight."""
    source = placing.transposed.get(w) if isinstance(w, int) else None
    operand = w if source is None else source
    weight = placing.weight_of.get(family(operand))
    if weight is None:
        return None
    if placing.formats[weight.type.format].scale and source is None:
        return operand, None
    if not _is_real(placing.formats[weight.type.format]):
        return None
    stored = placing.store(weight, form, transposed=source is not None)
    return member_like(operand, stored.value), member_like(operand, stored.scale)


def _is_real(form: Format) -> bool:
    return form.kind == "float"
