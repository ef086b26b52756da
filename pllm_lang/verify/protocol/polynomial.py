"""Whole-tensor polynomials in normal form: the terms that the prover computes with.

A `Poly` of shape [d0, d1, ...] gives, for each entry, a sum of coefficient * monomial. A monomial is a
product of leaves summed over *bound* variables; a leaf is an atom (a draw, a piece, a secret) at an entry
given by index expressions over the entry's variables 0..n-1 and the bound ones n, n+1, ... Matrix products,
sums and every structural map become index expressions, so there is one representation and equality is a
comparison.

`modulus` 0 stands for the integers. A leaf whose atom has another modulus stands for the atom's
representative 0..modulus-1, reduced. Sizes that are symbols are large primes of their own (`sizes.py`);
nothing folds them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import permutations
from typing import TypeAlias

import msgspec

from pllm_lang.verify.protocol import index as ix
from pllm_lang.verify.protocol.sizes import is_symbolic

Leaf: TypeAlias = tuple[int, tuple[ix.Index, ...]]
Mono: TypeAlias = tuple[tuple[int, ...], tuple[Leaf, ...]]
"""(sizes of the bound variables, leaves)."""

Terms: TypeAlias = dict[Mono, int]

MAX_MONOMIALS = 4096
MAX_PRODUCTS = 20_000
MAX_LEAVES = 32
MAX_BOUND = 5


class TooLarge(Exception):
    """A term left the limits above; the prover turns it into an `unproved` verdict."""


class Poly(msgspec.Struct, frozen=True):
    modulus: int
    shape: tuple[int, ...]
    terms: Terms

    def key(self) -> tuple[int, tuple[int, ...], frozenset[tuple[Mono, int]]]:
        return self.modulus, self.shape, frozenset(self.terms.items())


def zero(modulus: int, shape: tuple[int, ...]) -> Poly:
    return Poly(modulus, shape, {})


def number(value: int, modulus: int, shape: tuple[int, ...]) -> Poly:
    return collect(modulus, shape, [(((), ()), value)])


def whole(atom: int, modulus: int, shape: tuple[int, ...]) -> Poly:
    """The atom itself."""
    entry = tuple(ix.variable(v, shape) for v in range(len(shape)))
    return Poly(modulus, shape, {((), ((atom, entry),)): 1 % modulus if modulus else 1})


def collect(modulus: int, shape: tuple[int, ...], parts: Iterable[tuple[Mono, int]]) -> Poly:
    """Sum up monomials (already over the right variables), canonicalised."""
    terms: Terms = {}
    for (bound, leaves), coef in parts:
        squared = tuple(set(leaves)) if modulus == 2 else leaves  # v * v = v for bits
        form, multiple = canonical((bound, squared), len(shape))
        total = terms.get(form, 0) + coef * multiple
        terms[form] = total % modulus if modulus else total
        if len(terms) > MAX_MONOMIALS:
            raise TooLarge(f"a term has more than {MAX_MONOMIALS} monomials")
    return Poly(modulus, shape, {m: c for m, c in terms.items() if c})


def canonical(mono: Mono, n_out: int) -> tuple[Mono, int]:
    """The same monomial with bound variables numbered canonically, and the count of unused bound entries."""
    sizes, leaves = mono
    if len(leaves) > MAX_LEAVES:
        raise TooLarge(f"a monomial has more than {MAX_LEAVES} factors")
    if not sizes:
        return ((), tuple(sorted(leaves))), 1
    used: set[int] = set()
    for _, entry in leaves:
        for position in entry:
            used |= ix.variables(position)
    multiple = 1
    kept: list[int] = []
    for b, size in enumerate(sizes):
        if n_out + b in used or is_symbolic(size):
            kept.append(b)
        else:
            multiple *= size
    if len(kept) > MAX_BOUND:
        raise TooLarge(f"a term sums over more than {MAX_BOUND} variables")
    best: Mono | None = None
    for order in permutations(kept):
        form = _renumbered(leaves, order, sizes, n_out)
        if best is None or form < best:
            best = form
    assert best is not None
    return best, multiple


def _renumbered(leaves: tuple[Leaf, ...], order: Sequence[int], sizes: Sequence[int], n_out: int) -> Mono:
    place = {n_out + b: n_out + position for position, b in enumerate(order)}
    if all(a == b for a, b in place.items()):
        return tuple(sizes[b] for b in order), tuple(sorted(leaves))
    moved = [(atom, tuple(ix.permute(position, place) for position in entry)) for atom, entry in leaves]
    return tuple(sizes[b] for b in order), tuple(sorted(moved))


def add(*polys: Poly) -> Poly:
    """Sum over one modulus and shape."""
    first = polys[0]
    terms = dict(first.terms)
    for poly in polys[1:]:
        for mono, coef in poly.terms.items():
            terms[mono] = terms.get(mono, 0) + coef
    return _reduced(first.modulus, first.shape, terms)


def scale(factor: int, poly: Poly) -> Poly:
    return _reduced(poly.modulus, poly.shape, {m: c * factor for m, c in poly.terms.items()})


def _reduced(modulus: int, shape: tuple[int, ...], terms: Terms) -> Poly:
    if modulus:
        terms = {m: c % modulus for m, c in terms.items()}
    return Poly(modulus, shape, {m: c for m, c in terms.items() if c})


def remap(poly: Poly, entry: Sequence[ix.Index], shape: tuple[int, ...], bound: tuple[int, ...] = ()) -> Poly:
    """`poly` at `entry`: expressions over the variables of `shape`, then `bound` ones that are summed
    over."""
    parts = [(_moved(mono, poly.shape, entry, shape, bound), coef) for mono, coef in poly.terms.items()]
    return collect(poly.modulus, shape, parts)


def _moved(
    mono: Mono,
    old: tuple[int, ...],
    entry: Sequence[ix.Index],
    shape: tuple[int, ...],
    bound: tuple[int, ...],
) -> Mono:
    sizes, leaves = mono
    dims = shape + bound + sizes
    first = len(shape) + len(bound)

    def target(v: int) -> ix.Index:
        return entry[v] if v < len(old) else ix.variable(first + v - len(old), dims)

    return bound + sizes, tuple((atom, tuple(ix.rename(p, target, dims) for p in at)) for atom, at in leaves)


def product(
    left: Poly,
    left_entry: Sequence[ix.Index],
    right: Poly,
    right_entry: Sequence[ix.Index],
    shape: tuple[int, ...],
    bound: tuple[int, ...] = (),
) -> Poly:
    """Sum over `bound` of `left` at one entry times `right` at another: entrywise and matrix products."""
    if len(left.terms) * len(right.terms) > MAX_PRODUCTS:
        raise TooLarge(f"a product multiplies out to more than {MAX_PRODUCTS} monomials")
    parts: list[tuple[Mono, int]] = []
    for l_mono, l_coef in left.terms.items():
        l_sizes, l_leaves = _moved(l_mono, left.shape, left_entry, shape, bound)
        for r_mono, r_coef in right.terms.items():
            parts.append(
                (_joined(l_sizes, l_leaves, r_mono, right.shape, right_entry, shape), l_coef * r_coef)
            )
    return collect(left.modulus, shape, parts)


def _joined(
    l_sizes: tuple[int, ...],
    l_leaves: tuple[Leaf, ...],
    r_mono: Mono,
    r_shape: tuple[int, ...],
    r_entry: Sequence[ix.Index],
    shape: tuple[int, ...],
) -> Mono:
    """One monomial of a product: the right one's own bound variables come after all of the left one's."""
    sizes, leaves = r_mono
    dims = shape + l_sizes + sizes
    first = len(shape) + len(l_sizes)

    def target(v: int) -> ix.Index:
        return r_entry[v] if v < len(r_shape) else ix.variable(first + v - len(r_shape), dims)

    moved = tuple((atom, tuple(ix.rename(p, target, dims) for p in at)) for atom, at in leaves)
    return l_sizes + sizes, l_leaves + moved


def narrowed(poly: Poly) -> Poly:
    """Axes along which all entries are equal are cut to their first entry."""
    used = {
        v
        for _, leaves in poly.terms
        for _, entry in leaves
        for position in entry
        for v in ix.variables(position)
    }
    shape = tuple(size if v in used else 1 for v, size in enumerate(poly.shape))
    if shape == poly.shape:
        return poly
    return remap(poly, tuple(ix.variable(v, shape) for v in range(len(shape))), shape)


def atoms_of(poly: Poly) -> set[int]:
    """The atoms that occur (not those inside calls: `Atoms.inside`)."""
    return {atom for _, leaves in poly.terms for atom, _ in leaves}
