"""`sqrt(x)`, entrywise; unknown below zero."""

from __future__ import annotations

from pllm_lang.catalog.bounds import Arg
from pllm_lang.catalog.facts import Exact
from pllm_lang.catalog.primitives.elementwise import enclosed, map_entries, monotone, same_shape
from pllm_lang.catalog.primitives.primitive import Params, Primitive
from pllm_lang.exact import enclose, interval
from pllm_lang.exact.number import Interval, ratio


def entry_root(x: Exact) -> Interval | None:
    return None if x < 0 else enclose.sqrt(x)


def error(args: tuple[Arg, ...], _params: Params) -> Exact | None:
    """|sqrt(x') - sqrt(x)| <= e / sqrt(x') and <= sqrt(e), where x is not negative either."""
    e, found = args[0].facts.error, args[0].facts.range
    if e is None or found is None or found.low < e:
        return None
    always = enclose.sqrt(e).high
    near = enclose.sqrt(found.low).low
    return always if near == 0 else min(always, ratio(e, near))


SQRT = Primitive(
    name="sqrt",
    shape=same_shape,
    facts=monotone(interval.sqrt, "root of the range"),
    execute=lambda args, _params: map_entries(args[0], enclosed(entry_root)),
    error=error,
)
