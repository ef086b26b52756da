"""Polynomials over whole tensors, in normal form: what a ring term *is*, whatever way it was written.

A polynomial is a sum of coefficient times monomial. A monomial is a product of factors over one shape: leaves
(named tensors under structural maps), matrix products of monomials, and linear maps of monomials.
Structural maps
are pushed to the leaves where they distribute, so equal polynomials mostly have equal forms; two forms that
differ prove nothing by themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import msgspec

from pllm_lang.catalog.facts import Exact


class Map(msgspec.Struct, frozen=True, array_like=True):
    """A primitive that is linear, with its parameters: `permute` with its order, `row_sum`."""

    fn: str
    params: tuple[tuple[str, Exact | tuple[Exact, ...] | str], ...] = ()


class Leaf(msgspec.Struct, frozen=True, array_like=True, tag="leaf"):
    """A named tensor under maps, the first of them applied first."""

    name: str
    maps: tuple[Map, ...] = ()


class Chain(msgspec.Struct, frozen=True, array_like=True, tag="chain"):
    """A matrix product, flattened: associative, not commutative."""

    factors: tuple[Monomial, ...]


class Mapped(msgspec.Struct, frozen=True, array_like=True, tag="mapped"):
    """A linear map of a product over which it does not distribute."""

    map: Map
    of: Monomial


Factor: TypeAlias = Leaf | Chain | Mapped
Monomial: TypeAlias = tuple[Factor, ...]
"""Elementwise product, sorted; () is the number one."""


class Polynomial(msgspec.Struct, frozen=True):
    """`terms` from monomial to its coefficient, never zero."""

    terms: dict[Monomial, Exact]


ZERO = Polynomial({})


def variable(name: str) -> Polynomial:
    return Polynomial({(Leaf(name),): 1})


def number(value: Exact) -> Polynomial:
    return Polynomial({(): value}) if value else ZERO


def add(a: Polynomial, b: Polynomial) -> Polynomial:
    terms = dict(a.terms)
    for monomial, coefficient in b.terms.items():
        _accumulate(terms, monomial, coefficient)
    return Polynomial(terms)


def neg(a: Polynomial) -> Polynomial:
    return Polynomial({monomial: -coefficient for monomial, coefficient in a.terms.items()})


def mul(a: Polynomial, b: Polynomial) -> Polynomial:
    """The elementwise product, or the product by a scalar."""
    terms: dict[Monomial, Exact] = {}
    for left, c in a.terms.items():
        for right, d in b.terms.items():
            _accumulate(terms, _product(left, right), c * d)
    return Polynomial(terms)


def matmul(a: Polynomial, b: Polynomial) -> Polynomial | None:
    """The matrix product; None where a factor has a constant term (a number alone has no shape)."""
    if () in a.terms or () in b.terms:
        return None
    terms: dict[Monomial, Exact] = {}
    for left, c in a.terms.items():
        for right, d in b.terms.items():
            chain = Chain((*_flat(left), *_flat(right)))
            _accumulate(terms, (chain,), c * d)
    return Polynomial(terms)


def spread(a: Polynomial, shape: tuple[int, ...]) -> Polynomial:
    """`a` broadcast to `shape`, so that later sums count its entries; numbers need no word."""
    return distribute(a, Map("spread", (("shape", shape),)))


def distribute(a: Polynomial, map: Map) -> Polynomial:
    """A map of places (permute, slice, gather, broadcast): goes to the leaves of elementwise products."""
    terms: dict[Monomial, Exact] = {}
    for monomial, coefficient in a.terms.items():
        _accumulate(terms, _sorted(_under(factor, map) for factor in monomial), coefficient)
    return Polynomial(terms)


def linear(a: Polynomial, map: Map) -> Polynomial | None:
    """A linear map that does not distribute over products (a sum); None where a constant term has no
    shape."""
    if () in a.terms:
        return None
    terms: dict[Monomial, Exact] = {}
    for monomial, coefficient in a.terms.items():
        _accumulate(terms, (Mapped(map, monomial),), coefficient)
    return Polynomial(terms)


def constant(a: Polynomial) -> Exact | None:
    """Its value if it is a number."""
    if not a.terms:
        return 0
    return a.terms.get(()) if len(a.terms) == 1 else None


def _under(factor: Factor, map: Map) -> Factor:
    if isinstance(factor, Leaf):
        if map.fn == "transpose" and factor.maps and factor.maps[-1] == map:
            return Leaf(factor.name, factor.maps[:-1])
        return Leaf(factor.name, (*factor.maps, map))
    if isinstance(factor, Chain) and map.fn == "transpose":
        turned = tuple(
            _sorted(_under(part, map) for part in monomial) for monomial in reversed(factor.factors)
        )
        return Chain(turned)
    return Mapped(map, (factor,))


def _flat(monomial: Monomial) -> tuple[Monomial, ...]:
    if len(monomial) == 1 and isinstance(monomial[0], Chain):
        return monomial[0].factors
    return (monomial,)


def _product(a: Monomial, b: Monomial) -> Monomial:
    return _sorted((*a, *b)) if a and b else a or b


def _sorted(factors: Iterable[Factor]) -> Monomial:
    return tuple(sorted(factors, key=repr))


def _accumulate(terms: dict[Monomial, Exact], monomial: Monomial, coefficient: Exact) -> None:
    total = terms.get(monomial, 0) + coefficient
    if total:
        terms[monomial] = total
    else:
        terms.pop(monomial, None)
