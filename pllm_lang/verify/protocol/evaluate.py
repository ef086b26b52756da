"""Expressions of a protocol to terms: the symbolic meaning of each form.

In: an expression and the values of its names; out: a value in normal form. A form that is applied to wrong
shapes or number types raises `Misfit`, which the narration turns into a finding at the statement.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from pllm_lang.ir import protocol as ir
from pllm_lang.verify.protocol import polynomial as pl
from pllm_lang.verify.protocol import tensors as tn
from pllm_lang.verify.protocol.atoms import Atom, Atoms, homomorphic
from pllm_lang.verify.protocol.polynomial import Poly
from pllm_lang.verify.protocol.ranges import integer_bits
from pllm_lang.verify.protocol.sizes import Sizes
from pllm_lang.verify.protocol.substitution import lifted, unlifted
from pllm_lang.verify.protocol.tensors import Value


class Misfit(Exception):
    """Shapes or number types do not fit; the text says which."""


def modulus_of(number: ir.Number) -> int:
    return number.modulus if isinstance(number, ir.Ring) else 0


def evaluate(
    expr: ir.Expr,
    name: Callable[[str], Value],
    atoms: Atoms,
    sizes: Sizes,
    key: Callable[[str], str] = str,
) -> Value:
    """The term of `expr`; `name` gives the value of a variable, `key` what tells one key from another."""

    def go(e: ir.Expr) -> Value:
        return evaluate(e, name, atoms, sizes, key)

    match expr:
        case ir.Ref():
            return name(expr.name)
        case ir.Const():
            return pl.number(expr.value, modulus_of(expr.type.number), sizes.shape(expr.type.shape))
        case ir.Add():
            terms = [go(t) for t in expr.terms]
            _same(terms)
            return tn.entrywise(lambda ps: pl.add(*ps), terms)
        case ir.Scale():
            return tn.entrywise(lambda ps: unlifted(pl.scale(expr.factor, ps[0]), atoms), [go(expr.arg)])
        case ir.Mul():
            pair = [go(expr.left), go(expr.right)]
            _same(pair)
            return tn.multiply(*pair)
        case ir.MatMul():
            left, right = go(expr.left), go(expr.right)
            _matrices(left, right)
            return tn.matmul(left, right)
        case ir.Cast():
            target = modulus_of(expr.number)
            return tn.entrywise(lambda ps: cast(ps[0], target, atoms), [go(expr.arg)])
        case ir.Shift():
            return tn.entrywise(lambda ps: _shift(ps[0], expr, atoms), [go(expr.arg)])
        case ir.Call():
            return _call(expr, [tn.joined(go(a), atoms) for a in expr.args], atoms, sizes, key)
        case _:
            return _structural(expr, go, atoms, sizes)


def _structural(
    expr: ir.Transpose | ir.Reshape | ir.Slice | ir.Gather | ir.Concat | ir.Sum | ir.Broadcast,
    go: Callable[[ir.Expr], Value],
    atoms: Atoms,
    sizes: Sizes,
) -> Value:
    if isinstance(expr, ir.Concat):
        args = [go(a) for a in expr.args]
        _side_by_side(args, expr.axis)
        return tn.concat(args, expr.axis)
    value = go(expr.arg)
    shape = tn.shape_of(value)
    match expr:
        case ir.Transpose():
            axes = expr.axes or (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2)
            _need(sorted(axes) == list(range(len(shape))), f"transpose {axes} of {len(shape)} axes")
            return tn.transpose(value, axes)
        case ir.Reshape():
            target = sizes.shape(expr.shape)
            _need(_size(target) == _size(shape), "a reshape keeps the number of entries")
            return tn.reshape(value, target, atoms)
        case ir.Slice():
            inside = 0 <= expr.start < expr.stop <= shape[_axis(expr.axis, shape)] and expr.step >= 1
            _need(inside, f"slice {expr.start}:{expr.stop} leaves the axis")
            return tn.slice_axis(value, expr.axis, expr.start, expr.stop, expr.step)
        case ir.Gather():
            size = shape[_axis(expr.axis, shape)]
            _need(bool(expr.indices) and all(0 <= i < size for i in expr.indices), "an index leaves the axis")
            return tn.gather_axis(value, expr.axis, expr.indices)
        case ir.Sum():
            return tn.sum_axis(value, _axis(expr.axis, shape))
        case ir.Broadcast():
            _need(0 <= expr.axis <= len(shape), "no such place for a new axis")
            return tn.broadcast(value, expr.axis, sizes.of(expr.size))
        case _:
            assert_never(expr)


def cast(poly: Poly, target: int, atoms: Atoms) -> Poly:
    """Representatives in another modulus: coefficient-wise where that is a homomorphism."""
    if poly.modulus == target:
        return poly
    if not homomorphic(target, poly.modulus):
        return lifted(poly, target, atoms)
    terms = {m: c % target for m, c in poly.terms.items()}
    return Poly(target, poly.shape, {m: c for m, c in terms.items() if c})


def _shift(poly: Poly, expr: ir.Shift, atoms: Atoms) -> Poly:
    params = (expr.bits, expr.signed)
    whole = poly.modulus.bit_length() if poly.modulus else integer_bits(poly, atoms)
    bits = max(1, whole - expr.bits)
    signed = expr.signed or poly.modulus == 0
    call = atoms.add(Atom("shift", "call", 0, poly.shape, bits, signed, (poly,), params))
    return pl.Poly(poly.modulus, poly.shape, pl.whole(call, 0, poly.shape).terms)


def _call(expr: ir.Call, args: list[Poly], atoms: Atoms, sizes: Sizes, key: Callable[[str], str]) -> Poly:
    modulus, shape = modulus_of(expr.type.number), sizes.shape(expr.type.shape)
    bits, signed = _integer(expr.type.number)
    keys = tuple(key(k) for k in expr.keys)
    atom = Atom(expr.fn, "call", modulus, shape, bits, signed, tuple(args), (expr.table, keys))
    return pl.whole(atoms.add(atom), modulus, shape)


def _integer(number: ir.Number) -> tuple[int, bool]:
    return (number.bits, number.signed) if isinstance(number, ir.Integer) else (0, False)


def _same(values: list[Value]) -> None:
    shapes = {tn.shape_of(v) for v in values}
    _need(len(shapes) == 1, f"shapes differ: {_listed(shapes)}")
    moduli = {tn.modulus_of(v) for v in values}
    _need(len(moduli) == 1, f"rings differ: {_listed(moduli)}")


def _matrices(left: Value, right: Value) -> None:
    a, b = tn.shape_of(left), tn.shape_of(right)
    fits = len(a) == len(b) >= 2 and a[:-2] == b[:-2] and a[-1] == b[-2]
    _need(fits, "a matrix product of shapes that do not fit")
    _need(tn.modulus_of(left) == tn.modulus_of(right), "rings differ in a matrix product")


def _side_by_side(values: list[Value], axis: int) -> None:
    shapes = [tn.shape_of(v) for v in values]
    rest = {s[:axis] + s[axis + 1 :] for s in shapes}
    _need(all(0 <= axis < len(s) for s in shapes) and len(rest) == 1, "shapes do not join along the axis")
    _need(len({tn.modulus_of(v) for v in values}) == 1, "rings differ in a concatenation")


def _axis(axis: int, shape: tuple[int, ...]) -> int:
    _need(0 <= axis < len(shape), f"no axis {axis} in {len(shape)}")
    return axis


def _size(shape: tuple[int, ...]) -> int:
    total = 1
    for dim in shape:
        total *= dim
    return total


def _listed(things: set[tuple[int, ...]] | set[int]) -> str:
    return ", ".join(sorted(str(t) for t in things))


def _need(condition: bool, message: str) -> None:
    if not condition:
        raise Misfit(message)
