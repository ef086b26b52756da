"""THE RULE: one term of a view is replaced by a fresh uniform value, if its conditions hold.

Let a coalition see, besides other terms, the term `g*(c*r + f) + k` modulo m, with k known to it. If

(a) the map from the term's entries to those of `r` is a bijection,
(b) `r` is uniform over the term's own ring,
(c) `c` is a unit modulo m (after dividing out the common factor g),
(d) `r` does not occur in `f`, nor inside a call,
(e) no member of the coalition knows `r` (or its key), and no other stream shares its values,
(f) `r` and the term have the same scope,

then `u = c*r + f` is uniform and independent of everything else that is not made from `r`, and `r = (u -
f)/c` in every other term: a change of variables. `docs/soundness.md` has the proof. An integer mask
(`uniform_int`) hides a value of bounded range up to a statistical distance, under the same conditions but
(b) and (c).
"""

from __future__ import annotations

from math import gcd

import msgspec

from pllm_lang.verify.protocol import index as ix
from pllm_lang.verify.protocol import polynomial as pl
from pllm_lang.verify.protocol.atoms import Atoms, homomorphic
from pllm_lang.verify.protocol.polynomial import Leaf, Mono, Poly
from pllm_lang.verify.protocol.problem import Problem
from pllm_lang.verify.protocol.ranges import integer_range
from pllm_lang.verify.protocol.scopes import UNKNOWN, Scope, deepest
from pllm_lang.verify.protocol.sizes import is_symbolic


class Mask(msgspec.Struct, frozen=True):
    """The rule applies: `term/divided - rest = coefficient * draw[leaf]`. `inverse` maps draw entries to
    the term's.

    `distance` is e where the step costs a statistical distance of 2^-e an entry; 0 where it costs none.
    """

    draw: int
    leaf: Leaf
    coefficient: int
    divided: int
    rest: Poly
    inverse: tuple[ix.Index, ...]
    scope: Scope
    distance: int = 0


def find_mask(term: Poly, draw: int, problem: Problem, scopes: dict[int, Scope]) -> Mask | None:
    """The rule on `term` (already free of what is only known) with `draw`, or None."""
    atoms, rules = problem.atoms, problem.conditions
    place = _only_place(term, draw, atoms, "d" in rules)
    if place is None:
        return None
    mono, leaf = place
    inverse = ix.inverse(leaf[1], atoms[draw].shape, term.shape) if not mono[0] else None
    if inverse is None:
        if "a" in rules:
            return None
        inverse = (ix.ZERO,) * len(term.shape)
    inside = [a for a in atoms.in_poly(term) if atoms[a].kind != "call"]
    scope = deepest(scopes.get(a, UNKNOWN) for a in inside)
    if scope is None or (scope != scopes[draw] and "f" in rules):
        return None
    free = {m: c for m, c in term.terms.items() if not any(draw in atoms.inside(a) for a, _ in m[1])}
    rest = Poly(term.modulus, term.shape, free)
    if not atoms[draw].modulus and atoms[draw].kind == "draw":
        return _integer_mask(term, draw, leaf, term.terms[mono], rest, inverse, scope, problem)
    return _ring_mask(term, draw, leaf, term.terms[mono], rest, inverse, scope, problem)


def _only_place(term: Poly, draw: int, atoms: Atoms, strict: bool) -> tuple[Mono, Leaf] | None:
    """Condition (d): the one monomial that depends on the draw, where it is the draw alone."""
    holding = [m for m in term.terms if any(draw in atoms.inside(a) for a, _ in m[1])]
    alone = [m for m in holding if len(m[1]) == 1 and m[1][0][0] == draw]
    if not alone or (strict and len(holding) != 1):
        return None
    return alone[0], alone[0][1][0]


def _ring_mask(
    term: Poly,
    draw: int,
    leaf: Leaf,
    coef: int,
    rest: Poly,
    inverse: tuple[ix.Index, ...],
    scope: Scope,
    problem: Problem,
) -> Mask | None:
    rules, modulus = problem.conditions, term.modulus
    if not modulus or (problem.atoms[draw].modulus != modulus and "b" in rules):
        return None
    divided = modulus
    for value in term.terms.values():
        divided = gcd(divided, value)
    unit = coef // divided
    if gcd(unit, modulus) != 1:
        if "c" in rules:
            return None
        unit = 1
    smaller = Poly(modulus, term.shape, {m: c // divided for m, c in rest.terms.items()})
    return Mask(draw, leaf, unit, divided, smaller, inverse, scope)


def _integer_mask(
    term: Poly,
    draw: int,
    leaf: Leaf,
    coef: int,
    rest: Poly,
    inverse: tuple[ix.Index, ...],
    scope: Scope,
    problem: Problem,
) -> Mask | None:
    """`v + r` with r uniform in 0..2^bits-1 and |v| < 2^range: distance at most 2^(range - bits) an entry."""
    modulus, atom = term.modulus, problem.atoms[draw]
    sign = {1: 1, -1 % modulus if modulus else -1: -1}.get(coef)
    if sign is None or atom.signed:
        return None
    width = integer_range(rest, problem.atoms, problem.ranges)
    if width is None:
        return None
    distance = atom.bits - width
    if distance <= 0 or any(is_symbolic(s) for b, _ in rest.terms for s in b):
        return None
    if any(not homomorphic(term.modulus, problem.atoms[a].modulus) for a in pl.atoms_of(rest)):
        return None
    whole = Poly(0, rest.shape, {m: centred(c, modulus) for m, c in rest.terms.items()})
    return Mask(draw, leaf, sign, 1, whole, inverse, scope, distance)


def centred(value: int, modulus: int) -> int:
    """The representative nearest to 0."""
    return value - modulus if modulus and 2 * value > modulus else value


def solved(mask: Mask, seen: int, problem: Problem) -> Poly:
    """`r` as a term in the fresh value `seen`: (seen - rest) / coefficient, over the draw's entries."""
    modulus = mask.rest.modulus
    shape = problem.atoms[seen].shape
    inverse = mask.coefficient if not modulus else pow(mask.coefficient, -1, modulus)
    over_term = pl.add(pl.whole(seen, modulus, shape), pl.scale(-1, mask.rest))
    return pl.remap(pl.scale(inverse, over_term), mask.inverse, problem.atoms[mask.draw].shape)
