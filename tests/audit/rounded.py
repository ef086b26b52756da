"""A formula on a grid: every constant and every product off by up to one unit, in whatever direction; an enclosure of all."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from pllm_lang.catalog.expr import Apply, Expr, Num, Ref
from pllm_lang.exact import enclose, interval
from pllm_lang.exact.number import Interval

EXACT: dict[tuple[str, int], Callable[..., Interval]] = {
    ("+", 2): interval.add,
    ("-", 2): interval.sub,
    ("-", 1): interval.neg,
    ("abs", 1): interval.absolute,
    ("max", 2): interval.maximum,
}
LESS = {"<": lambda a, b: a < b, "<=": lambda a, b: a <= b}


def on_grid(expr: Expr, x: Fraction, unit: Fraction) -> Interval:
    """`expr` at a point of the grid, as any code gives it whose steps round to a neighbour."""

    def of(part: Expr) -> Interval:
        return on_grid(part, x, unit)

    match expr:
        case Num(value=text):
            value = Fraction(text)
            return interval.point(value) if value % unit == 0 else Interval(value - unit, value + unit)
        case Ref(name="x"):
            return interval.point(x)
        case Ref(name="pi"):
            return enclose.pi()
        case Apply(fn="where", args=(Apply(fn=test, args=(left, right)), yes, no)):
            # a comparison with a constant is exact: the constant is rounded once, for all
            return of(yes) if LESS[test](exactly(left, x), exactly(right, x)) else of(no)
        case Apply(fn="^", args=(base, Num(value=n))):
            value = first = of(base)
            for _ in range(int(n) - 1):
                value = off(interval.mul(value, first), unit)
            return value
        case Apply(fn=("+" | "-" | "abs" | "max") as fn, args=args):
            return EXACT[fn, len(args)](*map(of, args))
        case Apply(fn="*", args=(a, b)):
            return off(interval.mul(of(a), of(b)), unit)
        case Apply(fn="/", args=(a, Num(value=n))):
            return off(interval.scale(of(a), Fraction(1, Fraction(n))), unit)
        case Apply(fn="sin", args=(a,)):
            # of an operand that is exact, given as a share of the result
            return off(Interval(*ends(exactly(a, x))), unit)
    raise AssertionError(expr)


def off(value: Interval, unit: Fraction) -> Interval:
    return Interval(value.low - unit, value.high + unit)


def ends(x: Fraction) -> tuple[Fraction, Fraction]:
    found = enclose.sin(x)
    return Fraction(found.low), Fraction(found.high)


def exactly(expr: Expr, x: Fraction) -> Fraction:
    """An operand of a comparison or a sine, without rounding (pi to 2^-64)."""
    match expr:
        case Num(value=text):
            return Fraction(text)
        case Ref(name="x"):
            return x
        case Ref(name="pi"):
            return Fraction(enclose.pi().low)
        case Apply(fn="abs", args=(a,)):
            return abs(exactly(a, x))
        case Apply(fn="*", args=(a, b)):
            return exactly(a, x) * exactly(b, x)
        case Apply(fn="/", args=(a, b)):
            return exactly(a, x) / exactly(b, x)
    raise AssertionError(expr)
