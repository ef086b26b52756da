"""Replay: what the expressions of records say: facts of a meaning, truth of a requirement.

Names stand for operands and results (facts), shape variables and parameters (exact numbers, lists, words) and formats. Every
expression gives a `Fact`, a number being a tensor without axes; None where a name or a form is not known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

import msgspec

from pllm_lang.artifacts.replay import facts as f
from pllm_lang.artifacts.replay import numbers as n
from pllm_lang.artifacts.replay.facts import Fact
from pllm_lang.artifacts.replay.moves import MOVES
from pllm_lang.artifacts.replay.numbers import Range, Size
from pllm_lang.catalog.expr import Apply, Attr, Between, Expr, Item, ListOf, Num, Ref, Text
from pllm_lang.catalog.records import Format

TRUTH = {"true": 1, "false": 0}
GRIDDED = ("int", "fixed", "ring", "index", "label", "boolean")
FREE = {
    "exact": Format("exact", "exact"),
    "boolean": Format("boolean", "boolean", "0", "1"),
    "index": Format("index", "index"),
}


class Names(msgspec.Struct):
    """What names stand for. A name that is none of these is a word; a parameter that is neither number nor word stands among the
    words as None, so that it is not taken for one."""

    facts: dict[str, Fact] = {}
    exact: dict[str, n.Number] = {}
    lists: dict[str, tuple[int, ...]] = {}
    words: dict[str, str | None] = {}
    formats: dict[str, Format] = {}


def bound(outer: Names, own: Iterable[str], given: Iterable[tuple[str, Expr]]) -> Names:
    """With these parameters in place of what else is called so; one that is not given is unknown."""
    new = set(own)
    exact_ = {name: number for name, number in outer.exact.items() if name not in new}
    words = {**outer.words, **dict.fromkeys(new)}
    for name, value_ in given:
        number = exact(value_, outer)
        if name in new and number is not None:
            exact_[name] = number
        elif name in new:
            words[name] = word(value_, outer)
    facts = {name: fact for name, fact in outer.facts.items() if name not in new}
    return Names(facts, exact_, outer.lists, words, outer.formats)


def failing(most: n.Number, names: Names | None = None) -> Names:
    """`failure` is a chance of which an upper bound is known."""
    return msgspec.structs.replace(names or Names(), facts={"failure": Fact((), (0, most))})


# ---- formats ----
@lru_cache(maxsize=4096)
def step_of(form: Format | None) -> Size:
    """The distance of neighbouring values; None where there is no even grid."""
    return None if form is None or form.kind not in GRIDDED else n.two_to(-form.frac)


@lru_cache(maxsize=4096)
def held_by(form: Format | None) -> Range:
    """The numbers that a format can hold; None where it sets no bound."""
    if form is None or not form.low or not form.high:
        return None
    unit = n.two_to(-form.frac)
    return n.number(form.low) * unit, n.number(form.high) * unit


def _read(form: Format | None, what: str) -> Size:
    if form is None:
        return None
    low, high = held_by(form) or (None, None)
    size = int(form.modulus or 0) or None
    gridded = form.kind in GRIDDED
    read: dict[str, Size] = {"lowest": low, "highest": high, "ulp": step_of(form), "ring_size": size}
    read |= {"fraction_bits": form.frac if gridded else None, "ring_bits": size and (size - 1).bit_length()}
    return read[what]


READS = ("lowest", "highest", "ulp", "ring_bits", "ring_size", "fraction_bits")


# ---- slots: one number of a tensor ----
def _slot(fn: str, x: Fact) -> Range:
    """The interval in which a slot of a tensor lies; `min` and `max` of one tensor are its entries'."""
    if fn in ("min", "max"):
        return x.range
    if fn == "max_abs":
        return f.sized(x).range
    two, one = f.norms(x, -2 if fn.startswith("col") else -1)
    top = one if fn.endswith("1") else n.root_above(two)
    return None if top is None else (0, top)


SLOTS = ("max_abs", "min", "max", "norm2", "row_norm2", "row_norm1", "col_norm2", "col_norm1")


# ---- values ----
def value(expr: Expr, names: Names) -> Fact | None:
    if type(expr) is Ref:
        name = expr.name
        found = names.facts.get(name)
        if found is not None:
            return found
        known = names.exact.get(name, TRUTH.get(name))
        return None if known is None else f.point(known)
    if type(expr) is Apply:
        found = _applied(expr, names)
        return None if found is None else _short(f.settled(found))
    return f.point(n.number(expr.value)) if type(expr) is Num else None


def _short(x: Fact) -> Fact:
    """Nothing is known by numbers that grow without limit."""
    sizes = x.range or ()
    sizes = (*sizes, x.unit) if x.rows == x.cols == f.OPEN else (*sizes, x.unit, *x.rows, *x.cols)
    for one in sizes if x.peak is None else (*sizes, x.peak):
        if one is None:
            continue
        if (one.bit_length() if isinstance(one, int) else n.bits(one)) > n.MAX_BITS:
            return Fact(x.shape)
    return x


def exact(expr: Expr, names: Names) -> Size:
    found = value(expr, names)
    return found.range[0] if found is not None and found.range and found.range[0] == found.range[1] else None


def square_above(expr: Expr, names: Names) -> Size:
    """A bound of the square of a term that is not negative, without rounding the roots in it."""
    match expr:
        case Apply(fn="sqrt", args=(arg,)):
            found = value(arg, names)
            return None if found is None or found.range is None else found.range[1]
        case Apply(fn="norm2" | "row_norm2" | "col_norm2" as slot, args=(arg,)):
            found = value(arg, names)
            return None if found is None else f.norms(found, -2 if slot == "col_norm2" else -1)[0]
        case Apply(fn="*", args=(left, right)):
            return n.product(square_above(left, names), square_above(right, names))
        case _:
            found = value(expr, names)
            top = None if found is None or found.range is None or found.range[0] < 0 else found.range[1]
            return n.product(top, top)


def _applied(expr: Apply, names: Names) -> Fact | None:
    fn, args = expr.fn.rpartition(".")[2] if "." in expr.fn else expr.fn, expr.args
    if fn in SPECIAL:
        if len(args) == 1 and fn in READS and isinstance(args[0], Ref):
            read = _read(_format(args[0], names), fn)
            return None if read is None else f.point(read)
        if len(args) == 1 and not expr.named and fn in SLOTS:
            found = value(args[0], names)
            slot = None if found is None else _slot(fn, found)
            return None if slot is None else Fact((), slot)
        if fn in CONDITIONS and not any(of_entries(arg, names) for arg in args):
            truth = holds(expr, names)
            return None if truth is None else f.point(int(truth))
        if fn in FORMATTED:
            return _in_format(fn, args, names)
        if fn == "where" and len(args) == 3 and not of_entries(args[0], names):
            choice = exact(args[0], names)
            if choice is not None:
                return value(args[1] if choice else args[2], names)
        if fn == "polynomial":
            return _polynomial(value(args[0], names), _list(dict(expr.named).get("coefficients"), names))
    given: list[Fact] = []
    for arg in args:
        found = value(arg, names)
        if found is None:
            return None
        given.append(found)
    return _by_rule(fn, given, expr, names)


def _by_rule(fn: str, args: list[Fact], expr: Apply, names: Names) -> Fact | None:
    if fn == "^" or (fn == "*" and expr.args[0] == expr.args[1]):
        exponent = exact(expr.args[1], names) if fn == "^" else 2
        if exponent is None or exponent.denominator != 1 or abs(exponent) > MAX_EXPONENT:
            return Fact(args[0].shape)
        return f.raised(args[0], int(exponent))
    if fn in CONDITIONS:
        shape = f.joined(args[0].shape, args[-1].shape)
        found = _compared(fn, args[0].range, args[-1].range) if fn in COMPARED else OPEN
        return None if shape is None else Fact(shape, found, unit=1)
    if fn in MOVES:
        if any(f.ANY in one.shape for one in args):
            return None
        return MOVES[fn](args, {key: _parameter(one, names) for key, one in expr.named})
    rule = f.RULES.get(fn)
    return None if rule is None or expr.named else rule(*args)


def _in_format(fn: str, args: tuple[Expr, ...], names: Names) -> Fact | None:
    """`raw(x)` are the whole numbers that stand for x; `nearest(x, F)` is x on the grid of F."""
    x = value(args[0], names)
    own = names.formats.get(args[0].name) if isinstance(args[0], Ref) else None
    if fn == "raw":
        step = step_of(own)
        return None if x is None or step is None else f.divided(x, f.point(step))
    form = _format(args[1], names)
    if fn == "nearest" and form is not None and step_of(form) is None:
        return x  # a format without a grid takes every number
    step = step_of(form) if fn == "nearest" else exact(args[1], names)
    if x is None or step is None:
        return None
    return x if n.divides(step, step_of(own)) else f.rounded(x, step)


def _format(expr: Expr, names: Names) -> Format | None:
    return names.formats.get(expr.name) or FREE.get(expr.name) if isinstance(expr, Ref) else None


PIECES = 64
MAX_EXPONENT = 4096


def _polynomial(x: Fact | None, coefficients: tuple[n.Number, ...] | None) -> Fact | None:
    """At its ends where the slope has one sign; else over equal pieces, by the sum of powers met with Horner's scheme."""
    if x is None or coefficients is None or x.range is None or len(coefficients) > 64:
        return None if x is None else Fact(x.shape)
    unit = (
        None if x.unit is None else f.common(*(abs(c) * x.unit**i for i, c in enumerate(coefficients) if c))
    )
    slope = _powers(tuple(i * c for i, c in enumerate(coefficients))[1:], x.range)
    if slope is not None and (slope[0] >= 0 or slope[1] <= 0):
        ends = [sum((c * end**i for i, c in enumerate(coefficients)), 0) for end in x.range]
        return Fact(x.shape, (min(ends), max(ends)), unit=unit)
    low, width = x.range[0], n.over(x.range[1] - x.range[0], PIECES)
    pieces: list[Range] = []
    for i in range(PIECES):
        piece = low + i * width, low + (i + 1) * width
        nested: Range = (0, 0)
        for c in reversed(coefficients):
            nested = n.add(n.mul(nested, piece), (c, c))
        powers = _powers(coefficients, piece)
        pieces.append(None if powers is None else n.meet(powers, nested))
    known = [one for one in pieces if one is not None]
    found = (min(one[0] for one in known), max(one[1] for one in known)) if len(known) == PIECES else None
    return Fact(x.shape, found, unit=unit)


def _powers(coefficients: tuple[n.Number, ...], x: Range) -> Range:
    total: Range = (0, 0)
    for degree, one in enumerate(coefficients):
        total = n.add(total, n.mul((one, one), n.power(x, degree)))
    return total


def _list(expr: Expr | None, names: Names) -> tuple[n.Number, ...] | None:
    if isinstance(expr, Ref) and expr.name in names.lists:
        return tuple(names.lists[expr.name])
    items = [exact(item, names) for item in expr.items] if isinstance(expr, ListOf) else [None]
    known = tuple(item for item in items if item is not None)
    return known if len(known) == len(items) else None


def _parameter(expr: Expr, names: Names) -> object:
    number = None if isinstance(expr, ListOf) else exact(expr, names)
    return _list(expr, names) if number is None else number


# ---- conditions, in Kleene's three values ----
YES, NO, OPEN = (1, 1), (0, 0), (0, 1)


COMPARED = ("<=", "<", ">=", ">", "==", "!=")
CONDITIONS = ("and", "or", "not", "in", *COMPARED)
FORMATTED = ("raw", "nearest", "round_to")
SPECIAL = frozenset((*READS, *SLOTS, *CONDITIONS, *FORMATTED, "where", "polynomial"))
"""Functions that are more than a rule over the facts of their arguments, at least in some forms."""


def holds(expr: Expr, names: Names) -> bool | None:
    match expr:
        case Apply(fn="and" | "or" as fn, args=args):
            found = [holds(arg, names) for arg in args]
            decided = fn == "or"
            return decided if decided in found else None if None in found else not decided
        case Apply(fn="not", args=(arg,)):
            inner = holds(arg, names)
            return None if inner is None else not inner
        case Apply(fn="in", args=(arg, ListOf(items=items))):
            return holds(Apply("or", tuple(Apply("==", (arg, item)) for item in items)), names)
        case Apply(fn="in", args=(arg, Between(low=low, high=high, closed=closed))):
            upper = Apply("<=" if closed else "<", (arg, high))
            return holds(Apply("and", (Apply("<=", (low, arg)), upper)), names)
        case Apply(fn=fn, args=args) if fn in CONDITIONS:
            return _comparison(fn, *args, names) if fn in COMPARED and len(args) == 2 else None
        case _:
            found = value(expr, names)
            return None if found is None else _truth(_compared("!=", found.range, (0, 0)))


def _comparison(fn: str, left: Expr, right: Expr, names: Names) -> bool | None:
    x, y = value(left, names), value(right, names)
    if fn in ("==", "!=") and x is None and y is None:
        first, second = word(left, names), word(right, names)
        return None if first is None or second is None else (first == second) == (fn == "==")
    return None if x is None or y is None else _truth(_compared(fn, x.range, y.range))


def _truth(found: Range) -> bool | None:
    return None if found is None or found[0] != found[1] else found[0] == 1


def _compared(fn: str, x: Range, y: Range) -> Range:
    """1 where it holds of all numbers of the two ranges, 0 where of none, else between."""
    yes, no, open_ = YES, NO, OPEN
    if x is None or y is None:
        return open_
    if fn in (">", ">="):
        return _compared("<" if fn == ">" else "<=", y, x)
    if fn in ("==", "!="):
        same, apart = x[0] == x[1] == y[0] == y[1], x[1] < y[0] or y[1] < x[0]
        return (yes if fn == "==" else no) if same else (no if fn == "==" else yes) if apart else open_
    if x[1] < y[0] or (x[1] == y[0] and fn == "<="):
        return yes
    return no if x[0] > y[1] or (x[0] == y[1] and fn == "<") else open_


def word(expr: Expr, names: Names) -> str | None:
    """None for a name of something else, as of a format or a list."""
    if isinstance(expr, Text):
        return expr.value
    if not isinstance(expr, Ref) or expr.name in names.formats or expr.name in names.lists:
        return None
    return names.words.get(expr.name, expr.name)


def of_entries(expr: Expr, names: Names) -> bool:
    """Whether an operand or result occurs outside a slot, so that the expression is a tensor."""
    if isinstance(expr, Ref):
        return expr.name in names.facts
    if isinstance(expr, Apply):
        slot = len(expr.args) == 1 and expr.fn in (*SLOTS, *READS, "error")
        return not slot and any(of_entries(arg, names) for arg in expr.args)
    return isinstance(expr, Attr)


def parts_of(expr: Expr) -> tuple[Expr, ...]:
    match expr:
        case Apply():
            return (*expr.args, *(one for _, one in expr.named))
        case Item():
            return (expr.base, *expr.items)
        case ListOf():
            return expr.items
        case Attr():
            return (expr.base,)
        case Between():
            return expr.low, expr.high
        case _:
            return ()


def named_in(expr: Expr) -> Iterator[str]:
    if isinstance(expr, Ref):
        yield expr.name
    for part in parts_of(expr):
        yield from named_in(part)
