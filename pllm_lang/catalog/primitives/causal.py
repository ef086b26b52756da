"""`causal(x, fill, offset: o, window: w)`: entry j of row i stays if i + o - w < j <= i + o, else it
becomes `fill`.

A window of 0 is none. The offset is how many keys come before the first query (a filled cache).
"""

from __future__ import annotations

from pllm_lang.catalog.bounds import Arg, units_of
from pllm_lang.catalog.facts import Exact, Facts
from pllm_lang.catalog.primitives.elementwise import largest_error, written
from pllm_lang.catalog.primitives.primitive import Params, Primitive, int_param
from pllm_lang.catalog.tensor import STRETCH, Entry, Row, Shape, Tensor, constant_value, of_rows, spend
from pllm_lang.exact import interval


def shape(shapes: tuple[Shape, ...], _params: Params) -> Shape | str:
    x, fill = shapes
    if len(x) < 2 or STRETCH in x or fill != ():
        return f"a causal mask needs a matrix of scores and one number, not {written(x)} and {written(fill)}"
    return x


def facts(args: tuple[Arg, ...], params: Params) -> Facts:
    """Between scores and fill; row i keeps the score of key i + offset, if there is one, so rows reach that
    high."""
    x, fill = args[0].facts.range, args[1].facts.range
    if x is None or fill is None:
        return Facts()
    offset, window = int_param(params, "offset", 0), int_param(params, "window", 0)
    rows, keys = args[0].shape[-2:]
    kept = offset is not None and offset >= 0 and rows > 0 and rows - 1 + offset < keys
    kept = kept and window is not None and window >= 0
    return Facts(
        range=interval.hull(x, fill), row_max_low=x.low if kept else None, unit=units_of(args), rule="masked"
    )


def execute(args: tuple[Tensor, ...], params: Params) -> Tensor:
    x, fill = args[0], constant_value(args[1])
    offset, window = int_param(params, "offset", 0), int_param(params, "window", 0)
    if fill is None or offset is None or window is None:
        raise ArithmeticError("a mask needs whole numbers")
    spend(len(x.which) * max(1, x.shape[-1]))
    height = x.shape[-2]
    rows = (_masked(x.rows[r], i % height + offset, window, fill) for i, r in enumerate(x.which))
    return of_rows(x.shape, rows)


def _masked(row: Row, last: int, window: int, fill: Entry) -> Row:
    first = last - window + 1 if window else 0
    return tuple(entry if first <= j <= last else fill for j, entry in enumerate(row))


def error(args: tuple[Arg, ...], _params: Params) -> Exact | None:
    return largest_error(args)


CAUSAL = Primitive(
    name="causal",
    arity=2,
    shape=shape,
    facts=facts,
    execute=execute,
    error=error,
    params=("offset", "window"),
)
