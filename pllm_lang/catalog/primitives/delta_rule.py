"""`delta_rule(start, keys, values, factor, rate)`: the gated delta rule, and every state on the way.

With S [a, c], key k [a] and value v [c] of a step: `S <- f S`, then `S <- S + b k (v - S^T k)^T`, f its factor and b its
rate. `start` is [..h, a, c], `keys` [..h, t, a], `values` [..h, t, c], `factor` and `rate` [..h, t]; the result
[..h, t, a, c] holds the state after each step. Source: Yang and others, arXiv 2412.06464, equation 10.

There is no rule for its bound or error: both hang on how the keys of all steps lie to each other.
"""

from __future__ import annotations

from pllm_lang.catalog.primitives.add import entry_sum
from pllm_lang.catalog.primitives.elementwise import written
from pllm_lang.catalog.primitives.mul import entry_product
from pllm_lang.catalog.primitives.primitive import Params, Primitive
from pllm_lang.catalog.primitives.sub import entry_difference
from pllm_lang.catalog.tensor import STRETCH, Entry, Row, Shape, Tensor, entries, of_rows, row, spend


def shape(shapes: tuple[Shape, ...], _params: Params) -> Shape | str:
    start, keys, values, factor, rate = shapes
    lead, state = start[:-2], start[-2:]
    fits = len(state) == 2 and factor == rate and factor[:-1] == lead and len(factor) == len(lead) + 1
    fits = fits and keys == (*factor, *state[:1]) and values == (*factor, *state[1:])
    if not fits or STRETCH in (*start, *factor):
        found = ", ".join(written(one) for one in shapes)
        return f"a delta rule needs a state, keys, values, factors and rates of each step, not {found}"
    return (*factor, *state)


def execute(args: tuple[Tensor, ...], _params: Params) -> Tensor:
    start, keys, values, factor, rate = args
    steps, (height, width) = factor.shape[-1], start.shape[-2:]
    factors, rates = entries(factor), entries(rate)
    spend(len(factors) * max(1, height) * max(1, width))
    rows: list[Row] = []
    for at in range(len(factors) // steps if steps else 0):
        state = [row(start, at * height + i) for i in range(height)]
        for t in range(steps):
            step = at * steps + t
            state = _stepped(state, row(keys, step), row(values, step), factors[step], rates[step])
            rows += state
    return of_rows((*factor.shape, height, width), rows)


def _stepped(state: list[Row], key: Row, value: Row, factor: Entry, rate: Entry) -> list[Row]:
    kept = [tuple(entry_product(x, factor) for x in one) for one in state]
    change = [entry_product(entry_difference(v, _read(kept, key, c)), rate) for c, v in enumerate(value)]
    return [
        tuple(entry_sum(x, entry_product(k, d)) for x, d in zip(one, change, strict=True))
        for one, k in zip(kept, key, strict=True)
    ]


def _read(state: list[Row], key: Row, column: int) -> Entry:
    total: Entry = 0
    for one, k in zip(state, key, strict=True):
        total = entry_sum(total, entry_product(one[column], k))
    return total


DELTA_RULE = Primitive(name="delta_rule", arity=5, shape=shape, execute=execute)
