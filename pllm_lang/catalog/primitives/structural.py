"""What primitives that only move entries share: where each entry of the result comes from."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from pllm_lang.catalog import polynomial
from pllm_lang.catalog.facts import Facts
from pllm_lang.catalog.polynomial import Map, Polynomial
from pllm_lang.catalog.primitives.primitive import Params, PolynomialColumn
from pllm_lang.catalog.tensor import Entry, Shape, Tensor, constant, constant_value, entries, of_entries


def strides(shape: Shape) -> tuple[int, ...]:
    """Row-major steps of each axis."""
    steps: list[int] = []
    step = 1
    for size in reversed(shape):
        steps.append(step)
        step *= size
    return tuple(reversed(steps))


def flat_positions(shape: Shape, steps: Sequence[int], start: int = 0) -> list[int]:
    """The flat source position of every entry of `shape`, where axis i moves by `steps[i]`."""
    positions = [start]
    for size, step in zip(shape, steps, strict=True):
        positions = [p + i * step for p in positions for i in range(size)]
    return positions


def rearranged(x: Tensor, shape: Shape, positions: Callable[[], Sequence[int]]) -> Tensor:
    """Entries of `x` at `positions`; a constant tensor stays constant and is not expanded."""
    value = constant_value(x)
    if value is not None:
        return constant(shape, value)
    source: list[Entry] = entries(x)
    return of_entries(shape, [source[p] for p in positions()])


def same_entries(old: Facts, rows_kept: bool, columns_kept: bool) -> Facts:
    """Facts of a tensor with entries of another: range, and norms of vectors that stay together."""
    return msgspec.structs.replace(
        old,
        value=None,
        row_norm2_sq=old.row_norm2_sq if rows_kept else None,
        row_norm1=old.row_norm1 if rows_kept else None,
        row_max_low=old.row_max_low if rows_kept else None,
        col_norm2_sq=old.col_norm2_sq if columns_kept else None,
        col_norm1=old.col_norm1 if columns_kept else None,
    )


def distributed(name: str) -> PolynomialColumn:
    """The polynomial column of a map that moves entries."""

    def column(args: tuple[Polynomial, ...], _shapes: tuple[Shape, ...], params: Params) -> Polynomial:
        return polynomial.distribute(args[0], Map(name, tuple(sorted(params.items()))))

    return column
