"""Terms entry by entry: a small instance of a protocol as ordinary polynomials in scalar variables.

In: values of a trace whose sizes are numbers. Out: for each entry a mapping from a product of variables to
its coefficient. Leaks are looked for here, by linear algebra, where nothing has to be clever about index
maps.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product as tuples
from typing import TypeAlias

from pllm_lang.verify.protocol import index as ix
from pllm_lang.verify.protocol.polynomial import Mono, Poly, TooLarge
from pllm_lang.verify.protocol.tensors import Value, shape_of

Variable: TypeAlias = tuple[int, tuple[int, ...]]
"""(atom, entry)."""

Product: TypeAlias = tuple[Variable, ...]
Scalar: TypeAlias = dict[Product, int]

MAX_PRODUCTS = 100_000


def entries_of(value: Value) -> dict[tuple[int, ...], Scalar]:
    """Every entry of a value."""
    if isinstance(value, Poly):
        return {at: entry_of(value, at) for at in tuples(*(range(d) for d in value.shape))}
    out: dict[tuple[int, ...], Scalar] = {}
    start, axis = 0, value.axis
    for part in value.parts:
        for at, scalar in entries_of(part).items():
            out[(*at[:axis], start + at[axis], *at[axis + 1 :])] = scalar
        start += shape_of(part)[axis]
    return out


def entry_of(poly: Poly, at: tuple[int, ...]) -> Scalar:
    out: Scalar = {}
    for mono, coef in poly.terms.items():
        for found in _opened(mono, at, poly.modulus):
            total = out.get(found, 0) + coef
            out[found] = total % poly.modulus if poly.modulus else total
        if len(out) > MAX_PRODUCTS:
            raise TooLarge("an entry has too many products")
    return {m: c for m, c in out.items() if c}


def _opened(mono: Mono, at: tuple[int, ...], modulus: int) -> list[Product]:
    bound, leaves = mono
    found: list[Product] = []
    for inner in tuples(*(range(b) for b in bound)):
        point = at + inner
        variables = [(a, tuple(ix.value_at(i, point) for i in entry)) for a, entry in leaves]
        found.append(tuple(sorted(set(variables) if modulus == 2 else variables)))
        if len(found) > MAX_PRODUCTS:
            raise TooLarge("a sum has too many entries")
    return found


def value_of(scalar: Scalar, modulus: int, values: Mapping[Variable, int]) -> int:
    """The number that a scalar polynomial is."""
    total = 0
    for variables, coef in scalar.items():
        part = coef
        for variable in variables:
            part *= values[variable]
        total += part
    return total % modulus if modulus else total
