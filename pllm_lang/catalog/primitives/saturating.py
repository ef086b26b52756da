"""`tanh(x)` and `erf(x)`, entrywise: increasing, between -1 and 1, bounded where nothing is known of `x`."""

from __future__ import annotations

from collections.abc import Callable

from pllm_lang.catalog.bounds import Arg
from pllm_lang.catalog.facts import Exact, Facts
from pllm_lang.catalog.primitives.elementwise import (
    enclosed,
    enclosed_range,
    lipschitz,
    map_entries,
    same_shape,
)
from pllm_lang.catalog.primitives.primitive import FactsColumn, Params, Primitive
from pllm_lang.exact import enclose, interval
from pllm_lang.exact.number import Interval, ratio

ERF_SLOPE = ratio(11284, 10000)
"""At least 2 / sqrt(pi) = 1.12837..."""


def saturating(function: Callable[[Exact], Interval]) -> FactsColumn:
    ends = enclosed_range(function)

    def facts(args: tuple[Arg, ...], _params: Params) -> Facts:
        found = args[0].facts.range
        return Facts(range=interval.symmetric(1) if found is None else ends(found), rule="saturates")

    return facts


TANH = Primitive(
    name="tanh",
    shape=same_shape,
    facts=saturating(enclose.tanh),
    execute=lambda args, _params: map_entries(args[0], enclosed(enclose.tanh)),
    error=lipschitz(1),
)
ERF = Primitive(
    name="erf",
    shape=same_shape,
    facts=saturating(enclose.erf),
    execute=lambda args, _params: map_entries(args[0], enclosed(enclose.erf)),
    error=lipschitz(ERF_SLOPE),
)
