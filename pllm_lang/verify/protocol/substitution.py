"""Replacing an atom by a term, everywhere: inside matrix products, through casts, inside the arguments of
calls."""

from __future__ import annotations

from pllm_lang.verify.protocol import index as ix
from pllm_lang.verify.protocol.atoms import Atom, Atoms, homomorphic
from pllm_lang.verify.protocol.polynomial import (
    MAX_PRODUCTS,
    Leaf,
    Mono,
    Poly,
    TooLarge,
    add,
    atoms_of,
    collect,
    whole,
)


def substitute(poly: Poly, atom: int, value: Poly, atoms: Atoms) -> Poly:
    """`poly` with `atom` replaced by `value` (of the atom's shape and modulus, and free of the atom)."""
    for call in [a for a in atoms_of(poly) if a != atom and atom in atoms.inside(a)]:
        poly = _replace_leaf(poly, call, _rebuilt(call, atom, value, atoms))
    if atom not in atoms_of(poly):
        return poly
    if not homomorphic(poly.modulus, atoms[atom].modulus):
        value = lifted(value, poly.modulus, atoms)
    return _replace_leaf(poly, atom, value)


def _rebuilt(call: int, atom: int, value: Poly, atoms: Atoms) -> Poly:
    old = atoms[call]
    args = tuple(substitute(arg, atom, value, atoms) for arg in old.args)
    new = atoms.add(Atom(old.name, "call", old.modulus, old.shape, old.bits, old.signed, args, old.params))
    return whole(new, old.modulus, old.shape)


def lifted(value: Poly, modulus: int, atoms: Atoms) -> Poly:
    """The representatives of `value`, in a modulus that it has no homomorphism to."""
    single = _single(value)
    if single is not None and atoms[single[0]].modulus == value.modulus:
        return Poly(modulus, value.shape, dict(value.terms))
    bits = max(1, (value.modulus - 1).bit_length())
    call = atoms.add(Atom("lift", "call", value.modulus, value.shape, bits, False, (value,)))
    return whole(call, modulus, value.shape)


def unlifted(poly: Poly, atoms: Atoms) -> Poly:
    """`c * lift(P)` is `c * P` where c times P's modulus is 0: the recombination of residues (CRT)."""
    modulus = poly.modulus
    if not modulus:
        return poly
    for mono, coef in poly.terms.items():
        for atom, _ in mono[1]:
            made = atoms[atom]
            if made.name == "lift" and made.kind == "call" and coef * made.modulus % modulus == 0:
                one = Poly(modulus, poly.shape, {mono: coef})
                rest = Poly(modulus, poly.shape, {m: c for m, c in poly.terms.items() if m != mono})
                opened = _replace_leaf(one, atom, Poly(modulus, made.shape, dict(made.args[0].terms)))
                return unlifted(add(rest, opened), atoms)
    return poly


def _single(value: Poly) -> Leaf | None:
    """The leaf, where the term is one leaf of its own modulus and nothing else."""
    if len(value.terms) != 1:
        return None
    (bound, leaves), coef = next(iter(value.terms.items()))
    return leaves[0] if coef == 1 and not bound and len(leaves) == 1 else None


def _replace_leaf(poly: Poly, atom: int, value: Poly) -> Poly:
    """Leaf by leaf, each occurrence multiplied out."""
    done: list[tuple[Mono, int]] = []
    todo = list(poly.terms.items())
    n_out = len(poly.shape)
    while todo:
        mono, coef = todo.pop()
        if len(done) + len(todo) > MAX_PRODUCTS:
            raise TooLarge(f"a substitution multiplies out to more than {MAX_PRODUCTS} monomials")
        place = next((i for i, (a, _) in enumerate(mono[1]) if a == atom), None)
        if place is None:
            done.append((mono, coef))
            continue
        todo.extend(_opened(mono, place, coef, value, poly.shape, n_out))
    return collect(poly.modulus, poly.shape, done)


def _opened(
    mono: Mono, place: int, coef: int, value: Poly, shape: tuple[int, ...], n_out: int
) -> list[tuple[Mono, int]]:
    bound, leaves = mono
    entry = leaves[place][1]
    rest = leaves[:place] + leaves[place + 1 :]
    out: list[tuple[Mono, int]] = []
    for (v_bound, v_leaves), v_coef in value.terms.items():
        dims = shape + bound + v_bound
        first = n_out + len(bound)

        def target(v: int, dims: tuple[int, ...] = dims, first: int = first) -> ix.Index:
            return entry[v] if v < len(entry) else ix.variable(first + v - len(entry), dims)

        moved = tuple((a, tuple(ix.rename(p, target, dims) for p in at)) for a, at in v_leaves)
        out.append(((bound + v_bound, rest + moved), coef * v_coef))
    return out
