"""Replay: values as sums of symbols, and what an expression of a protocol computes.

A value is a sum of terms, each a whole number times a factor: an atom (an input, a piece, a draw), an entrywise or matrix
product, a map that moves or adds entries, a call known by its name alone. Products and maps are linear in each part, so they are
spread over sums. A factor tells its value by itself, with every shape that it is made over: so equal sums are equal values (the
reverse need not hold: then replay refuses).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from math import prod
from typing import Any, TypeAlias

import msgspec

from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.ir import protocol as p

Factor: TypeAlias = tuple[Any, ...]
"""("one",): 1 in every entry; ("atom", name, modulus, shape); ("call", name, sums, modulus, shape); and those made of the factors
in their second place: ("*", parts), ("@", (left, right), their shapes), ("map", (part,), what, shape before, shape)."""
Shape: TypeAlias = tuple[Any, ...]
MAX_TERMS = 4_096
ONE: Factor = ("one",)


class Sum(msgspec.Struct, frozen=True):
    """Modulus 0 stands for the integers. `terms` maps factors to coefficients that are not 0."""

    modulus: int
    shape: Shape
    terms: dict[Factor, int]

    def key(self) -> tuple[Any, ...]:
        return self.modulus, self.shape, frozenset(self.terms.items())


def make(modulus: int, shape: Shape, parts: Iterable[tuple[Factor, int]]) -> Sum:
    terms: dict[Factor, int] = {}
    for factor, coefficient in parts:
        found = terms.get(factor, 0) + coefficient
        terms[factor] = found % modulus if modulus else found
        if len(terms) > MAX_TERMS:
            raise ReplayError("certificate.beyond", f"a value has more than {MAX_TERMS} terms")
    return Sum(modulus, shape, {factor: c for factor, c in terms.items() if c})


def plus(*sums: Sum) -> Sum:
    first = sums[0]
    _fits(all((one.modulus, one.shape) == (first.modulus, first.shape) for one in sums), "values are added")
    return make(first.modulus, first.shape, (term for one in sums for term in one.terms.items()))


def times(factor: int, x: Sum) -> Sum:
    return make(x.modulus, x.shape, ((f, c * factor) for f, c in x.terms.items()))


def in_ring(x: Sum, modulus: int) -> Sum:
    """A homomorphism where the modulus divides the old one, 0 too; who calls it sees to that."""
    return make(modulus, x.shape, x.terms.items())


def modulus_of(number: p.Number) -> int:
    return number.modulus if isinstance(number, p.Ring) else 0


def atom(name: str, type_: p.TensorType) -> Sum:
    modulus, shape = modulus_of(type_.number), known(type_.shape)
    return Sum(modulus, shape, {("atom", name, modulus, shape): 1})


def call(name: tuple[Any, ...], args: tuple[Sum, ...], modulus: int, shape: Shape) -> Sum:
    return Sum(modulus, shape, {("call", name, tuple(one.key() for one in args), modulus, shape): 1})


def _fits(condition: bool, what: str) -> None:
    if not condition:
        raise ReplayError("certificate.program", f"{what} that do not fit: other rings, shapes or axes")


# ---- what an expression computes ----
def evaluate(expr: p.Expr, look: Callable[[str], Sum]) -> Sum:
    match expr:
        case p.Ref():
            return look(expr.name)
        case p.Const():
            return make(modulus_of(expr.type.number), known(expr.type.shape), [(ONE, expr.value)])
        case p.Add():
            return plus(*(evaluate(one, look) for one in expr.terms))
        case p.Scale():
            return times(expr.factor, evaluate(expr.arg, look))
        case p.Mul():
            return entrywise(evaluate(expr.left, look), evaluate(expr.right, look))
        case p.MatMul():
            return matrix(evaluate(expr.left, look), evaluate(expr.right, look))
        case p.Cast():
            return _cast(evaluate(expr.arg, look), modulus_of(expr.number))
        case p.Concat():
            return _joined([evaluate(one, look) for one in expr.args], expr.axis)
        case p.Shift():
            arg = evaluate(expr.arg, look)
            return call(("shift", expr.bits, expr.signed), (arg,), arg.modulus, arg.shape)
        case p.Call():
            args = tuple(evaluate(one, look) for one in expr.args)
            name = expr.fn, expr.keys, expr.table, expr.type.number
            return call(name, args, modulus_of(expr.type.number), known(expr.type.shape))
        case _:
            return _moved(expr, evaluate(expr.arg, look))


def entrywise(x: Sum, y: Sum) -> Sum:
    _fits((x.modulus, x.shape) == (y.modulus, y.shape), "values are multiplied")

    def factor(a: Factor, b: Factor) -> Factor:
        own = [f for one in (a, b) for f in (one[1] if one[0] == "*" else (one,)) if f != ONE]
        kept = sorted(set(own) if x.modulus == 2 else own, key=repr)  # v * v = v for bits
        return ONE if not kept else kept[0] if len(kept) == 1 else ("*", tuple(kept))

    parts = ((factor(a, b), c * d) for a, c in x.terms.items() for b, d in y.terms.items())
    return make(x.modulus, x.shape, parts)


def matrix(x: Sum, y: Sum) -> Sum:
    inner = len(x.shape) > 1 and x.shape[-1:] == y.shape[-2:-1] and x.shape[:-2] == y.shape[:-2]
    _fits(inner and x.modulus == y.modulus, "matrices are multiplied")
    over, shape = (x.shape, y.shape), (*x.shape[:-1], y.shape[-1])
    parts = ((("@", (a, b), over), c * d) for a, c in x.terms.items() for b, d in y.terms.items())
    return make(x.modulus, shape, parts)


def _cast(x: Sum, modulus: int) -> Sum:
    """Onto a ring whose modulus divides the old one it is a homomorphism; anything else is a call."""
    if modulus == x.modulus or (modulus and x.modulus % modulus == 0):
        return in_ring(x, modulus)
    return call(("lift",), (x,), modulus, x.shape)


# ---- maps of entries ----
def _moved(expr: Any, x: Sum) -> Sum:
    """Each map has the entries that it takes, so a reshape or transpose is a bijection."""
    shape, axis = x.shape, getattr(expr, "axis", 0)
    last = len(shape) if isinstance(expr, p.Broadcast) else max(len(shape) - 1, 0)
    _fits(0 <= axis <= last, "entries are moved")
    match expr:
        case p.Transpose():
            axes = expr.axes or (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2)
            _fits(sorted(axes) == [*range(len(shape))], "axes are exchanged")
            return mapped(x, ("transpose", axes), tuple(shape[one] for one in axes))
        case p.Reshape():
            _fits(prod(known(expr.shape)) == prod(shape), "entries are arranged anew")
            return mapped(x, ("reshape",), expr.shape)
        case p.Slice():
            _fits(0 <= expr.start <= expr.stop <= shape[axis], "entries are cut out")
            size, what = len(range(expr.start, expr.stop, expr.step)), (expr.start, expr.stop, expr.step)
            return mapped(x, ("slice", axis, *what), (*shape[:axis], size, *shape[axis + 1 :]))
        case p.Gather():
            _fits(all(0 <= place < shape[axis] for place in expr.indices), "entries are taken")
            size = len(expr.indices)
            return mapped(x, ("gather", axis, expr.indices), (*shape[:axis], size, *shape[axis + 1 :]))
        case p.Sum():
            return mapped(x, ("sum", axis), (*shape[:axis], *shape[axis + 1 :]))
        case _:
            return mapped(x, ("spread", axis), known((*shape[:axis], expr.size, *shape[axis:])))


def known(shape: Shape) -> Shape:
    _fits(all(isinstance(size, int) and size >= 0 for size in shape), "values of unknown size are made")
    return shape


def _joined(args: list[Sum], axis: int) -> Sum:
    """A concatenation is the sum of its parts, each at its place among zeros."""
    _fits(all(0 <= axis < len(one.shape) for one in args), "values are joined")
    total, before, out = sum(one.shape[axis] for one in args), 0, list[Sum]()
    for one in args:
        shape = (*one.shape[:axis], total, *one.shape[axis + 1 :])
        out.append(mapped(one, ("at", axis, before), shape))
        before += one.shape[axis]
    return plus(*out)


def mapped(x: Sum, what: tuple[Any, ...], shape: Shape) -> Sum:
    return make(x.modulus, shape, ((_map(what, f, x.shape, shape), c) for f, c in x.terms.items()))


def _map(what: tuple[Any, ...], x: Factor, before: Shape, shape: Shape) -> Factor:
    """Transposes of transposes and reshapes of reshapes are one; those that do nothing are none."""
    if x[0] == "map" and what[0] == x[2][0] in ("transpose", "reshape"):
        if what[0] == "transpose":
            what = "transpose", tuple(x[2][1][axis] for axis in what[1])
        (x,), before = x[1], x[3]
    nothing = what == ("transpose", (*range(len(shape)),)) or (what == ("reshape",) and before == shape)
    constant = x == ONE and what[0] not in ("sum", "at")
    return x if nothing or constant else ("map", (x,), what, before, shape)


# ---- atoms inside ----
def parts_of(x: Factor) -> tuple[Factor, ...]:
    return x[1] if x[0] in ("*", "@", "map") else ()


def atoms(x: Factor) -> frozenset[Factor]:
    """Every atom, inside calls too."""
    if x[0] == "atom":
        return frozenset({x})
    inside = [f for _, _, terms in x[2] for f, _ in terms] if x[0] == "call" else parts_of(x)
    return frozenset[Factor]().union(*map(atoms, inside))


def calls(x: Factor) -> list[Factor]:
    """The calls of a factor that stand in no other."""
    return [x] if x[0] == "call" else [one for part in parts_of(x) for one in calls(part)]


def names_in(x: Sum) -> set[str]:
    return {one[1] for f in x.terms for one in atoms(f)}


def replaced(x: Sum, name: str, value: Sum) -> Sum:
    """The sum with a value in place of an atom, everywhere."""
    if name not in names_in(x):
        return x
    parts = (times(c, _rebuilt(f, name, value, x.modulus, x.shape)) for f, c in x.terms.items())
    return plus(Sum(x.modulus, x.shape, {}), *parts)


def _rebuilt(x: Factor, name: str, value: Sum, modulus: int, shape: Shape) -> Sum:
    if not any(one[1] == name for one in atoms(x)):
        return make(modulus, shape, [(x, 1)])
    match x[0]:
        case "atom":
            if value.modulus != modulus and (not modulus or value.modulus % modulus):
                raise ReplayError("certificate.view", f"`{name}` is used in a ring that it does not map to")
            return in_ring(value, modulus)
        case "*":
            return reduce(entrywise, [_rebuilt(one, name, value, modulus, shape) for one in x[1]])
        case "@":
            left, right = (
                _rebuilt(one, name, value, modulus, own) for one, own in zip(x[1], x[2], strict=True)
            )
            return matrix(left, right)
        case "map":
            return mapped(_rebuilt(x[1][0], name, value, modulus, x[3]), x[2], x[4])
        case _:
            args = tuple(replaced(Sum(m, s, dict(terms)), name, value) for m, s, terms in x[2])
            return in_ring(call(x[1], args, x[3], x[4]), modulus)
