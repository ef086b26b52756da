"""Expressions over actual tensors of integers: the plain meaning of every form.

In: an expression and the tensors of its names (residues 0..modulus-1, or exact integers). Out: a tensor.
Written entry by entry, so that it can be believed at sight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from itertools import product as tuples

import msgspec

from pllm_lang.ir import protocol as ir
from pllm_lang.verify.protocol.sizes import Sizes


class Tensor(msgspec.Struct, frozen=True):
    """Row-major entries, residues modulo `modulus` (0: integers)."""

    shape: tuple[int, ...]
    entries: tuple[int, ...]
    modulus: int

    def at(self, entry: Sequence[int]) -> int:
        flat = 0
        for size, position in zip(self.shape, entry, strict=True):
            flat = flat * size + position
        return self.entries[flat]


def build(shape: tuple[int, ...], modulus: int, entry: Callable[[tuple[int, ...]], int]) -> Tensor:
    """The tensor with these entries, reduced."""
    values = [entry(at) for at in tuples(*(range(d) for d in shape))]
    return Tensor(shape, tuple(v % modulus for v in values) if modulus else tuple(values), modulus)


def modulus_of(number: ir.Number) -> int:
    return number.modulus if isinstance(number, ir.Ring) else 0


def compute(expr: ir.Expr, name: Callable[[str], Tensor], sizes: Sizes) -> Tensor:
    """The value of `expr`; shapes and rings must fit (the prover has said so)."""

    def go(e: ir.Expr) -> Tensor:
        return compute(e, name, sizes)

    match expr:
        case ir.Ref():
            return name(expr.name)
        case ir.Const():
            shape = sizes.shape(expr.type.shape)
            return build(shape, modulus_of(expr.type.number), lambda _: expr.value)
        case ir.Add():
            terms = [go(t) for t in expr.terms]
            return build(terms[0].shape, terms[0].modulus, lambda at: sum(t.at(at) for t in terms))
        case ir.Scale():
            arg = go(expr.arg)
            return build(arg.shape, arg.modulus, lambda at: expr.factor * arg.at(at))
        case ir.Mul():
            left, right = go(expr.left), go(expr.right)
            return build(left.shape, left.modulus, lambda at: left.at(at) * right.at(at))
        case ir.MatMul():
            return _matmul(go(expr.left), go(expr.right))
        case ir.Concat():
            return _concat([go(a) for a in expr.args], expr.axis)
        case ir.Call():
            return _call(expr, [go(a) for a in expr.args], sizes)
        case _:
            return _unary(expr, go(expr.arg), sizes)


def _unary(
    expr: ir.Transpose | ir.Reshape | ir.Slice | ir.Gather | ir.Sum | ir.Broadcast | ir.Cast | ir.Shift,
    arg: Tensor,
    sizes: Sizes,
) -> Tensor:
    shape, m = arg.shape, arg.modulus
    match expr:
        case ir.Transpose():
            axes = expr.axes or (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2)
            turned = tuple(shape[a] for a in axes)
            return build(turned, m, lambda at: arg.at([at[axes.index(a)] for a in range(len(axes))]))
        case ir.Reshape():
            return Tensor(sizes.shape(expr.shape), arg.entries, m)
        case ir.Slice():
            return _pick(arg, expr.axis, tuple(range(expr.start, expr.stop, expr.step)))
        case ir.Gather():
            return _pick(arg, expr.axis, expr.indices)
        case ir.Sum():
            a = expr.axis
            rest = shape[:a] + shape[a + 1 :]
            return build(rest, m, lambda at: sum(arg.at((*at[:a], i, *at[a:])) for i in range(shape[a])))
        case ir.Broadcast():
            a = expr.axis
            wide = (*shape[:a], sizes.of(expr.size), *shape[a:])
            return build(wide, m, lambda at: arg.at(at[:a] + at[a + 1 :]))
        case ir.Cast():
            return build(shape, modulus_of(expr.number), arg.at)
        case ir.Shift():
            return build(shape, m, lambda at: _centred(arg.at(at), m, expr.signed) >> expr.bits)


def _centred(value: int, modulus: int, signed: bool) -> int:
    return value - modulus if signed and modulus and 2 * value >= modulus else value


def _pick(arg: Tensor, axis: int, indices: tuple[int, ...]) -> Tensor:
    shape = (*arg.shape[:axis], len(indices), *arg.shape[axis + 1 :])
    return build(shape, arg.modulus, lambda at: arg.at((*at[:axis], indices[at[axis]], *at[axis + 1 :])))


def _matmul(left: Tensor, right: Tensor) -> Tensor:
    shape = (*left.shape[:-1], right.shape[-1])

    def entry(at: tuple[int, ...]) -> int:
        lead, m, n = at[:-2], at[-2], at[-1]
        return sum(left.at((*lead, m, k)) * right.at((*lead, k, n)) for k in range(left.shape[-1]))

    return build(shape, left.modulus, entry)


def _concat(args: list[Tensor], axis: int) -> Tensor:
    total = sum(a.shape[axis] for a in args)
    shape = (*args[0].shape[:axis], total, *args[0].shape[axis + 1 :])

    def entry(at: tuple[int, ...]) -> int:
        place = at[axis]
        for arg in args:
            if place < arg.shape[axis]:
                return arg.at((*at[:axis], place, *at[axis + 1 :]))
            place -= arg.shape[axis]
        raise AssertionError("an entry lies beyond the parts")

    return build(shape, args[0].modulus, entry)


def _call(expr: ir.Call, args: list[Tensor], sizes: Sizes) -> Tensor:
    """A table is looked up; a function known by name only is some fixed function of its arguments."""
    modulus, shape = modulus_of(expr.type.number), sizes.shape(expr.type.shape)
    if expr.table:
        return build(shape, modulus, lambda at: expr.table[args[0].at(at) % len(expr.table)])
    seed = repr((expr.fn, [(a.shape, a.entries) for a in args])).encode()
    below = modulus or 1 << (expr.type.number.bits if isinstance(expr.type.number, ir.Integer) else 1)
    count = 1
    for dim in shape:
        count *= dim
    words = [int.from_bytes(sha256(seed + str(i).encode()).digest(), "big") for i in range(count)]
    return Tensor(shape, tuple(w % below for w in words), modulus)
