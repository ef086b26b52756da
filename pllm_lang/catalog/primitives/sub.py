"""`a - b`, and `-a` as a primitive of its own."""

from __future__ import annotations

import msgspec

from pllm_lang.catalog import polynomial
from pllm_lang.catalog.bounds import Arg
from pllm_lang.catalog.facts import Facts
from pllm_lang.catalog.primitives import add
from pllm_lang.catalog.primitives.elementwise import (
    fitting_shape,
    lipschitz,
    map_entries,
    same_shape,
    spread,
    zip_entries,
)
from pllm_lang.catalog.primitives.primitive import Params, Primitive
from pllm_lang.catalog.tensor import Entry, Tensor, ends
from pllm_lang.exact import interval
from pllm_lang.exact.number import Interval


def facts(args: tuple[Arg, ...], _params: Params) -> Facts:
    a, b = spread(args)
    x, y = a.facts.range, b.facts.range
    return add.with_norms(
        a, b, None if x is None or y is None else interval.sub(x, y), "difference of ranges"
    )


def execute(args: tuple[Tensor, ...], _params: Params) -> Tensor:
    return zip_entries(args[0], args[1], entry_difference)


def entry_difference(x: Entry, y: Entry) -> Entry:
    if isinstance(x, Interval) or isinstance(y, Interval):
        return interval.sub(ends(x), ends(y))
    return x - y


def negated_facts(args: tuple[Arg, ...], _params: Params) -> Facts:
    found = args[0].facts.range
    return msgspec.structs.replace(
        args[0].facts,
        range=None if found is None else interval.neg(found),
        row_max_low=None,
        rule="negated range",
    )


def entry_negative(x: Entry) -> Entry:
    return interval.neg(x) if isinstance(x, Interval) else -x


SUB = Primitive(
    name="-",
    arity=2,
    shape=fitting_shape,
    facts=facts,
    execute=execute,
    polynomial=lambda args, shapes, params: add.total((args[0], polynomial.neg(args[1])), shapes, params),
    error=add.error,
)
NEG = Primitive(
    name="neg",
    shape=same_shape,
    facts=negated_facts,
    execute=lambda args, _params: map_entries(args[0], entry_negative),
    polynomial=lambda args, _shapes, _params: polynomial.neg(args[0]),
    error=lipschitz(1),
)
