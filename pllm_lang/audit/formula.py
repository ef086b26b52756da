"""A formula of one entry over an interval, with its slope: compiled once, then enclosed piece by piece.

The evaluator of the verifier does the same for whole tensors with all that is known of them. A search over thousands of
pieces needs the slope too: where it is known, a bound shrinks with the square of a piece's width. Nothing is shared with that
evaluator but the enclosures of `exact`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import NamedTuple

from pllm_lang.catalog.expr import Apply, Expr, Num, Ref
from pllm_lang.catalog.facts import Exact, Interval
from pllm_lang.exact import enclose, interval
from pllm_lang.exact.number import exact, round_down, round_up


class Piece(NamedTuple):
    """The range of a formula over a piece, and of its slope; None where the slope is unknown: at a jump, or a corner of a root."""

    range: Interval
    slope: Interval | None


Formula = Callable[[Interval], "Piece | None"]
"""A formula over a piece; None where it is unknown, such as a quotient by zero."""

BITS = 48
"""Bits that the ends of a range keep: far more than the 2 % to which the ends of a search agree."""
FLAT = interval.point(0)


class NotOfOneEntryError(Exception):
    """The formula calls what is no function of one entry."""


def formula(expr: Expr, name: str, given: Mapping[str, Exact]) -> Formula:
    """`expr` as a function of `name`. Raises NotOfOneEntryError."""
    match expr:
        case Num(value=text):
            return _constant(interval.point(exact(text)))
        case Ref(name="pi"):
            return _constant(enclose.pi())
        case Ref(name=known) if known == name:
            return lambda x: Piece(x, interval.point(1))
        case Ref(name=known) if known in given:
            return _constant(interval.point(given[known]))
        case Apply(fn="where", args=(Apply(fn=test, args=(left, right)), yes, no)) if test in TESTS:
            parts = [formula(part, name, given) for part in (left, right, yes, no)]
            return _chosen(TESTS[test], *parts)
        case Apply(fn="^", args=(base, Num(value=text))) if text.isdigit():
            return _power(formula(base, name, given), int(text))
        case Apply(fn=called, args=args, named=()) if (found := _operation(called, len(args))) is not None:
            return _applied(found, [formula(arg, name, given) for arg in args])
        case _:
            raise NotOfOneEntryError


def _operation(called: str, n_args: int) -> Operation | None:
    """In a field of a record the name of a function is that of the library's operator of that name."""
    short = called.rpartition(".")[2] if called.startswith("std.") else called
    return OPERATIONS.get((short, n_args))


def _constant(value: Interval) -> Formula:
    piece = Piece(value, FLAT)
    return lambda _x: piece


def _applied(operation: Operation, parts: list[Formula]) -> Formula:
    def run(x: Interval) -> Piece | None:
        values: list[Piece] = []
        for part in parts:
            value = part(x)
            if value is None:
                return None
            values.append(value)
        found = operation(*values)
        return None if found is None else _short(found)

    return run


def _short(piece: Piece) -> Piece:
    return Piece(_outward(piece.range), None if piece.slope is None else _outward(piece.slope))


def _outward(x: Interval) -> Interval:
    return Interval(round_down(x.low, BITS), round_up(x.high, BITS))


# ---- arithmetic --------------------------------------------------------------------------------------


def _times(x: Interval | None, y: Interval | None) -> Interval | None:
    """A product of slopes and factors; what is flat stays flat beside what is unknown."""
    if FLAT in (x, y):
        return FLAT
    return None if x is None or y is None else interval.mul(x, y)


def _plus(x: Interval | None, y: Interval | None) -> Interval | None:
    return None if x is None or y is None else interval.add(x, y)


def _minus(x: Interval | None) -> Interval | None:
    return None if x is None else interval.neg(x)


def _add(a: Piece, b: Piece) -> Piece:
    return Piece(interval.add(a.range, b.range), _plus(a.slope, b.slope))


def _neg(a: Piece) -> Piece:
    return Piece(interval.neg(a.range), _minus(a.slope))


def _sub(a: Piece, b: Piece) -> Piece:
    return _add(a, _neg(b))


def _mul(a: Piece, b: Piece) -> Piece:
    slope = _plus(_times(a.slope, b.range), _times(a.range, b.slope))
    return Piece(interval.mul(a.range, b.range), slope)


def _div(a: Piece, b: Piece) -> Piece | None:
    under = interval.div(interval.point(1), b.range)
    if under is None:
        return None
    slope = _minus(_times(interval.mul(under, under), b.slope))
    return _mul(a, Piece(under, slope))


def _power(base: Formula, exponent: int) -> Formula:
    """Squared again and again, shortened between: an end to the 1,024th power is no number of 50,000 bits."""

    def run(x: Interval) -> Piece | None:
        piece = base(x)
        if piece is None:
            return None
        if exponent == 0:
            return Piece(interval.point(1), FLAT)
        below = _whole_power(piece.range, exponent - 1)
        slope = _times(interval.scale(below, exponent), piece.slope)
        return _short(Piece(_whole_power(piece.range, exponent), slope))

    return run


def _whole_power(x: Interval, exponent: int) -> Interval:
    """Tight: an even power of a piece is one of its sizes, an odd one increases."""
    if exponent % 2 == 0:
        x = interval.absolute(x)
    return Interval(_end_power(x.low, exponent, up=False), _end_power(x.high, exponent, up=True))


def _end_power(x: Exact, exponent: int, *, up: bool) -> Exact:
    """`x^exponent` rounded in one direction; of a negative `x` the exponent is odd."""
    if x < 0:
        return -_end_power(-x, exponent, up=not up)
    rounded = round_up if up else round_down
    found: Exact = 1
    while exponent:
        if exponent % 2:
            found = rounded(found * x, BITS)
        x, exponent = rounded(x * x, BITS), exponent // 2
    return found


# ---- corners and jumps -------------------------------------------------------------------------------


def _abs(a: Piece) -> Piece:
    found = interval.absolute(a.range)
    if a.range.low >= 0:
        return Piece(found, a.slope)
    if a.range.high <= 0:
        return Piece(found, _minus(a.slope))
    return Piece(found, None if a.slope is None else interval.symmetric(interval.magnitude(a.slope)))


def _max(a: Piece, b: Piece) -> Piece:
    """A corner has a slope between those of both sides, and that bounds how far the function moves."""
    found = interval.maximum(a.range, b.range)
    if a.range.low >= b.range.high:
        return Piece(found, a.slope)
    if b.range.low >= a.range.high:
        return Piece(found, b.slope)
    return Piece(found, None if a.slope is None or b.slope is None else interval.hull(a.slope, b.slope))


def _min(a: Piece, b: Piece) -> Piece:
    return _neg(_max(_neg(a), _neg(b)))


def _floor(a: Piece) -> Piece:
    low, high = a.range.low // 1, a.range.high // 1
    return Piece(Interval(low, high), FLAT if low == high else None)


def _less(x: Interval, y: Interval) -> bool | None:
    return True if x.high < y.low else False if x.low >= y.high else None


def _at_most(x: Interval, y: Interval) -> bool | None:
    return True if x.high <= y.low else False if x.low > y.high else None


Test = Callable[[Interval, Interval], "bool | None"]
TESTS: dict[str, Test] = {
    "<": _less,
    "<=": _at_most,
    ">": lambda x, y: _less(y, x),
    ">=": lambda x, y: _at_most(y, x),
}


def _chosen(test: Test, left: Formula, right: Formula, yes: Formula, no: Formula) -> Formula:
    def run(x: Interval) -> Piece | None:
        a, b = left(x), right(x)
        found = None if a is None or b is None else test(a.range, b.range)
        if found is not None:
            return yes(x) if found else no(x)
        first, second = yes(x), no(x)
        return (
            None if first is None or second is None else Piece(interval.hull(first.range, second.range), None)
        )

    return run


# ---- functions ---------------------------------------------------------------------------------------


def _increasing(function: Callable[[Exact, int], Interval | None], x: Interval) -> Interval | None:
    below = function(x.low, BITS)
    above = below if x.low == x.high else function(x.high, BITS)
    return None if below is None or above is None else Interval(below.low, above.high)


def _exp(a: Piece) -> Piece | None:
    found = _increasing(enclose.exp, a.range)
    return None if found is None else Piece(found, _times(found, a.slope))


def _tanh(a: Piece) -> Piece | None:
    """The slope is 1 - tanh^2."""
    found = _increasing(enclose.tanh, a.range)
    if found is None:
        return None
    return Piece(found, _times(interval.sub(interval.point(1), interval.square(found)), a.slope))


def _erf(a: Piece) -> Piece | None:
    """The slope is 2 / sqrt(pi) * exp(-x^2)."""
    found = _increasing(enclose.erf, a.range)
    fall = _increasing(enclose.exp, interval.neg(interval.square(a.range)))
    root = interval.sqrt(enclose.pi())
    factor = None if root is None else interval.div(interval.point(2), root)
    if found is None:
        return None
    return Piece(found, _times(_times(factor, fall), a.slope))


def _sqrt(a: Piece) -> Piece | None:
    """The slope is 1 / (2 sqrt(x))."""
    found = interval.sqrt(a.range)
    if found is None:
        return None
    return Piece(found, _times(interval.div(interval.point(Fraction(1, 2)), found), a.slope))


def _wave(function: Callable[[Exact, int], Interval], x: Interval) -> Interval:
    """A sine or cosine moves by at most what its operand moves, and stays within -1 and 1."""
    middle, reach = Fraction(x.low + x.high) / 2, Fraction(x.high - x.low) / 2
    found = function(middle, BITS)
    return Interval(max(-1, found.low - reach), min(1, found.high + reach))


def _sin(a: Piece) -> Piece:
    return Piece(_wave(enclose.sin, a.range), _times(_wave(enclose.cos, a.range), a.slope))


def _cos(a: Piece) -> Piece:
    return Piece(_wave(enclose.cos, a.range), _minus(_times(_wave(enclose.sin, a.range), a.slope)))


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
