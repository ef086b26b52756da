"""`causal_at(x, positions, fill, window: w, chunk: c)`: the mask of keys that follow each other and end at the last query.

Key j of u stands at position `positions[last] - (u - 1 - j)`. It stays in row i if that is a position at all (0 or
later: an empty slot of a cache is before it), not later than `positions[i]` and, with a window, later than
`positions[i] - w`, or with a chunk in the same block of c positions as the query; else the entry becomes `fill`.
"""

from __future__ import annotations

from pllm_lang.catalog.bounds import Arg, units_of
from pllm_lang.catalog.facts import Exact, Facts
from pllm_lang.catalog.primitives.elementwise import written
from pllm_lang.catalog.primitives.primitive import Params, Primitive, int_param
from pllm_lang.catalog.tensor import (
    STRETCH,
    Entry,
    Row,
    Shape,
    Tensor,
    constant_value,
    entries,
    of_rows,
    spend,
)
from pllm_lang.exact import interval


def shape(shapes: tuple[Shape, ...], _params: Params) -> Shape | str:
    x, positions, fill = shapes
    if len(x) < 2 or STRETCH in x or positions != (x[-2],) or fill != ():
        return (
            f"a mask by position needs scores, a position for each row and one number,"
            f" not {written(x)}, {written(positions)} and {written(fill)}"
        )
    return x


def facts(args: tuple[Arg, ...], _params: Params) -> Facts:
    """Every entry is a score or the fill."""
    x, fill = args[0].facts.range, args[2].facts.range
    if x is None or fill is None:
        return Facts()
    return Facts(range=interval.hull(x, fill), unit=units_of((args[0], args[2])), rule="masked")


def execute(args: tuple[Tensor, ...], params: Params) -> Tensor:
    x, fill = args[0], constant_value(args[2])
    window, chunk = int_param(params, "window", 0), int_param(params, "chunk", 0)
    places = [place for place in entries(args[1]) if isinstance(place, int)]
    if fill is None or window is None or chunk is None or len(places) != x.shape[-2]:
        raise ArithmeticError("a mask needs whole numbers")
    spend(len(x.which) * max(1, x.shape[-1]))
    before = places[-1] - (x.shape[-1] - 1) if places else 0
    rows = (
        _masked(
            x.rows[r],
            _first(places[i % len(places)], window, chunk) - before,
            places[i % len(places)] - before,
            fill,
        )
        for i, r in enumerate(x.which)
    )
    return of_rows(x.shape, rows)


def _first(query: int, window: int, chunk: int) -> int:
    """The first position that a query sees."""
    return max(0, query - window + 1 if window else 0, query - query % chunk if chunk else 0)


def _masked(row: Row, first: int, last: int, fill: Entry) -> Row:
    return tuple(entry if first <= j <= last else fill for j, entry in enumerate(row))


def error(args: tuple[Arg, ...], _params: Params) -> Exact | None:
    """Positions choose, so they must be exact; the rest is at most as far off as a score or the fill."""
    x, positions, fill = (arg.facts.error for arg in args)
    if x is None or fill is None or positions != 0:
        return None
    return max(x, fill)


CAUSAL_AT = Primitive(
    name="causal_at",
    arity=3,
    shape=shape,
    facts=facts,
    execute=execute,
    error=error,
    params=("window", "chunk"),
)
