"""A formula of one entry over an interval, with its slope: compiled once, then enclosed piece by piece.

The evaluator of the verifier does the same for whole tensors with all that is known of them. A search over thousands of
pieces needs the slope too: where it is known, a bound shrinks with the square of a piece's width. Nothing is shared with that
evaluator but the enclosures of `exact`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from pllm_lang.audit import grid
from pllm_lang.audit.grid import Span
from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import exact_term
from pllm_lang.catalog.expr import Apply, Expr, Num, Ref
from pllm_lang.catalog.facts import Exact, Interval
from pllm_lang.exact import interval
from pllm_lang.exact.number import MAX_BITS, exact


class Piece(NamedTuple):
    """The range of a formula over a piece, and of its slope; None where the slope is unknown: at a jump, or a corner of a root."""

    range: Span
    slope: Span | None


Formula = Callable[[Span], "Piece | None"]
"""A formula over a piece; None where it is unknown, such as a quotient by zero."""

FLAT = grid.ZERO


class Enclosed(NamedTuple):
    """A `Piece` in exact numbers."""

    range: Interval
    slope: Interval | None


class NotOfOneEntryError(Exception):
    """The formula calls what is no function of one entry."""


def enclosed(expr: Expr, name: str, x: Interval) -> Enclosed | None:
    """`expr` as a function of `name`, over `x`. Raises NotOfOneEntryError."""
    found = formula(expr, name, {})(grid.spanned(x))
    if found is None:
        return None
    return Enclosed(
        grid.interval_of(found.range), None if found.slope is None else grid.interval_of(found.slope)
    )


def formula(expr: Expr, name: str, given: Mapping[str, Exact]) -> Formula:
    """`expr` as a function of `name`. Raises NotOfOneEntryError."""
    match expr:
        case Num(value=text):
            return _constant(grid.spanned(interval.point(exact(text))))
        case Ref(name="pi"):
            return _constant(grid.pi())
        case Ref(name=known) if known == name:
            return lambda x: Piece(x, grid.ONE)
        case Ref(name=known) if known in given:
            return _constant(grid.spanned(interval.point(given[known])))
        case Apply(fn="where", args=(Apply(fn=test, args=(left, right)), yes, no)) if test in TESTS:
            parts = [formula(part, name, given) for part in (left, right, yes, no)]
            return _chosen(TESTS[test], *parts)
        case Apply(fn="^", args=(base, exponent)) if (times := _whole(exponent, given)) is not None:
            return _power(formula(base, name, given), times)
        case Apply(fn=called, args=args, named=()) if (found := _operation(called, len(args))) is not None:
            return _applied(found, [formula(arg, name, given) for arg in args])
        case _:
            raise NotOfOneEntryError


def _whole(exponent: Expr, given: Mapping[str, Exact]) -> int | None:
    """A constant exponent that is a whole number, 0 or more."""
    found = exact_term(exponent, Env(exact=dict(given)))
    return found if isinstance(found, int) and found >= 0 else None


def _operation(called: str, n_args: int) -> Operation | None:
    """In a field of a record the name of a function is that of the library's operator of that name."""
    short = called.rpartition(".")[2] if called.startswith("std.") else called
    return OPERATIONS.get((short, n_args))


def _constant(value: Span) -> Formula:
    return partial(_same, Piece(value, FLAT))


def _same(piece: Piece | None, _x: Span) -> Piece | None:
    return piece


def _applied(operation: Operation, parts: list[Formula]) -> Formula:
    """What is made of constants alone is one, worked out here."""
    if all(isinstance(part, partial) for part in parts):
        pieces = [part(grid.ZERO) for part in parts]
        return partial(_same, None if None in pieces else operation(*pieces))
    if len(parts) == 1:
        (only,) = parts
        return lambda x: None if (a := only(x)) is None else operation(a)
    first, second = parts

    def run(x: Span) -> Piece | None:
        a = first(x)
        b = None if a is None else second(x)
        return None if b is None else operation(a, b)

    return run


# ---- arithmetic --------------------------------------------------------------------------------------


def _times(x: Span | None, y: Span | None) -> Span | None:
    """A product of slopes and factors; what is flat stays flat beside what is unknown."""
    if FLAT in (x, y):
        return FLAT
    return None if x is None or y is None else grid.mul(x, y)


def _plus(x: Span | None, y: Span | None) -> Span | None:
    return None if x is None or y is None else grid.add(x, y)


def _minus(x: Span | None) -> Span | None:
    return None if x is None else grid.neg(x)


def _add(a: Piece, b: Piece) -> Piece:
    return Piece(grid.add(a.range, b.range), _plus(a.slope, b.slope))


def _neg(a: Piece) -> Piece:
    return Piece(grid.neg(a.range), _minus(a.slope))


def _sub(a: Piece, b: Piece) -> Piece:
    return _add(a, _neg(b))


def _mul(a: Piece, b: Piece) -> Piece:
    slope = _plus(_times(a.slope, b.range), _times(a.range, b.slope))
    return Piece(grid.mul(a.range, b.range), slope)


def _div(a: Piece, b: Piece) -> Piece | None:
    under = grid.inverse(b.range)
    if under is None:
        return None
    slope = _minus(_times(grid.square(under), b.slope))
    return _mul(a, Piece(under, slope))


def _power(base: Formula, exponent: int) -> Formula:
    def run(x: Span) -> Piece | None:
        piece = base(x)
        if piece is None or exponent * grid.bits(piece.range) > MAX_BITS:
            return None
        if exponent == 0:
            return Piece(grid.ONE, FLAT)
        below = grid.power(piece.range, exponent - 1)
        slope = _times(grid.scale(below, exponent), piece.slope)
        return Piece(grid.power(piece.range, exponent), slope)

    return run


# ---- corners and jumps -------------------------------------------------------------------------------


def _abs(a: Piece) -> Piece:
    found = grid.absolute(a.range)
    if a.range[0] >= 0:
        return Piece(found, a.slope)
    if a.range[1] <= 0:
        return Piece(found, _minus(a.slope))
    if a.slope is None:
        return Piece(found, None)
    most = grid.magnitude(a.slope)
    return Piece(found, (-most, most))


def _max(a: Piece, b: Piece) -> Piece:
    """A corner has a slope between those of both sides, and that bounds how far the function moves."""
    found = max(a.range[0], b.range[0]), max(a.range[1], b.range[1])
    if a.range[0] >= b.range[1]:
        return Piece(found, a.slope)
    if b.range[0] >= a.range[1]:
        return Piece(found, b.slope)
    return Piece(found, None if a.slope is None or b.slope is None else grid.hull(a.slope, b.slope))


def _min(a: Piece, b: Piece) -> Piece:
    return _neg(_max(_neg(a), _neg(b)))


def _floor(a: Piece) -> Piece:
    low, high = grid.whole(a.range)
    return Piece((low, high), FLAT if low == high else None)


def _less(x: Span, y: Span) -> bool | None:
    return True if x[1] < y[0] else False if x[0] >= y[1] else None


def _at_most(x: Span, y: Span) -> bool | None:
    return True if x[1] <= y[0] else False if x[0] > y[1] else None


Test = Callable[[Span, Span], "bool | None"]
TESTS: dict[str, Test] = {
    "<": _less,
    "<=": _at_most,
    ">": lambda x, y: _less(y, x),
    ">=": lambda x, y: _at_most(y, x),
}


def _chosen(test: Test, left: Formula, right: Formula, yes: Formula, no: Formula) -> Formula:
    def run(x: Span) -> Piece | None:
        a, b = left(x), right(x)
        found = None if a is None or b is None else test(a.range, b.range)
        if found is not None:
            return yes(x) if found else no(x)
        first, second = yes(x), no(x)
        return None if first is None or second is None else Piece(grid.hull(first.range, second.range), None)

    return run


# ---- functions ---------------------------------------------------------------------------------------


def _exp(a: Piece) -> Piece | None:
    found = grid.exp(a.range)
    return None if found is None else Piece(found, _times(found, a.slope))


def _tanh(a: Piece) -> Piece | None:
    """The slope is 1 - tanh^2 = 4 e / (1 + e)^2 with e = exp(-2 |x|): it grows with e, and far out it is known to many digits
    where a difference of numbers near 1 would have none."""
    found, e = grid.tanh(a.range), grid.exp(grid.neg(grid.scale(grid.absolute(a.range), 2)))
    if found is None or e is None:
        return None
    low, high = (
        _times(grid.scale(end, 4), grid.inverse(grid.square(grid.add(grid.ONE, end))))
        for end in ((e[0], e[0]), (e[1], e[1]))
    )
    fall = None if low is None or high is None else (low[0], high[1])
    return Piece(found, _times(fall, a.slope))


def _erf(a: Piece) -> Piece | None:
    """The slope is 2 / sqrt(pi) * exp(-x^2)."""
    found, fall = grid.erf(a.range), grid.exp(grid.neg(grid.square(a.range)))
    return None if found is None else Piece(found, _times(_times(TWO_OVER_ROOT_PI, fall), a.slope))


_ROOT_PI = grid.sqrt(grid.pi())
TWO_OVER_ROOT_PI = None if _ROOT_PI is None else _times(grid.TWO, grid.inverse(_ROOT_PI))


def _sqrt(a: Piece) -> Piece | None:
    """The slope is 1 / (2 sqrt(x))."""
    found = grid.sqrt(a.range)
    if found is None:
        return None
    return Piece(found, _times(_times(grid.HALF, grid.inverse(found)), a.slope))


def _sin(a: Piece) -> Piece:
    return Piece(grid.sin(a.range), _times(grid.cos(a.range), a.slope))


def _cos(a: Piece) -> Piece:
    return Piece(grid.cos(a.range), _minus(_times(grid.sin(a.range), a.slope)))


Operation = Callable[..., "Piece | None"]
OPERATIONS: dict[tuple[str, int], Operation] = {
    ("+", 2): _add,
    ("-", 2): _sub,
    ("-", 1): _neg,
    ("*", 2): _mul,
    ("/", 2): _div,
    ("min", 2): _min,
    ("max", 2): _max,
    ("abs", 1): _abs,
    ("sqrt", 1): _sqrt,
    ("floor", 1): _floor,
    ("exp", 1): _exp,
    ("tanh", 1): _tanh,
    ("erf", 1): _erf,
    ("sin", 1): _sin,
    ("cos", 1): _cos,
}
