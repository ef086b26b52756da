"""Constant expressions, evaluated exactly and within limits.

In: an expression and a look-up of names. Out: its value, or a `Fault` that says where and why there is none.
Also used for shapes, ranges of `repeat` and bounds, with loop variables in the look-up.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

import msgspec

from pllm_lang.resolve.limits import MAX_LIST_ENTRIES, MAX_NUMBER_BITS
from pllm_lang.resolve.modules import ConstValue
from pllm_lang.resolve.texts import read_text
from pllm_lang.resolve.units import Problem, exact, read_number, read_quantity, within_limits
from pllm_lang.syntax.nodes import (
    Binary,
    Call,
    Entry,
    Expr,
    Index,
    ListExpr,
    Name,
    Node,
    Number,
    Paren,
    Quantity,
    Spread,
    String,
    Unary,
)

Number_: TypeAlias = int | Fraction
FUNCTIONS = ("min", "max", "floor", "ceil")
ARITHMETIC = ("+", "-", "*", "/", "^")


class Fault(msgspec.Struct, frozen=True):
    """Why `node` has no value."""

    node: Node
    problem: Problem


Lookup: TypeAlias = Callable[[Name], "ConstValue | Fault"]


def evaluate(expr: Expr, lookup: Lookup) -> ConstValue | Fault:
    """The exact value of a constant expression."""
    match expr:
        case Number():
            return _or_fault(expr, read_number(expr.text))
        case Quantity():
            read = read_quantity(expr.text)
            return Fault(expr, read) if isinstance(read, Problem) else read[0]
        case String():
            return read_text(expr)
        case Name(id="true" | "false"):
            return expr.id == "true"
        case Name():
            return lookup(expr)
        case Paren():
            return evaluate(expr.inner, lookup)
        case Unary():
            return _unary(expr, lookup)
        case Binary():
            return _binary(expr, lookup)
        case ListExpr():
            return _list(expr, lookup)
        case Index():
            return _entry(expr, lookup)
        case Call(callee=Name(id=fn)) if fn in FUNCTIONS:
            return _call(expr, fn, lookup)
        case _:
            return _not_constant(expr)


def evaluate_number(expr: Expr, lookup: Lookup) -> Number_ | Fault:
    """As `evaluate`, where only a number will do."""
    value = evaluate(expr, lookup)
    if isinstance(value, Fault) or (isinstance(value, int | Fraction) and not isinstance(value, bool)):
        return value
    return Fault(expr, Problem("numbers.not_a_number", f"a number is needed here, not {describe(value)}"))


def evaluate_integer(expr: Expr, lookup: Lookup) -> int | Fault:
    """As `evaluate`, where only a whole number will do."""
    value = evaluate_number(expr, lookup)
    if isinstance(value, Fraction):
        return Fault(expr, Problem("numbers.not_whole", f"a whole number is needed here, not {value}"))
    return value


def describe(value: ConstValue) -> str:
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, str):
        return "a text"
    return "a list" if isinstance(value, tuple) else str(value)


def _or_fault(node: Node, value: Number_ | Problem) -> Number_ | Fault:
    return Fault(node, value) if isinstance(value, Problem) else value


def _not_constant(expr: Expr) -> Fault:
    return Fault(
        expr,
        Problem(
            "numbers.not_constant",
            "this is not a constant: only numbers, texts, lists, constants and arithmetic are",
        ),
    )


def _unary(expr: Unary, lookup: Lookup) -> ConstValue | Fault:
    if expr.op == "not":
        return _not_constant(expr)
    value = evaluate_number(expr.operand, lookup)
    return value if isinstance(value, Fault) or expr.op == "+" else -value


def _binary(expr: Binary, lookup: Lookup) -> ConstValue | Fault:
    if expr.op not in ARITHMETIC:
        return _not_constant(expr)
    left, right = evaluate_number(expr.left, lookup), evaluate_number(expr.right, lookup)
    if isinstance(left, Fault):
        return left
    if isinstance(right, Fault):
        return right
    value = calculate(expr.op, left, right)
    return Fault(expr, value) if isinstance(value, Problem) else value


def calculate(op: str, left: Number_, right: Number_) -> Number_ | Problem:
    """`left op right` for `+ - * / ^`, exactly and within limits."""
    value = _ARITHMETIC[op](left, right)
    if isinstance(value, Problem):
        return value
    return exact(Fraction(value)) if within_limits(value) else _too_large()


def _too_large() -> Problem:
    return Problem("numbers.too_large", f"the value needs more than {MAX_NUMBER_BITS} bits")


def _divide(left: Number_, right: Number_) -> Number_ | Problem:
    if right == 0:
        return Problem("numbers.division_by_zero", "division by zero")
    return Fraction(left) / Fraction(right)


def _power(left: Number_, right: Number_) -> Number_ | Problem:
    if not isinstance(right, int):
        return Problem("numbers.not_whole", f"an exponent is a whole number, not {right}")
    if left == 0 and right < 0:
        return Problem("numbers.division_by_zero", "zero to a negative power divides by zero")
    if left in (0, 1):
        return 1 if right == 0 else left
    if left == -1:
        return 1 if right % 2 == 0 else -1
    bits = max(left.numerator.bit_length(), left.denominator.bit_length())
    if abs(right) * max(bits - 1, 1) > MAX_NUMBER_BITS:
        return _too_large()
    return Fraction(left) ** right


_ARITHMETIC: dict[str, Callable[[Number_, Number_], Number_ | Problem]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divide,
    "^": _power,
}


def _list(expr: ListExpr, lookup: Lookup) -> ConstValue | Fault:
    entries: list[ConstValue] = []
    for item in expr.items:
        value = evaluate(item, lookup)
        if isinstance(value, Fault):
            return value
        entries.append(value)
    if _entry_count(tuple(entries)) > MAX_LIST_ENTRIES:
        return Fault(
            expr, Problem("numbers.too_large", f"a constant list holds at most {MAX_LIST_ENTRIES} entries")
        )
    return tuple(entries)


def _entry_count(value: ConstValue) -> int:
    return sum(map(_entry_count, value)) if isinstance(value, tuple) else 1


def _entry(expr: Index, lookup: Lookup) -> ConstValue | Fault:
    base = evaluate(expr.base, lookup)
    if isinstance(base, Fault):
        return base
    item = expr.items[0] if len(expr.items) == 1 else None
    if not isinstance(base, tuple) or item is None or isinstance(item, Spread):
        return _not_constant(expr)
    at = evaluate_integer(item, lookup)
    if isinstance(at, Fault):
        return at
    if not 0 <= at < len(base):
        return Fault(expr, Problem("numbers.out_of_range", f"index {at} of a list of {len(base)}"))
    return base[at]


def _call(expr: Call, fn: str, lookup: Lookup) -> ConstValue | Fault:
    values: list[Number_] = []
    for arg in expr.args:
        value = _not_constant(expr) if isinstance(arg, Entry) else evaluate_number(arg, lookup)
        if isinstance(value, Fault):
            return value
        values.append(value)
    if not values or (fn in ("floor", "ceil") and len(values) != 1):
        return _not_constant(expr)
    if fn == "floor":
        return values[0].__floor__()
    if fn == "ceil":
        return values[0].__ceil__()
    return min(values) if fn == "min" else max(values)
