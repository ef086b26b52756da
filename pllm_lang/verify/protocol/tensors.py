"""Tensor values of a symbolic run: polynomials, or concatenations of them, and the structural maps on both.

A concatenation stays one (`Cat`), so a mask made of two draws side by side is two masks; operations go into
its parts. Where they cannot (a reshape across the seam) the whole becomes a call that nothing looks into.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeAlias

import msgspec

from pllm_lang.verify.protocol import index as ix
from pllm_lang.verify.protocol import polynomial as pl
from pllm_lang.verify.protocol.atoms import Atom, Atoms
from pllm_lang.verify.protocol.polynomial import Poly


class Cat(msgspec.Struct, frozen=True):
    """`parts` side by side along `axis`."""

    axis: int
    parts: tuple[Value, ...]


Value: TypeAlias = Poly | Cat


def shape_of(value: Value) -> tuple[int, ...]:
    if isinstance(value, Poly):
        return value.shape
    shapes = [shape_of(p) for p in value.parts]
    axis = value.axis
    return (*shapes[0][:axis], sum(s[axis] for s in shapes), *shapes[0][axis + 1 :])


def modulus_of(value: Value) -> int:
    return value.modulus if isinstance(value, Poly) else modulus_of(value.parts[0])


def parts_of(value: Value) -> list[Poly]:
    """The polynomials that the value consists of."""
    return [value] if isinstance(value, Poly) else [q for p in value.parts for q in parts_of(p)]


def concat(values: Sequence[Value], axis: int) -> Value:
    flat = [q for v in values for q in (v.parts if isinstance(v, Cat) and v.axis == axis else (v,))]
    return flat[0] if len(flat) == 1 else Cat(axis, tuple(flat))


def entrywise(fn: Callable[[list[Poly]], Poly], values: Sequence[Value]) -> Value:
    """`fn` on equal shapes, part by part."""
    cat = next((v for v in values if isinstance(v, Cat)), None)
    if cat is None:
        return fn([v for v in values if isinstance(v, Poly)])
    axis = cat.axis
    cuts = sorted({c for v in values if isinstance(v, Cat) and v.axis == axis for c in _cuts(v)})
    rows = [_cut(v, axis, cuts) for v in values]
    return concat([entrywise(fn, column) for column in zip(*rows, strict=True)], axis)


def _cuts(cat: Cat) -> list[int]:
    out = [0]
    for part in cat.parts:
        out.append(out[-1] + shape_of(part)[cat.axis])
    return out


def _cut(value: Value, axis: int, cuts: Sequence[int]) -> list[Value]:
    return [slice_axis(value, axis, a, b) for a, b in pairwise(cuts)]


def slice_axis(value: Value, axis: int, start: int, stop: int, step: int = 1) -> Value:
    if start == 0 and step == 1 and stop == shape_of(value)[axis]:
        return value
    if isinstance(value, Poly):
        shape = _with(value.shape, axis, -(-(stop - start) // step))
        return pl.remap(value, _entry(shape, axis, lambda i: ix.linear(start, [(step, i)])), shape)
    if value.axis != axis:
        return Cat(value.axis, tuple(slice_axis(p, axis, start, stop, step) for p in value.parts))
    if step != 1:
        return gather_axis(value, axis, tuple(range(start, stop, step)))
    out: list[Value] = []
    for part, (low, high) in zip(value.parts, pairwise(_cuts(value)), strict=True):
        if max(low, start) < min(high, stop):
            out.append(slice_axis(part, axis, max(low, start) - low, min(high, stop) - low))
    return concat(out, axis)


def gather_axis(value: Value, axis: int, indices: tuple[int, ...]) -> Value:
    if isinstance(value, Poly):
        shape = _with(value.shape, axis, len(indices))
        return pl.remap(value, _entry(shape, axis, lambda i: ix.lookup(indices, i)), shape)
    if value.axis != axis:
        return Cat(value.axis, tuple(gather_axis(p, axis, indices) for p in value.parts))
    return concat([slice_axis(value, axis, i, i + 1) for i in indices], axis)


def _with(shape: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    return (*shape[:axis], size, *shape[axis + 1 :])


def _entry(shape: tuple[int, ...], axis: int, change: Callable[[ix.Index], ix.Index]) -> tuple[ix.Index, ...]:
    """The entry itself but for one axis."""
    at = [ix.variable(v, shape) for v in range(len(shape))]
    at[axis] = change(at[axis])
    return tuple(at)


def transpose(value: Value, axes: tuple[int, ...]) -> Value:
    """Axis `a` of the result is axis `axes[a]` of the value."""
    if isinstance(value, Cat):
        return Cat(axes.index(value.axis), tuple(transpose(p, axes) for p in value.parts))
    shape = tuple(value.shape[a] for a in axes)
    return pl.remap(value, tuple(ix.variable(axes.index(a), shape) for a in range(len(axes))), shape)


def broadcast(value: Value, axis: int, size: int) -> Value:
    if isinstance(value, Cat):
        moved = value.axis + (value.axis >= axis)
        return Cat(moved, tuple(broadcast(p, axis, size) for p in value.parts))
    shape = (*value.shape[:axis], size, *value.shape[axis:])
    entry = tuple(ix.variable(v, shape) for v in range(len(shape)) if v != axis)
    return pl.remap(value, entry, shape)


def sum_axis(value: Value, axis: int) -> Value:
    if isinstance(value, Cat):
        parts = [sum_axis(p, axis) for p in value.parts]
        if value.axis == axis:
            return entrywise(lambda ps: pl.add(*ps), parts)
        return Cat(value.axis - (value.axis > axis), tuple(parts))
    size = value.shape[axis]
    shape = value.shape[:axis] + value.shape[axis + 1 :]
    dims = (*shape, size)
    kept = [ix.variable(v, dims) for v in range(len(shape))]
    entry = [*kept[:axis], ix.variable(len(shape), dims), *kept[axis:]]
    return pl.remap(value, entry, shape, (size,))


def reshape(value: Value, shape: tuple[int, ...], atoms: Atoms) -> Value:
    if isinstance(value, Cat):
        old = shape_of(value)
        kept = [a for a, d in enumerate(old) if d != 1]
        wide = [a for a, d in enumerate(shape) if d != 1]
        if [old[a] for a in kept] == [shape[a] for a in wide] and value.axis in kept:
            axis = wide[kept.index(value.axis)]
            sizes = [shape_of(p)[value.axis] for p in value.parts]
            parts = zip(value.parts, sizes, strict=True)
            return Cat(
                axis, tuple(reshape(p, (*shape[:axis], n, *shape[axis + 1 :]), atoms) for p, n in parts)
            )
    poly = joined(value, atoms)
    at = tuple(ix.variable(v, shape) for v in range(len(shape)))
    return pl.remap(poly, ix.unflatten(ix.flatten(at, shape), poly.shape, shape), shape)


def joined(value: Value, atoms: Atoms) -> Poly:
    """One polynomial; a concatenation becomes a call."""
    if isinstance(value, Poly):
        return value
    modulus, shape = modulus_of(value), shape_of(value)
    args = tuple(joined(p, atoms) for p in value.parts)
    call = atoms.add(Atom("concat", "call", modulus, shape, args=args, params=(value.axis,)))
    return pl.whole(call, modulus, shape)


def multiply(left: Value, right: Value) -> Value:
    def entry_product(pair: list[Poly]) -> Poly:
        shape = pair[0].shape
        at = tuple(ix.variable(v, shape) for v in range(len(shape)))
        return pl.product(pair[0], at, pair[1], at, shape)

    return entrywise(entry_product, [left, right])


def matmul(left: Value, right: Value) -> Value:
    """`[..., m, k] x [..., k, n]`, leading axes equal."""
    rank = len(shape_of(left))
    for value, inner in ((left, rank - 1), (right, rank - 2)):
        if isinstance(value, Cat) and value.axis == inner:
            cuts = _cuts(value)
            pairs = zip(_cut(left, rank - 1, cuts), _cut(right, rank - 2, cuts), strict=True)
            return entrywise(lambda ps: pl.add(*ps), [matmul(a, b) for a, b in pairs])
    if isinstance(left, Cat):
        cuts = _cuts(left)
        rights = _cut(right, left.axis, cuts) if left.axis < rank - 2 else [right] * len(left.parts)
        return concat([matmul(a, b) for a, b in zip(left.parts, rights, strict=True)], left.axis)
    if isinstance(right, Cat):
        lefts = _cut(left, right.axis, _cuts(right)) if right.axis < rank - 2 else [left] * len(right.parts)
        return concat([matmul(a, b) for a, b in zip(lefts, right.parts, strict=True)], right.axis)
    shape = (*left.shape[:-1], right.shape[-1])
    dims = (*shape, left.shape[-1])
    lead = [ix.variable(v, dims) for v in range(rank - 2)]
    m, n, k = (ix.variable(v, dims) for v in (rank - 2, rank - 1, rank))
    return pl.product(left, [*lead, m, k], right, [*lead, k, n], shape, (left.shape[-1],))
