"""`exp(x)` and `log(x)`, entrywise."""

from __future__ import annotations

import msgspec

from pllm_lang.catalog.bounds import Arg
from pllm_lang.catalog.facts import Exact, Facts
from pllm_lang.catalog.primitives.elementwise import (
    enclosed,
    enclosed_range,
    map_entries,
    monotone,
    same_shape,
)
from pllm_lang.catalog.primitives.primitive import Params, Primitive
from pllm_lang.exact import enclose
from pllm_lang.exact.number import Interval, ratio


def entry_log(x: Exact) -> Interval | None:
    return None if x <= 0 else enclose.log(x)


def exp_facts(args: tuple[Arg, ...], params: Params) -> Facts:
    """Increasing: a row that reaches p has an entry of at least exp(p)."""
    found = monotone(enclosed_range(enclose.exp), "exp of the range")(args, params)
    peak = args[0].facts.row_max_low
    risen = None if peak is None else enclose.exp(peak)
    return found if risen is None else msgspec.structs.replace(found, row_max_low=risen.low)


def exp_error(args: tuple[Arg, ...], _params: Params) -> Exact | None:
    """|exp(x') - exp(x)| <= exp(x') (exp(e) - 1)."""
    e, found = args[0].facts.error, args[0].facts.range
    if e is None or found is None:
        return None
    top, growth = enclose.exp(found.high), enclose.exp(e)
    return None if top is None or growth is None else top.high * (growth.high - 1)


def log_error(args: tuple[Arg, ...], _params: Params) -> Exact | None:
    """|log(x') - log(x)| <= e / (x' - e)."""
    e, found = args[0].facts.error, args[0].facts.range
    if e is None or found is None or found.low <= e:
        return None
    return ratio(e, found.low - e)


EXP = Primitive(
    name="exp",
    shape=same_shape,
    facts=exp_facts,
    execute=lambda args, _params: map_entries(args[0], enclosed(enclose.exp)),
    error=exp_error,
)
LOG = Primitive(
    name="log",
    shape=same_shape,
    facts=monotone(enclosed_range(entry_log), "log of the range"),
    execute=lambda args, _params: map_entries(args[0], enclosed(entry_log)),
    error=log_error,
)
