"""Indices of families: affine in the variables of the repeats around them, so their range is known exactly.

In: `layer`, `2 * layer + 1`, `3`. Out: the affine form, its one expression (`Ref("%0")`, `Num("3")`, a sum
by depth), the least and greatest value it takes, and whether two such indices may ever be equal.
"""

from __future__ import annotations

from math import gcd

import msgspec

from pllm_lang.catalog.expr import Apply, Expr, Num, Ref
from pllm_lang.ir.lower.context import Context, LoopVariable
from pllm_lang.ir.lower.naming import constants, look
from pllm_lang.ir.lower.report import report, report_fault, span_of
from pllm_lang.resolve.constants import Fault, evaluate_integer
from pllm_lang.syntax import nodes as syn


class Affine(msgspec.Struct, frozen=True):
    """`constant` plus, for each variable, its factor times it."""

    constant: int
    factors: tuple[tuple[LoopVariable, int], ...] = ()


def read_index(ctx: Context, expr: syn.Expr, anchor: syn.Anchor) -> Affine | None:
    """The index as an affine form, None after a finding."""
    if isinstance(expr, syn.Paren):
        return read_index(ctx, expr.inner, anchor)
    if isinstance(expr, syn.Name):
        named = look(ctx, expr.id)
        if isinstance(named, LoopVariable):
            return Affine(0, ((named, 1),))
    if isinstance(expr, syn.Unary) and expr.op in "+-":
        inner = read_index(ctx, expr.operand, anchor)
        return inner and _scaled(inner, -1 if expr.op == "-" else 1)
    if isinstance(expr, syn.Binary) and expr.op in "+-*" and _varies(ctx, expr):
        return _combined(ctx, expr, anchor)
    value = evaluate_integer(expr, constants(ctx))
    if isinstance(value, Fault):
        report_fault(ctx, value, anchor)
        return None
    return Affine(value)


def _varies(ctx: Context, expr: syn.Expr) -> bool:
    """Whether a repeat's variable occurs in the arithmetic."""
    match expr:
        case syn.Name():
            return isinstance(look(ctx, expr.id), LoopVariable)
        case syn.Paren():
            return _varies(ctx, expr.inner)
        case syn.Unary():
            return _varies(ctx, expr.operand)
        case syn.Binary():
            return _varies(ctx, expr.left) or _varies(ctx, expr.right)
        case _:
            return False


def _combined(ctx: Context, expr: syn.Binary, anchor: syn.Anchor) -> Affine | None:
    left, right = read_index(ctx, expr.left, anchor), read_index(ctx, expr.right, anchor)
    if left is None or right is None:
        return None
    if expr.op != "*":
        return _sum(left, _scaled(right, -1 if expr.op == "-" else 1))
    if left.factors and right.factors:
        message = "an index is a sum of multiples of the repeats' variables"
        report(ctx, "types.index", message, span_of(ctx, anchor, expr))
        return None
    return _scaled(right, left.constant) if right.factors else _scaled(left, right.constant)


def _scaled(part: Affine, factor: int) -> Affine:
    return Affine(part.constant * factor, tuple((v, f * factor) for v, f in part.factors))


def _sum(left: Affine, right: Affine) -> Affine:
    factors = dict(left.factors)
    for variable, factor in right.factors:
        factors[variable] = factors.get(variable, 0) + factor
    kept = sorted(((v, f) for v, f in factors.items() if f), key=lambda pair: pair[0].depth)
    return Affine(left.constant + right.constant, tuple(kept))


def normal(part: Affine) -> Expr:
    """The one expression for it: a sum of multiples of variables by depth, then the constant."""
    terms: list[Expr] = [
        Ref(f"%{v.depth}") if f == 1 else Apply("*", (Num(str(f)), Ref(f"%{v.depth}")))
        for v, f in part.factors
        if f
    ]
    if part.constant or not terms:
        terms.append(Num(str(part.constant)))
    total = terms[0]
    for term in terms[1:]:
        total = Apply("+", (total, term))
    return total


def reach(part: Affine) -> tuple[int, int]:
    """Its least and greatest value."""
    ends = [(f * v.low, f * (v.high - 1)) for v, f in part.factors]
    return part.constant + sum(map(min, ends)), part.constant + sum(map(max, ends))


def may_meet(left: Affine, right: Affine) -> bool:
    """Whether the two can be equal: their ranges overlap and no common divisor keeps them apart."""
    (low, high), (other_low, other_high) = reach(left), reach(right)
    if high < other_low or other_high < low:
        return False
    divisor = gcd(*(f for _, f in (*left.factors, *right.factors)))
    distance = left.constant - right.constant
    return distance % divisor == 0 if divisor else distance == 0


def is_injective(part: Affine, loops: tuple[LoopVariable, ...]) -> bool:
    """Whether every turn has an index of its own: each factor exceeds what the smaller ones reach."""
    factors = dict(part.factors)
    steps = sorted(
        (abs(factors.get(loop, 0)), loop.high - loop.low) for loop in loops if loop.high - loop.low > 1
    )
    covered = 0
    for step, turns in steps:
        if step <= covered:
            return False
        covered += step * (turns - 1)
    return True
