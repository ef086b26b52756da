"""What the coalition may learn: allowed outputs, as equations that take secrets out of its view.

An allowed output `o = c*x + f`, with x a secret input that `f` is free of and c a unit, is solved for x:
from then on x is `(o - f)/c` and `o` is known. (No condition on x is needed: it is an equation, not a
change of randomness.) An output without such an x, say a product, is used as it is: a multiple of it is
subtracted from a term.
"""

from __future__ import annotations

from math import gcd

import msgspec

from pllm_lang.verify.protocol import index as ix
from pllm_lang.verify.protocol import polynomial as pl
from pllm_lang.verify.protocol.atoms import Atom, Atoms, homomorphic
from pllm_lang.verify.protocol.polynomial import Mono, Poly
from pllm_lang.verify.protocol.problem import Problem
from pllm_lang.verify.protocol.scopes import UNKNOWN, Scope, deepest
from pllm_lang.verify.protocol.substitution import substitute

MAX_USES = 16


class Allowed(msgspec.Struct, frozen=True):
    """`equations`: (output, secret atom, its value); `others`: outputs to subtract; `scopes` of the
    outputs' atoms."""

    atoms: Atoms
    equations: tuple[tuple[str, int, Poly], ...]
    others: tuple[Poly, ...]
    scopes: dict[int, Scope]

    def rewrite(self, poly: Poly) -> Poly:
        for _, secret, value in self.equations:
            poly = substitute(poly, secret, value, self.atoms)
        return poly


def learn(problem: Problem) -> tuple[Allowed, frozenset[int]]:
    """Solve the outputs one after the other; the known atoms grow by one for each that was solved."""
    atoms, known = problem.atoms, set(problem.known)
    equations: list[tuple[str, int, Poly]] = []
    others: list[Poly] = []
    scopes: dict[int, Scope] = {}
    for place, (name, given) in enumerate(problem.outputs):
        poly = given
        for _, secret, value in equations:
            poly = substitute(poly, secret, value, atoms)
        poly = _unknown_part(poly, known, atoms)
        pick = _solvable(poly, problem.secrets, atoms)
        if pick is None:
            if poly.terms:
                others.append(poly)
            continue
        mono, secret, inverse = pick
        seen = atoms.add(Atom(f"output {place}", "seen", poly.modulus, poly.shape))
        known.add(seen)
        inside = [a for a in atoms.in_poly(given) if atoms[a].kind != "call"]
        scopes[seen] = deepest(problem.scopes.get(a, UNKNOWN) for a in inside) or UNKNOWN
        rest = Poly(poly.modulus, poly.shape, {m: c for m, c in poly.terms.items() if m != mono})
        value = pl.add(pl.whole(seen, poly.modulus, poly.shape), pl.scale(-1, rest))
        value = pl.scale(pow(poly.terms[mono], -1, poly.modulus), value)
        value = pl.remap(value, inverse, atoms[secret].shape)
        equations = [(n, s, substitute(v, secret, value, atoms)) for n, s, v in equations]
        others = [substitute(o, secret, value, atoms) for o in others]
        equations.append((name, secret, value))
    return Allowed(atoms, tuple(equations), tuple(others), scopes), frozenset(known)


def _unknown_part(poly: Poly, known: set[int], atoms: Atoms) -> Poly:
    def is_known(atom: int) -> bool:
        return all(a in known or atoms[a].kind == "call" for a in atoms.inside(atom))

    terms = {m: c for m, c in poly.terms.items() if not all(is_known(a) for a, _ in m[1])}
    return Poly(poly.modulus, poly.shape, terms)


def _solvable(
    poly: Poly, secrets: frozenset[int], atoms: Atoms
) -> tuple[Mono, int, tuple[ix.Index, ...]] | None:
    """A secret that stands alone in the output, with a unit before it, once, over all of its entries."""
    if not poly.modulus:
        return None
    for mono, coef in sorted(poly.terms.items()):
        bound, leaves = mono
        if bound or len(leaves) != 1 or leaves[0][0] not in secrets or gcd(coef, poly.modulus) != 1:
            continue
        secret, entry = leaves[0]
        holding = [m for m in poly.terms if any(secret in atoms.inside(a) for a, _ in m[1])]
        inverse = ix.inverse(entry, atoms[secret].shape, poly.shape)
        if len(holding) == 1 and inverse is not None and atoms[secret].modulus == poly.modulus:
            return mono, secret, inverse
    return None


def through_outputs(poly: Poly, outputs: tuple[Poly, ...], atoms: Atoms, secrets: frozenset[int]) -> Poly:
    """`poly` minus multiples of outputs (through index maps), as long as that takes a leading monomial
    away."""
    for _ in range(MAX_USES):
        smaller = next((s for o in outputs for s in _reductions(poly, o, atoms, secrets)), None)
        if smaller is None:
            return poly
        poly = smaller
    return poly


def _reductions(poly: Poly, output: Poly, atoms: Atoms, secrets: frozenset[int]) -> list[Poly]:
    """`poly - q * output[map]` for every way to cancel the output's leading monomial."""
    if not homomorphic(poly.modulus, output.modulus):
        return []
    if poly.modulus != output.modulus:
        terms = {m: c % poly.modulus for m, c in output.terms.items() if c % poly.modulus}
        output = pl.collect(poly.modulus, output.shape, terms.items())
    leads = [m for m in output.terms if _plain(m, output.shape)]
    leads.sort(key=lambda m: (-len(m[1]), m))
    return [less for lead in leads for less in _cancelled(poly, output, lead, atoms, secrets)]


def _plain(lead: Mono, shape: tuple[int, ...]) -> bool:
    return _match(lead, lead, shape, len(shape)) is not None


def _cancelled(poly: Poly, output: Poly, lead: Mono, atoms: Atoms, secrets: frozenset[int]) -> list[Poly]:
    if not atoms.in_poly(Poly(poly.modulus, poly.shape, {lead: 1})) & secrets:
        return []
    found: list[Poly] = []
    for mono, coef in sorted(poly.terms.items()):
        entry = _match(lead, mono, output.shape, len(poly.shape))
        if entry is None:
            continue
        moved = pl.remap(output, entry, poly.shape)
        factor = _quotient(coef, moved.terms.get(mono, 0), poly.modulus)
        if factor is None:
            continue
        less = pl.add(poly, pl.scale(-factor, moved))
        if mono not in less.terms and len(less.terms) <= len(poly.terms) + len(moved.terms):
            found.append(less)
    return found


def _quotient(value: int, divisor: int, modulus: int) -> int | None:
    """q with q * divisor = value."""
    if not divisor:
        return None
    if not modulus:
        return value // divisor if value % divisor == 0 else None
    common = gcd(divisor, modulus)
    if value % common:
        return None
    return value // common * pow(divisor // common, -1, modulus // common) % modulus


def _match(lead: Mono, mono: Mono, shape: tuple[int, ...], n_term: int) -> tuple[ix.Index, ...] | None:
    """The map of output entries under which `lead` may be `mono`: read off leaf by leaf."""
    if len(lead[1]) != len(mono[1]) or len(lead[0]) != len(mono[0]):
        return None
    n_out = len(shape)
    entry: dict[int, ix.Index] = {v: ix.ZERO for v, dim in enumerate(shape) if dim == 1}
    for (atom, at), (other, other_at) in zip(lead[1], mono[1], strict=True):
        if atom != other:
            return None
        for mine, theirs in zip(at, other_at, strict=True):
            if mine[0] == 0 and len(mine[1]) == 1 and mine[1][0][1][0] == "v" and mine[1][0][0] == 1:
                v = mine[1][0][1][1]
                if v < n_out and entry.setdefault(v, theirs) != theirs:
                    return None
    bad = any(u >= n_term for e in entry.values() for u in ix.variables(e))
    if bad or any(v not in entry for v in range(n_out)):
        return None
    return tuple(entry[v] for v in range(n_out))
