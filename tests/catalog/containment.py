"""Whether executed entries lie in what facts claim, written from the definition of each fact."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from pllm_lang.catalog.facts import Exact, Facts, Interval
from pllm_lang.catalog.tensor import Entry, Shape, Tensor, ends, entries, row_length

TOLERANCE = Fraction(1, 2**40)
"""Enclosures are about 2^-60 wide; a value known only to lie in one may stick out of a bound by that much."""


def violations(facts: Facts, found: Tensor) -> list[str]:
    """The facts that some entry, row or column of `found` certainly breaks."""
    values = entries(found)
    inexact = any(isinstance(v, Interval) for v in values)
    slack = TOLERANCE if inexact else Fraction(0)
    low, high = [ends(v).low for v in values], [ends(v).high for v in values]
    broken: list[str] = []
    if (
        values
        and facts.range is not None
        and (min(high) < facts.range.low - slack or max(low) > facts.range.high + slack)
    ):
        broken.append("range")
    across = rows(values, found.shape)
    down = columns(across, found.shape)
    for name, limit, vectors in (
        ("row_norm2_sq", facts.row_norm2_sq, across),
        ("col_norm2_sq", facts.col_norm2_sq, down),
    ):
        if limit is not None and any(
            sum(least_size(v) ** 2 for v in vector) > limit + slack for vector in vectors
        ):
            broken.append(name)
    for name, limit, vectors in (
        ("row_norm1", facts.row_norm1, across),
        ("col_norm1", facts.col_norm1, down),
    ):
        if limit is not None and any(
            sum(least_size(v) for v in vector) > limit + slack for vector in vectors
        ):
            broken.append(name)
    peak = facts.row_max_low
    if peak is not None and any(max(ends(v).high for v in vector) < peak - slack for vector in across):
        broken.append("row_max_low")
    unit = facts.unit
    if unit is not None and not inexact and any(Fraction(ends(v).low) / unit % 1 for v in values):
        broken.append("unit")
    return broken


def rows(values: Sequence[Entry], shape: Shape) -> list[Sequence[Entry]]:
    length = row_length(shape)
    return [values[i : i + length] for i in range(0, len(values), length)] if length else []


def columns(across: list[Sequence[Entry]], shape: Shape) -> list[Sequence[Entry]]:
    if len(shape) < 2 or shape[-2] < 1:
        return []
    blocks = [across[i : i + shape[-2]] for i in range(0, len(across), shape[-2])]
    return [column for block in blocks for column in zip(*block, strict=True)]


def least_size(value: Entry) -> Exact:
    found = ends(value)
    return max(0, found.low, -found.high)


def largest_distance(a: Tensor, b: Tensor) -> Exact:
    """How far apart two executions certainly are."""
    gaps = [
        max(0, ends(x).low - ends(y).high, ends(y).low - ends(x).high)
        for x, y in zip(entries(a), entries(b), strict=True)
    ]
    return max(gaps, default=0)
