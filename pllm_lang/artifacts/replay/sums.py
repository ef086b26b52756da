"""Replay: values as sums of symbols, and what an expression of a protocol computes.

A value is a sum of terms, each a whole number times a *shape* of factors: an atom (an input, a piece, a draw), an entrywise or
matrix product, a map that moves or sums entries, a call known by its name alone. Products and maps are spread over sums, so
equal sums are equal values (the reverse need not hold: then replay refuses).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, cast

import msgspec

from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.ir import protocol as p

Factor: TypeAlias = tuple[Any, ...]
"""("one",); ("atom", name, modulus); ("*", factors); ("@", k, left, right); (map, its data, factor); ("call", name, sums)."""
MAX_TERMS = 4_096
ONE: Factor = ("one",)


class Sum(msgspec.Struct, frozen=True):
    """Modulus 0 stands for the integers. `terms` maps factors to coefficients that are not 0."""

    modulus: int
    shape: tuple[p.Dim, ...]
    terms: dict[Factor, int]

    def key(self) -> tuple[Any, ...]:
        return self.modulus, self.shape, frozenset(self.terms.items())


def make(modulus: int, shape: tuple[p.Dim, ...], parts: Iterable[tuple[Factor, int]]) -> Sum:
    terms: dict[Factor, int] = {}
    for factor, coefficient in parts:
        found = terms.get(factor, 0) + coefficient
        terms[factor] = found % modulus if modulus else found
        if len(terms) > MAX_TERMS:
            raise ReplayError("certificate.beyond", f"a value has more than {MAX_TERMS} terms")
    return Sum(modulus, shape, {factor: c for factor, c in terms.items() if c})


def plus(*sums: Sum) -> Sum:
    first = sums[0]
    if any((one.modulus, one.shape) != (first.modulus, first.shape) for one in sums):
        raise ReplayError("certificate.program", "values of different rings or shapes are added")
    return make(first.modulus, first.shape, (term for one in sums for term in one.terms.items()))


def times(factor: int, x: Sum) -> Sum:
    return make(x.modulus, x.shape, ((f, c * factor) for f, c in x.terms.items()))


def atom(name: str, type_: p.TensorType) -> Sum:
    modulus = type_.number.modulus if isinstance(type_.number, p.Ring) else 0
    return Sum(modulus, type_.shape, {("atom", name, modulus, type_.shape): 1})


# ---- what an expression computes ----
def evaluate(expr: p.Expr, look: Callable[[str], Sum]) -> Sum:
    match expr:
        case p.Ref():
            return look(expr.name)
        case p.Const():
            modulus = expr.type.number.modulus if isinstance(expr.type.number, p.Ring) else 0
            return make(modulus, expr.type.shape, [(ONE, expr.value)])
        case p.Add():
            return plus(*(evaluate(one, look) for one in expr.terms))
        case p.Scale():
            return times(expr.factor, evaluate(expr.arg, look))
        case p.Mul():
            return entrywise(evaluate(expr.left, look), evaluate(expr.right, look))
        case p.MatMul():
            return matrix(evaluate(expr.left, look), evaluate(expr.right, look))
        case p.Cast():
            return cast_to(evaluate(expr.arg, look), expr.number)
        case p.Concat():
            return _joined([evaluate(one, look) for one in expr.args], expr.axis)
        case p.Shift():
            arg = evaluate(expr.arg, look)
            return call(("shift", expr.bits, expr.signed), (arg,), arg.modulus, arg.shape)
        case p.Call():
            args = tuple(evaluate(one, look) for one in expr.args)
            modulus = expr.type.number.modulus if isinstance(expr.type.number, p.Ring) else 0
            return call((expr.fn, expr.keys, expr.type.number), args, modulus, expr.type.shape)
        case _:
            return _moved(expr, evaluate(expr.arg, look))


def entrywise(x: Sum, y: Sum) -> Sum:
    if (x.modulus, x.shape) != (y.modulus, y.shape):
        raise ReplayError("certificate.program", "values of different rings or shapes are multiplied")

    def factor(a: Factor, b: Factor) -> Factor:
        own = [f for one in (a, b) for f in (one[1] if one[0] == "*" else (one,)) if f != ONE]
        kept = sorted(set(own) if x.modulus == 2 else own, key=repr)  # v * v = v for bits
        return ONE if not kept else kept[0] if len(kept) == 1 else ("*", tuple(kept))

    return make(
        x.modulus, x.shape, ((factor(a, b), c * d) for a, c in x.terms.items() for b, d in y.terms.items())
    )


def matrix(x: Sum, y: Sum) -> Sum:
    if (
        x.modulus != y.modulus
        or x.shape[-1:] != y.shape[-2:-1]
        or x.shape[:-2] not in (y.shape[:-2],)
        or len(x.shape) < 2
    ):
        raise ReplayError("certificate.program", "matrices that do not fit are multiplied")
    inner, shape = x.shape[-1], (*x.shape[:-1], y.shape[-1])
    parts = (
        (("@", inner, x.shape, y.shape, a, b), c * d) for a, c in x.terms.items() for b, d in y.terms.items()
    )
    return make(x.modulus, shape, parts)


def call(name: tuple[Any, ...], args: tuple[Sum, ...], modulus: int, shape: tuple[p.Dim, ...]) -> Sum:
    return Sum(modulus, shape, {("call", name, tuple(one.key() for one in args), modulus, shape): 1})


def cast_to(x: Sum, number: p.Number) -> Sum:
    """Onto a ring whose modulus divides the old one it is a homomorphism; anything else is a call."""
    modulus = number.modulus if isinstance(number, p.Ring) else 0
    if modulus == x.modulus or (modulus and x.modulus % modulus == 0):
        return make(modulus, x.shape, x.terms.items())
    return call(("lift",), (x,), modulus, x.shape)


def _moved(expr: Any, x: Sum) -> Sum:
    rank = len(x.shape)
    match expr:
        case p.Transpose():
            axes = expr.axes or (*range(rank - 2), rank - 1, rank - 2)
            return mapped(x, ("transpose", axes), tuple(x.shape[axis] for axis in axes))
        case p.Reshape():
            return mapped(x, ("reshape", x.shape), expr.shape)
        case p.Slice():
            count = len(range(expr.start, expr.stop, expr.step))
            data = ("slice", expr.axis, expr.start, expr.stop, expr.step)
        case p.Gather():
            count, data = len(expr.indices), ("gather", expr.axis, expr.indices)
        case p.Sum():
            return mapped(x, ("sum", expr.axis, x.shape), (*x.shape[: expr.axis], *x.shape[expr.axis + 1 :]))
        case _:
            return mapped(
                x, ("spread", expr.axis, expr.size), (*x.shape[: expr.axis], expr.size, *x.shape[expr.axis :])
            )
    return mapped(x, data, (*x.shape[: expr.axis], count, *x.shape[expr.axis + 1 :]))


def _joined(args: list[Sum], axis: int) -> Sum:
    """A concatenation is the sum of its parts, each at its place among zeros."""
    first, total, out = args[0], sum(cast("int", one.shape[axis]) for one in args), list[Sum]()
    shape = (*first.shape[:axis], total, *first.shape[axis + 1 :])
    before = 0
    for one in args:
        out.append(mapped(one, ("at", axis, before, total), shape))
        before += cast("int", one.shape[axis])
    return plus(*out)


def mapped(x: Sum, data: tuple[Any, ...], shape: tuple[p.Dim, ...]) -> Sum:
    return make(x.modulus, shape, ((_map(data, f, shape), c) for f, c in x.terms.items()))


def _map(data: tuple[Any, ...], x: Factor, shape: tuple[p.Dim, ...]) -> Factor:
    """Transposes of transposes and reshapes of reshapes are one; those that do nothing are none."""
    if x[0] == "map" and data[0] == x[1][0] == "transpose":
        data, x = ("transpose", tuple(x[1][1][axis] for axis in data[1])), x[2]
    elif x[0] == "map" and data[0] == x[1][0] == "reshape":
        data, x = ("reshape", x[1][1]), x[2]
    nothing = data == ("transpose", tuple(range(len(shape)))) or data == ("reshape", shape)
    constant = x == ONE and data[0] in ("transpose", "reshape", "slice", "gather", "spread")
    return x if nothing or constant else ("map", data, x, shape)


# ---- atoms inside ----
def atoms(x: Factor) -> frozenset[Factor]:
    """Every atom, inside calls too."""
    match x[0]:
        case "atom":
            return frozenset({x})
        case "*":
            return frozenset[Factor]().union(*map(atoms, x[1]))
        case "@":
            return atoms(x[4]) | atoms(x[5])
        case "map":
            return atoms(x[2])
        case "call":
            return frozenset[Factor]().union(*(atoms(f) for _, _, terms in x[2] for f, _ in terms))
        case _:
            return frozenset()


def calls(x: Factor) -> list[Factor]:
    """The calls of a factor that stand in no other."""
    inner = x[1] if x[0] == "*" else x[4:6] if x[0] == "@" else (x[2],) if x[0] == "map" else ()
    return [x] if x[0] == "call" else [one for part in inner for one in calls(part)]


def names_in(x: Sum) -> set[str]:
    return {one[1] for f in x.terms for one in atoms(f)}


def replaced(x: Sum, name: str, value: Sum) -> Sum:
    """The sum with a value in place of an atom, everywhere."""
    if name not in names_in(x):
        return x
    return plus(
        Sum(x.modulus, x.shape, {}),
        *(times(c, _rebuilt(f, name, value, x.modulus, x.shape)) for f, c in x.terms.items()),
    )


def _rebuilt(x: Factor, name: str, value: Sum, modulus: int, shape: tuple[p.Dim, ...]) -> Sum:
    if not any(one[1] == name for one in atoms(x)):
        return make(modulus, shape, [(x, 1)])
    match x[0]:
        case "atom":
            if value.modulus != modulus and (not modulus or value.modulus % modulus):
                raise ReplayError("certificate.view", f"`{name}` is used in a ring that it does not map to")
            return make(modulus, shape, value.terms.items())
        case "*":
            parts = [_rebuilt(one, name, value, modulus, shape) for one in x[1]]
            out = parts[0]
            for one in parts[1:]:
                out = entrywise(out, one)
            return out
        case "@":
            return matrix(
                _rebuilt(x[4], name, value, modulus, x[2]), _rebuilt(x[5], name, value, modulus, x[3])
            )
        case "map":
            inner = _rebuilt(x[2], name, value, modulus, shape_before(x))
            return mapped(inner, x[1], x[3])
        case _:
            args = tuple(replaced(Sum(m, s, dict(terms)), name, value) for m, s, terms in x[2])
            return cast_back(call(x[1], args, x[3], x[4]), modulus)


def cast_back(x: Sum, modulus: int) -> Sum:
    return make(modulus, x.shape, x.terms.items())


def shape_before(x: Factor) -> tuple[p.Dim, ...]:
    """The shape that a map takes."""
    data, shape = x[1], x[3]
    match data[0]:
        case "transpose":
            out = list(shape)
            for place, axis in enumerate(data[1]):
                out[axis] = shape[place]
            return tuple(out)
        case "reshape":
            return data[1]
        case "sum":
            return data[2]
        case "spread":
            return (*shape[: data[1]], *shape[data[1] + 1 :])
        case _:
            raise ReplayError("certificate.beyond", f"replay does not look into a `{data[0]}`")
