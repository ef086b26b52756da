"""`cos(x)` and `sin(x)`, entrywise."""

from __future__ import annotations

from collections.abc import Callable

from pllm_lang.catalog.bounds import Arg
from pllm_lang.catalog.facts import Exact, Facts
from pllm_lang.catalog.primitives.elementwise import lipschitz, map_entries, same_shape
from pllm_lang.catalog.primitives.primitive import Params, Primitive
from pllm_lang.catalog.tensor import Entry, Tensor
from pllm_lang.exact import enclose, interval
from pllm_lang.exact.number import Interval, ratio


def unit_facts(_args: tuple[Arg, ...], _params: Params) -> Facts:
    return Facts(range=interval.symmetric(1), rule="circle")


def entry_circular(function: Callable[[Exact], Interval]) -> Callable[[Entry], Entry]:
    """The enclosure of the middle, widened by half the width (the slope is at most one)."""

    def apply(x: Entry) -> Entry:
        if not isinstance(x, Interval):
            return function(x)
        half = ratio(x.high - x.low, 2)
        middle = function(x.low + half)
        return Interval(max(-1, middle.low - half), min(1, middle.high + half))

    return apply


def _execute(function: Callable[[Exact], Interval]) -> Callable[[tuple[Tensor, ...], Params], Tensor]:
    return lambda args, _params: map_entries(args[0], entry_circular(function))


COS = Primitive(
    name="cos", shape=same_shape, facts=unit_facts, execute=_execute(enclose.cos), error=lipschitz(1)
)
SIN = Primitive(
    name="sin", shape=same_shape, facts=unit_facts, execute=_execute(enclose.sin), error=lipschitz(1)
)
