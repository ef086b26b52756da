"""`linear_recurrence(start, factor, added)`: `S = factor * S + added`, step by step, and every S on the way.

`start` is [..h, r, c], `factor` [..h, t] holds one number a step, `added` is [..h, t, r, c]; the result [..h, t, r, c]
holds the state after each step.
"""

from __future__ import annotations

from pllm_lang.catalog.bounds import Arg, max_abs, plus, times
from pllm_lang.catalog.facts import Exact, Facts
from pllm_lang.catalog.primitives.add import entry_sum
from pllm_lang.catalog.primitives.elementwise import written
from pllm_lang.catalog.primitives.mul import entry_product
from pllm_lang.catalog.primitives.primitive import Params, Primitive
from pllm_lang.catalog.tensor import STRETCH, Entry, Row, Shape, Tensor, entries, of_rows, row, spend
from pllm_lang.exact import interval


def shape(shapes: tuple[Shape, ...], _params: Params) -> Shape | str:
    start, factor, added = shapes
    fits = len(start) >= 2 and added == (*factor, *start[-2:]) and factor[:-1] == start[:-2]
    if not fits or not factor or STRETCH in added:
        return (
            f"a recurrence needs a state, a factor for each step and what each step adds,"
            f" not {written(start)}, {written(factor)} and {written(added)}"
        )
    return added


def facts(args: tuple[Arg, ...], _params: Params) -> Facts:
    """With factors of at most one in size, a state is at most the first one and all that was added."""
    limit = _limit(args)
    return Facts() if limit is None else Facts(range=interval.symmetric(limit), rule="sum over the steps")


def _limit(args: tuple[Arg, ...]) -> Exact | None:
    start, factor, added = (max_abs(arg) for arg in args)
    if factor is None or factor > 1:
        return None
    return plus(start, times(args[1].shape[-1], added))


def error(args: tuple[Arg, ...], _params: Params) -> Exact | None:
    """`S'_i - S_i = f_i (S'_(i-1) - S_(i-1)) + (f'_i - f_i) S'_(i-1) + (a'_i - a_i)` with real factors f of at most one:
    the errors of all steps add up."""
    e_start, e_factor, e_added = (arg.facts.error for arg in args)
    factor, limit = max_abs(args[1]), _limit(args)
    if factor is None or e_factor is None or factor + e_factor > 1:
        return None
    each = plus(0 if e_factor == 0 else times(e_factor, limit), e_added)
    return plus(e_start, times(args[1].shape[-1], each))


def execute(args: tuple[Tensor, ...], _params: Params) -> Tensor:
    start, factor, added = args
    steps, (height, width) = factor.shape[-1], start.shape[-2:]
    factors = entries(factor)
    spend(len(added.which) * max(1, width))
    rows: list[Row] = []
    for at in range(len(factors) // steps if steps else 0):
        state = [row(start, at * height + i) for i in range(height)]
        for t in range(steps):
            step = at * steps + t
            state = [_stepped(state[i], factors[step], row(added, step * height + i)) for i in range(height)]
            rows += state
    return of_rows(added.shape, rows)


def _stepped(state: Row, factor: Entry, added: Row) -> Row:
    return tuple(entry_sum(entry_product(x, factor), y) for x, y in zip(state, added, strict=True))


LINEAR_RECURRENCE = Primitive(
    name="linear_recurrence", arity=3, shape=shape, facts=facts, execute=execute, error=error
)
