"""Linear combinations of rows in which chosen columns vanish, over any modulus (0: the integers).

Euclid's algorithm column by column. A pivot that is no unit leaves its annihilating multiple among the
rows, so over a ring with zero divisors nothing is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd

import msgspec

from pllm_lang.verify.protocol.scalars import Product, Scalar

MAX_STEPS = 20_000


class Row(msgspec.Struct, frozen=True):
    """`value` is the sum of `combination[i]` times the i-th given row."""

    value: Scalar
    combination: dict[int, int]


def eliminate(rows: list[Scalar], modulus: int, is_column: Callable[[Product], bool]) -> list[Row]:
    """Rows without columns, each with its combination of the given ones."""
    active: list[Row] = [Row(dict(row), {i: 1}) for i, row in enumerate(rows)]
    done: list[Row] = []
    steps = 0
    while active and steps < MAX_STEPS:
        columns = sorted(m for m in active[-1].value if is_column(m))
        if not columns:
            row = active.pop()
            if row.value:
                done.append(row)
            continue
        lead = columns[0]
        holding: list[Row] = [r for r in active if lead in r.value]
        active = [r for r in active if lead not in r.value]
        while len(holding) > 1:
            steps += 1
            pivot = _smallest(holding, lead)
            rest = [r for r in holding if r is not pivot]
            reduced = [_plus(r, -(r.value[lead] // pivot.value[lead]), pivot, modulus) for r in rest]
            active += [r for r in reduced if lead not in r.value and r.value]
            holding = [pivot, *[r for r in reduced if lead in r.value]]
        if modulus and gcd(holding[0].value[lead], modulus) != 1:
            times = modulus // gcd(holding[0].value[lead], modulus)
            more = _plus(Row(dict[Product, int](), dict[int, int]()), times, holding[0], modulus)
            if more.value:
                active.append(more)
    return done


def _smallest(rows: list[Row], lead: Product) -> Row:
    best = rows[0]
    for row in rows:
        if abs(row.value[lead]) < abs(best.value[lead]):
            best = row
    return best


def _plus(row: Row, factor: int, other: Row, modulus: int) -> Row:
    value, combination = dict(row.value), dict(row.combination)
    for mono, coef in other.value.items():
        total = value.get(mono, 0) + factor * coef
        value[mono] = total % modulus if modulus else total
    for i, coef in other.combination.items():
        total = combination.get(i, 0) + factor * coef
        combination[i] = total % modulus if modulus else total
    return Row({m: c for m, c in value.items() if c}, {i: c for i, c in combination.items() if c})
