"""What a parameter admits: the values its record allows, decided and told in words.

`allowed` of a `ParamSpec` is a list (`in [16, 32]`), a range (`in 1..128`), a comparison (`>= 1`), or the
sizes and patterns of `text(1..256)`, `text(pattern: "[A-Z]{3}")` and `list(integer >= 1)`. What cannot be
decided is not admitted.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from fractions import Fraction

from pllm_lang.catalog import expr as ex
from pllm_lang.ir.words import show_expr

_COMPARE: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "==": operator.eq,
    "!=": operator.ne,
}
MAX_PATTERN = 200


def admits(allowed: ex.Expr, value: ex.Expr) -> bool:
    match allowed:
        case ex.ListOf():
            return any(_is(item, value) or _in_range(item, value) for item in allowed.items)
        case ex.Between():
            return _in_range(allowed, value)
        case ex.Apply(fn="text"):
            return isinstance(value, ex.Text) and _admits_text(allowed, value.value)
        case ex.Apply(fn="list"):
            return isinstance(value, ex.ListOf) and all(_admits_item(allowed, item) for item in value.items)
        case ex.Apply() if allowed.fn in _COMPARE and len(allowed.args) == 2:
            number, limit = _number(value), _number(allowed.args[1])
            return number is not None and limit is not None and _COMPARE[allowed.fn](number, limit)
        case _:
            return False


def _number(expr: ex.Expr) -> Fraction | None:
    return Fraction(expr.value) if isinstance(expr, ex.Num) else None


def _is(item: ex.Expr, value: ex.Expr) -> bool:
    """Equal, or the component of that name with whatever arguments."""
    if isinstance(item, ex.Ref) and isinstance(value, ex.Apply):
        return value.fn == item.name or value.fn.rsplit(".", 1)[-1] == item.name
    return item == value


def _in_range(allowed: ex.Expr, value: ex.Expr) -> bool:
    if not isinstance(allowed, ex.Between):
        return False
    low, high, number = _number(allowed.low), _number(allowed.high), _number(value)
    if low is None or high is None or number is None:
        return False
    return low <= number <= high and (allowed.closed or number < high)


def _admits_text(allowed: ex.Apply, text: str) -> bool:
    for size in allowed.args:
        if not _in_range(size, ex.Num(str(len(text)))):
            return False
    for name, pattern in allowed.named:
        if name != "pattern" or not isinstance(pattern, ex.Text) or len(pattern.value) > MAX_PATTERN:
            return False
        if re.fullmatch(pattern.value, text) is None:
            return False
    return True


def _admits_item(allowed: ex.Apply, item: ex.Expr) -> bool:
    """`list(integer >= 1)`: every item is of the kind and admitted; `list` alone takes anything."""
    return all(_admits_kind(kind, item) for kind in allowed.args)


def _admits_kind(kind: ex.Expr, item: ex.Expr) -> bool:
    number = _number(item)
    match kind:
        case ex.Ref(name="integer"):
            return number is not None and number.denominator == 1
        case ex.Ref(name="real" | "ratio"):
            return number is not None
        case ex.Ref(name="word"):
            return isinstance(item, ex.Ref)
        case ex.Ref(name="text"):
            return isinstance(item, ex.Text)
        case ex.Apply(fn="in"):
            return _admits_kind(kind.args[0], item) and admits(kind.args[1], item)
        case ex.Apply() if kind.fn in _COMPARE:
            return _admits_kind(kind.args[0], item) and admits(kind, item)
        case _:
            return False


# ---- in words ----------------------------------------------------------------------------------------


def allowed_text(allowed: ex.Expr | None) -> str:
    """` in 1..128`, ` of at least 1`: what follows the kind in a message."""
    match allowed:
        case ex.ListOf() | ex.Between():
            return f" in {show_expr(allowed)}"
        case ex.Apply() if allowed.fn in _COMPARE and len(allowed.args) == 2:
            return f" {allowed.fn} {show_expr(allowed.args[1])}"
        case ex.Apply(fn="text") if allowed.args:
            return f" of {show_expr(allowed.args[0])} characters"
        case ex.Apply(fn="text") if allowed.named:
            return f" like {show_expr(allowed.named[0][1])}"
        case ex.Apply(fn="list") if allowed.args:
            return f" of {show_expr(allowed.args[0])}"
        case _:
            return ""
