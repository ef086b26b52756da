"""Comparisons, entrywise to 0 or 1, and `where(c, a, b)`: `a` where `c` is not zero, else `b`."""

from __future__ import annotations

from collections.abc import Callable

from pllm_lang.catalog.bounds import Arg, units_of
from pllm_lang.catalog.facts import Exact, Facts
from pllm_lang.catalog.primitives.elementwise import fitting_shape, largest_error, zip_entries
from pllm_lang.catalog.primitives.primitive import Params, Primitive
from pllm_lang.catalog.tensor import Entry, Tensor, ends
from pllm_lang.exact import interval
from pllm_lang.exact.number import Interval


def _less(x: Interval, y: Interval) -> bool | None:
    return True if x.high < y.low else False if x.low >= y.high else None


def _at_most(x: Interval, y: Interval) -> bool | None:
    return True if x.high <= y.low else False if x.low > y.high else None


def _equal(x: Interval, y: Interval) -> bool | None:
    if x.low == x.high == y.low == y.high:
        return True
    return False if x.high < y.low or y.high < x.low else None


def _flipped(test: Test) -> Test:
    return lambda x, y: test(y, x)


def _negated(test: Test) -> Test:
    def apply(x: Interval, y: Interval) -> bool | None:
        found = test(x, y)
        return None if found is None else not found

    return apply


Test = Callable[[Interval, Interval], "bool | None"]


def comparison(name: str, test: Test) -> Primitive:
    def facts(args: tuple[Arg, ...], _params: Params) -> Facts:
        x, y = args[0].facts.range, args[1].facts.range
        found = None if x is None or y is None else test(x, y)
        bounds = Interval(0, 1) if found is None else interval.point(int(found))
        return Facts(range=bounds, unit=1, rule="truth value")

    def decide(x: Entry, y: Entry) -> Entry:
        found = test(ends(x), ends(y))
        if found is None:
            raise ArithmeticError("an enclosure does not decide the comparison")
        return int(found)

    return Primitive(
        name=name,
        arity=2,
        shape=fitting_shape,
        facts=facts,
        execute=lambda args, _params: zip_entries(args[0], args[1], decide),
        error=one_unless_exact,
    )


def one_unless_exact(_args: tuple[Arg, ...], _params: Params) -> Exact | None:
    return 1


def where_facts(args: tuple[Arg, ...], _params: Params) -> Facts:
    choice, x, y = (arg.facts.range for arg in args)
    if choice is not None and (choice.low > 0 or choice.high < 0):
        return Facts(range=x, unit=args[1].facts.unit, rule="chosen branch")
    if choice is not None and choice.low == choice.high == 0:
        return Facts(range=y, unit=args[2].facts.unit, rule="chosen branch")
    return Facts(
        range=None if x is None or y is None else interval.hull(x, y),
        unit=units_of(args[1:]),
        rule="either branch",
    )


def where_error(args: tuple[Arg, ...], _params: Params) -> Exact | None:
    """A wrong choice has no bound but the branches' distance."""
    if args[0].facts.error == 0:
        return largest_error(args[1:])
    x, y, both = args[1].facts.range, args[2].facts.range, largest_error(args[1:])
    if x is None or y is None or both is None:
        return None
    return both + interval.magnitude(interval.sub(x, y))


def run_where(args: tuple[Tensor, ...], _params: Params) -> Tensor:
    chosen = zip_entries(args[0], args[1], lambda c, x: x if _is_true(c) else 0)
    other = zip_entries(args[0], args[2], lambda c, y: 0 if _is_true(c) else y)
    return zip_entries(chosen, other, _either)


def _either(x: Entry, y: Entry) -> Entry:
    if isinstance(x, Interval) or isinstance(y, Interval):
        return interval.add(ends(x), ends(y))
    return x + y


def _is_true(choice: Entry) -> bool:
    found = ends(choice)
    if found.low <= 0 <= found.high and found.low != found.high:
        raise ArithmeticError("an enclosure does not decide the choice")
    return found.low != 0


COMPARISONS = (
    comparison("<", _less),
    comparison("<=", _at_most),
    comparison(">", _flipped(_less)),
    comparison(">=", _flipped(_at_most)),
    comparison("==", _equal),
    comparison("!=", _negated(_equal)),
)
WHERE = Primitive(
    name="where", arity=3, shape=fitting_shape, facts=where_facts, execute=run_where, error=where_error
)
