"""How large the integer behind a term can be: for statistical masks and for truncations."""

from __future__ import annotations

from pllm_lang.verify.protocol.atoms import Atoms, homomorphic
from pllm_lang.verify.protocol.polynomial import Poly
from pllm_lang.verify.protocol.sizes import is_symbolic


def integer_range(poly: Poly, atoms: Atoms, ranges: dict[int, int]) -> int | None:
    """The least e with |F| <= 2^e for the integer F that the term stands for; None where an atom has no
    bound.

    F takes the coefficients nearest to 0 and the atoms' centred values; the term is F modulo its modulus.
    """
    total = 0
    for (bound, leaves), coef in poly.terms.items():
        size = abs(coef - poly.modulus if poly.modulus and 2 * coef > poly.modulus else coef)
        if any(is_symbolic(b) for b in bound):
            return None
        for b in bound:
            size *= b
        for atom, _ in leaves:
            bits = _bits(atom, atoms, ranges)
            if bits is None or not homomorphic(poly.modulus, atoms[atom].modulus):
                return None  # a representative is not the centred value
            size <<= bits
        total += size
    return max(0, (total - 1).bit_length()) if total else 0


def _bits(atom: int, atoms: Atoms, ranges: dict[int, int]) -> int | None:
    if atom in ranges:
        return ranges[atom]
    made = atoms[atom]
    return made.bits if not made.modulus and made.bits else None


def integer_bits(poly: Poly, atoms: Atoms) -> int:
    """Bits that hold every value of an integer term (its magnitude)."""
    total = 0
    for (bound, leaves), coef in poly.terms.items():
        part = abs(coef)
        for size in bound:
            part *= size
        for atom, _ in leaves:
            made = atoms[atom]
            part *= made.modulus or (1 << made.bits)
        total += part
    return max(1, total.bit_length())
