"""Multiply-accumulates of matrix products: of a protocol's text by role, and of an operator's meaning.

`[m, k] x [k, n]` is m * k * n, leading axes multiply. Entrywise work is not counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from math import prod
from typing import assert_never

from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.expr import Apply, Expr
from pllm_lang.catalog.shapes import meaning_shape
from pllm_lang.catalog.walk import walk
from pllm_lang.ir import protocol as p

Shape = tuple[int, ...]
PRODUCTS = ("matmul",)
"""Primitives of meanings that are matrix products."""


@lru_cache(maxsize=4096)
def products_of(protocol: p.Protocol) -> tuple[tuple[str, str, int], ...]:
    """(phase, role, multiply-accumulates) of one execution."""
    shapes: dict[str, Shape] = {given.name: _sizes(given.type) for given in protocol.inputs}
    for given in protocol.inputs:
        if isinstance(given.holding, p.Shared):
            shapes |= {f"{given.name}.{piece.label}": _sizes(given.type) for piece in given.holding.pieces}
    found: Counter[tuple[str, str]] = Counter()
    _statements(protocol.body, shapes, found, 1)
    return tuple((*key, count) for key, count in sorted(found.items()))


def _statements(
    body: tuple[p.Statement, ...], shapes: dict[str, Shape], found: Counter[tuple[str, str]], times: int
) -> None:
    for st in body:
        match st:
            case p.Draw():
                shapes[st.name] = _sizes(st.type)
            case p.Assign():
                shapes[st.target], macs = _shape(st.value, shapes)
                found[st.phase, st.party] += macs * times
            case p.Check():
                found[st.phase, st.party] += _shape(st.value, shapes)[1] * times
            case p.When():
                _statements(st.body, shapes, found, times)
            case p.Repeat():
                _statements(st.body, shapes, found, times * (st.count if isinstance(st.count, int) else 1))
            case _:
                pass


def _sizes(type_: p.TensorType) -> Shape:
    """A plan's sizes are numbers."""
    return tuple(size if isinstance(size, int) else 1 for size in type_.shape)


def _shape(expr: p.Expr, shapes: Mapping[str, Shape]) -> tuple[Shape, int]:
    """The shape of an expression, and the multiply-accumulates in it."""
    match expr:
        case p.Ref():
            return shapes.get(expr.name, ()), 0
        case p.Const():
            return _sizes(expr.type), 0
        case p.MatMul():
            (left, a), (right, b) = _shape(expr.left, shapes), _shape(expr.right, shapes)
            if len(left) < 2 or len(right) < 2:
                return (), a + b
            return (*left[:-1], right[-1]), a + b + prod(left) * right[-1]
        case p.Add():
            parts = [_shape(term, shapes) for term in expr.terms]
            return max((part[0] for part in parts), key=prod, default=()), sum(part[1] for part in parts)
        case p.Mul():
            (left, a), (right, b) = _shape(expr.left, shapes), _shape(expr.right, shapes)
            return max(left, right, key=prod), a + b
        case p.Concat():
            parts = [_shape(arg, shapes) for arg in expr.args]
            return _concatenated([part[0] for part in parts], expr.axis), sum(part[1] for part in parts)
        case p.Call():
            return _sizes(expr.type), sum(_shape(arg, shapes)[1] for arg in expr.args)
        case _:
            inner, macs = _shape(expr.arg, shapes)
            return _moved(expr, inner), macs


def _concatenated(parts: list[Shape], axis: int) -> Shape:
    first = list(parts[0]) if parts else []
    if first:
        first[axis] = sum(part[axis] for part in parts if part)
    return tuple(first)


def _moved(
    expr: p.Scale | p.Transpose | p.Reshape | p.Slice | p.Gather | p.Sum | p.Broadcast | p.Cast | p.Shift,
    inner: Shape,
) -> Shape:
    shape = list(inner)
    match expr:
        case p.Scale() | p.Cast() | p.Shift():
            return inner
        case p.Transpose():
            axes = expr.axes or (*range(len(inner) - 2), len(inner) - 1, len(inner) - 2)
            return tuple(inner[axis] for axis in axes)
        case p.Reshape():
            return _sizes(p.TensorType(p.Ring(2), expr.shape))
        case p.Slice():
            shape[expr.axis] = -(-(expr.stop - expr.start) // expr.step)
        case p.Gather():
            shape[expr.axis] = len(expr.indices)
        case p.Sum():
            del shape[expr.axis]
        case p.Broadcast():
            shape.insert(expr.axis, expr.size if isinstance(expr.size, int) else 1)
        case _:
            assert_never(expr)
    return tuple(shape)


def products_in(meaning: Expr, env: Env) -> int:
    """Multiply-accumulates of an operator's meaning, with the sizes of one use."""
    total = 0
    for part in walk(meaning):
        if isinstance(part, Apply) and part.fn in PRODUCTS:
            left, right = (meaning_shape(arg, env) for arg in part.args)
            if isinstance(left, tuple) and isinstance(right, tuple) and len(right) > 1:
                total += prod(left) * right[-1] * max(1, prod(right[:-2]) // max(1, prod(left[:-2])))
    return total
