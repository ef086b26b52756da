"""`abs(x)`, entrywise."""

from __future__ import annotations

import msgspec

from pllm_lang.catalog.bounds import Arg
from pllm_lang.catalog.facts import Facts
from pllm_lang.catalog.primitives.elementwise import lipschitz, map_entries, same_shape
from pllm_lang.catalog.primitives.primitive import Params, Primitive
from pllm_lang.catalog.tensor import Entry
from pllm_lang.exact import interval
from pllm_lang.exact.number import Interval


def facts(args: tuple[Arg, ...], _params: Params) -> Facts:
    """Norms do not change."""
    old = args[0].facts
    found = None if old.range is None else interval.absolute(old.range)
    return msgspec.structs.replace(old, range=found, row_max_low=None, rule="absolute range")


def entry_size(x: Entry) -> Entry:
    return interval.absolute(x) if isinstance(x, Interval) else abs(x)


ABS = Primitive(
    name="abs",
    shape=same_shape,
    facts=facts,
    execute=lambda args, _params: map_entries(args[0], entry_size),
    error=lipschitz(1),
)
