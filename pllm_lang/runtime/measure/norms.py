"""Bounds of one tensor from its entries: range, and norms of rows and columns, never below the true value.

In: matrices of a tensor, block by block, in float64 or int64 without loss. Out: `Measured`.

Small integers are summed exactly. Else n non-negative float64 terms are summed in some order, each made with at most
three roundings: with u = 2^-53 and n u < 2^-20 the true sum is at most `s (1 + 2 (n + 4) u)`, and where squares
underflow at most `n 2^-1074` above that (Higham, Accuracy and Stability of Numerical Algorithms, 4.2). That product is
taken exactly and rounded up to 32 significant bits.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from pllm_lang.resolve.modules import Measured
from pllm_lang.runtime.checkpoint.tensors import Array

SIGNIFICANT_BITS = 32
_SMALL = 2**15
"""Entries up to this have squares whose sums over 2^31 terms int64 holds."""
_UNIT = Fraction(1, 2**53)
_TINY = Fraction(1, 2**1074)


class Sums:
    """Running sums over one tensor. `rows` is how many rows one matrix of it has, 0 where it has no columns to sum."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._range: tuple[Fraction, Fraction] | None = None
        self._row = [Fraction(0), Fraction(0)]
        self._col = [Fraction(0), Fraction(0)]
        self._open: list[Array] = []
        self._seen = 0
        self._lost = Fraction(0)

    def add(self, block: Array) -> None:
        """The next rows: some of one matrix, or all of several."""
        if not block.size:
            return
        low, high = Fraction(block.min().item()), Fraction(block.max().item())
        known = self._range or (low, high)
        self._range = (min(known[0], low), max(known[1], high))
        magnitudes = np.abs(block)
        self._lost = _TINY if self._range != (0, 0) else Fraction(0)
        exact = block.dtype == np.int64 and max(abs(low), abs(high)) <= _SMALL
        terms = magnitudes if exact else magnitudes.astype(np.float64)
        with np.errstate(over="ignore"):
            powers = (terms, terms * terms)
            for slot, power in enumerate(powers):
                bound = _above(power.sum(axis=-1).max(), block.shape[-1], self._lost)
                self._row[slot] = max(self._row[slot], bound)
            if self._rows:
                self._add_columns(powers, len(block))

    def _add_columns(self, powers: tuple[Array, Array], rows: int) -> None:
        if not self._seen and rows > self._rows:
            for slot, power in enumerate(powers):
                total = power.reshape(-1, self._rows, power.shape[-1]).sum(axis=1).max()
                self._col[slot] = max(self._col[slot], _above(total, self._rows, self._lost))
            return
        sums = [power.sum(axis=0) for power in powers]
        self._open = [a + b for a, b in zip(self._open, sums, strict=True)] if self._open else sums
        self._seen += rows
        if self._seen == self._rows:
            for slot, total in enumerate(self._open):
                self._col[slot] = max(self._col[slot], _above(total.max(), self._rows, self._lost))
            self._open, self._seen = [], 0

    def measured(self) -> Measured | None:
        """None where there were no entries."""
        if self._range is None:
            return None
        columns = self._col if self._rows else (None, None)
        return Measured(
            min=_plain(self._range[0]),
            max=_plain(self._range[1]),
            row_norm1=_plain(self._row[0]),
            row_norm2_sq=_plain(self._row[1]),
            col_norm1=_plain(columns[0]),
            col_norm2_sq=_plain(columns[1]),
        )


class Overflow(ArithmeticError):
    """A sum is beyond float64; there is no bound then."""


def measure(matrices: Iterable[Array], rows: int) -> Measured | None:
    """Bounds of a tensor whose matrices of `rows` rows come block by block."""
    sums = Sums(rows)
    for block in matrices:
        sums.add(block)
    return sums.measured()


def _above(total: Any, terms: int, lost: Fraction) -> Fraction:
    """A bound of the true sum of `terms` terms, from the sum as computed; each term may have lost `lost` to underflow."""
    value = total.item()
    if isinstance(value, int):
        return Fraction(value)
    if not np.isfinite(value):
        raise Overflow
    return rounded_up(Fraction(value) * (1 + 2 * (terms + 4) * _UNIT) + terms * lost)


def rounded_up(value: Fraction) -> Fraction:
    """The least number of SIGNIFICANT_BITS bits that is not below `value`, which is not negative."""
    if value == 0:
        return value
    exponent = value.numerator.bit_length() - value.denominator.bit_length() - SIGNIFICANT_BITS
    unit = Fraction(2) ** exponent
    return -(-value // unit) * unit


def _plain(value: Fraction | None) -> int | Fraction | None:
    return None if value is None else int(value) if value.denominator == 1 else value
