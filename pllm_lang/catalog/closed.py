"""The value of an expression without names: arithmetic on numbers, exactly and within limits."""

from __future__ import annotations

from fractions import Fraction

from pllm_lang.catalog.expr import Apply, Expr, Num
from pllm_lang.resolve.constants import ARITHMETIC, calculate
from pllm_lang.resolve.units import Problem, exact


def closed_value(expr: Expr | None) -> int | Fraction | None:
    """The value of `2^84 - 35` and the like; None where there is none."""
    if isinstance(expr, Num):
        return exact(Fraction(expr.value))
    if not isinstance(expr, Apply) or expr.fn not in ARITHMETIC or expr.named:
        return None
    values = [closed_value(arg) for arg in expr.args]
    if len(values) == 1:
        values.insert(0, 0)
    left, right = values if len(values) == 2 else (None, None)
    if left is None or right is None:
        return None
    value = calculate(expr.fn, left, right)
    return None if isinstance(value, Problem) else value
