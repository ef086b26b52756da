"""`floor(x)`, a function, and `round_to(x, step)`, an approximation of `x` on the grid of `step`.

`floor` means the floor: where its operand is exact it has no error. `round_to` means `x` itself, and its
rounding
(to nearest, ties to even) is counted as error.
"""

from __future__ import annotations

from math import floor

from pllm_lang.catalog.bounds import Arg
from pllm_lang.catalog.facts import Exact, Facts
from pllm_lang.catalog.primitives.elementwise import map_entries, same_shape
from pllm_lang.catalog.primitives.primitive import Params, Primitive
from pllm_lang.catalog.tensor import Entry, Shape, Tensor, constant_value
from pllm_lang.exact.number import Interval, ratio


def rounded_shape(shapes: tuple[Shape, ...], _params: Params) -> Shape | str:
    return shapes[0] if shapes[1] == () else "a rounding step is one number"


def entry_floor(x: Entry) -> Entry:
    if not isinstance(x, Interval):
        return floor(x)
    return _joined(floor(x.low), floor(x.high))


def entry_rounded(x: Entry, step: Exact) -> Entry:
    if not isinstance(x, Interval):
        return round(ratio(x, step)) * step
    return _joined(round(ratio(x.low, step)) * step, round(ratio(x.high, step)) * step)


def _joined(low: Exact, high: Exact) -> Entry:
    return low if low == high else Interval(low, high)


def floor_facts(args: tuple[Arg, ...], _params: Params) -> Facts:
    found = args[0].facts.range
    return Facts(
        range=None if found is None else Interval(floor(found.low), floor(found.high)),
        unit=1,
        rule="floor of the range",
    )


def floor_error(args: tuple[Arg, ...], _params: Params) -> Exact | None:
    """The floors of two numbers at distance e > 0 are at most floor(e) + 1 apart."""
    e = args[0].facts.error
    return None if e is None else floor(e) + 1


def round_facts(args: tuple[Arg, ...], _params: Params) -> Facts:
    found, step = args[0].facts.range, step_of(args)
    if found is None or step is None:
        return Facts()
    if on_grid(args[0].facts, step):
        return args[0].facts
    low, high = round(ratio(found.low, step)) * step, round(ratio(found.high, step)) * step
    return Facts(range=Interval(low, high), unit=step, rule="rounded range")


def round_error(args: tuple[Arg, ...], _params: Params) -> Exact | None:
    """Half a step; of known values, what their rounding really is."""
    x, step = args[0].facts, step_of(args)
    if x.error is None or step is None:
        return None
    if on_grid(x, step):
        return x.error
    if x.value is None:
        return x.error + ratio(step, 2)
    return x.error + max(abs(round(ratio(v, step)) * step - v) for v in x.value.entries)


def on_grid(x: Facts, step: Exact) -> bool:
    """Whether every entry is known to be a multiple of `step`."""
    return x.unit is not None and isinstance(ratio(x.unit, step), int)


def step_of(args: tuple[Arg, ...]) -> Exact | None:
    """The rounding step, None where it is not known or not positive."""
    value = args[1].facts.value
    return value.entries[0] if value is not None and value.entries[0] > 0 else None


def run_round(args: tuple[Tensor, ...], _params: Params) -> Tensor:
    step = constant_value(args[1])
    if step is None or isinstance(step, Interval) or step <= 0:
        raise ArithmeticError("the rounding step is not a positive number")
    return map_entries(args[0], lambda entry: entry_rounded(entry, step))


FLOOR = Primitive(
    name="floor",
    shape=same_shape,
    facts=floor_facts,
    execute=lambda args, _params: map_entries(args[0], entry_floor),
    error=floor_error,
)
ROUND_TO = Primitive(
    name="round_to",
    arity=2,
    shape=rounded_shape,
    facts=round_facts,
    execute=run_round,
    error=round_error,
    rounds=True,
)
