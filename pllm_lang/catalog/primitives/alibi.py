"""`alibi(x, max_bias: r)`: linear position biases of scores [..., h, t, u], whose keys end at the last query.

Head i of h (from 1) adds `slope_i * (j - (u - 1))` to the score of key j, with slopes 2^(-r i / n), n the least power of
two that is at least h; where h is less than n, the slopes of i = 2, 4, ... come first, then those of i = 1, 3, ...
Source: Press and others, arXiv 2108.12409, as MPT has it.
"""

from __future__ import annotations

from functools import lru_cache

from pllm_lang.catalog.bounds import Arg
from pllm_lang.catalog.facts import Exact, Facts
from pllm_lang.catalog.primitives.add import entry_sum
from pllm_lang.catalog.primitives.elementwise import lipschitz, written
from pllm_lang.catalog.primitives.mul import entry_product
from pllm_lang.catalog.primitives.primitive import Param, Params, Primitive
from pllm_lang.catalog.tensor import STRETCH, Entry, Row, Shape, Tensor, ends, of_rows, row, spend
from pllm_lang.exact import enclose, interval
from pllm_lang.exact.number import Interval, ratio

LARGEST_BIAS = 256
"""The largest `max_bias`: slopes stay within what enclosures hold."""


def shape(shapes: tuple[Shape, ...], params: Params) -> Shape | str:
    x, most = shapes[0], _most(params.get("max_bias"))
    if len(x) < 3 or STRETCH in x or most is None:
        return f"alibi needs scores [.., h, t, u] and `max_bias:` in 0..{LARGEST_BIAS}, not {written(x)}"
    return x


def _most(value: Param | None) -> Exact | None:
    return (
        None if value is None or isinstance(value, str | tuple) or not 0 <= value <= LARGEST_BIAS else value
    )


def facts(args: tuple[Arg, ...], params: Params) -> Facts:
    """A bias is not positive, and largest for the first key under the steepest slope."""
    x, size, most = args[0].facts.range, args[0].shape, _most(params.get("max_bias"))
    if x is None or most is None:
        return Facts()
    steepest = max(ends(slope).high for slope in slopes(size[-3], most))
    return Facts(range=Interval(x.low - steepest * max(size[-1] - 1, 0), x.high), rule="position biases")


@lru_cache(maxsize=32)
def slopes(heads: int, most: Exact) -> tuple[Entry, ...]:
    """The slope of every head."""
    spend(heads)
    size = 1 << (heads - 1).bit_length()
    every = [_power(ratio(most * i, size)) for i in range(1, size + 1)]
    return tuple(every if size == heads else (every[1::2] + every[::2])[:heads])


def _power(exponent: Exact) -> Entry:
    """2^(-exponent)."""
    if isinstance(exponent, int):
        return ratio(1, 1 << exponent)
    two = enclose.log(2)
    low, high = enclose.exp(-exponent * two.high), enclose.exp(-exponent * two.low)
    assert low is not None
    assert high is not None, "the exponent is not positive"
    return interval.hull(low, high)


def execute(args: tuple[Tensor, ...], params: Params) -> Tensor:
    x, most = args[0], _most(params.get("max_bias"))
    assert most is not None, "shapes are inferred before execution"
    heads, queries, keys = x.shape[-3:]
    spend(len(x.which) * max(1, keys))
    each = slopes(heads, most)
    return of_rows(x.shape, (_biased(row(x, r), each[r // queries % heads]) for r in range(len(x.which))))


def _biased(scores: Row, slope: Entry) -> Row:
    last = len(scores) - 1
    return tuple(entry_sum(score, entry_product(slope, j - last)) for j, score in enumerate(scores))


ALIBI = Primitive(
    name="alibi", shape=shape, facts=facts, execute=execute, error=lipschitz(1), params=("max_bias",)
)
