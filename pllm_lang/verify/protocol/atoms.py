"""The atoms of terms: inputs, draws, and calls of functions that the prover does not look into.

A call is an atom like any other, named by its function and the normal forms of its arguments; what it depends
on is kept, since a draw inside a call is not a mask (condition (d)).
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from pllm_lang.verify.protocol.polynomial import Poly, TooLarge, atoms_of

MAX_NESTED = 150
"""Calls inside each other, of which one value may be made: the terms are followed into each other."""


class Atom(msgspec.Struct, frozen=True):
    """`modulus` 0 with `bits`: an integer, signed or not (`signed`). `args` for calls only."""

    name: str
    kind: Literal["input", "draw", "call", "seen"]
    modulus: int
    shape: tuple[int, ...]
    bits: int = 0
    signed: bool = False
    args: tuple[Poly, ...] = ()
    params: tuple[Any, ...] = ()


class Atoms:
    """Numbers atoms in the order met; the number is what leaves carry."""

    def __init__(self) -> None:
        self.all: list[Atom] = []
        self._numbers: dict[Any, int] = {}
        self._inside: dict[int, frozenset[int]] = {}
        self._depth: list[int] = []

    def __getitem__(self, number: int) -> Atom:
        return self.all[number]

    def add(self, atom: Atom) -> int:
        args = tuple(a.key() for a in atom.args)
        key = (atom.name, atom.kind, atom.modulus, atom.shape, atom.bits, atom.signed, atom.params, args)
        if key not in self._numbers:
            depth = 1 + max((self._depth[n] for arg in atom.args for n in atoms_of(arg)), default=0)
            if depth > MAX_NESTED:
                raise TooLarge(f"a value is made by more than {MAX_NESTED} functions inside each other")
            self._depth.append(depth)
            self._numbers[key] = len(self.all)
            self.all.append(atom)
        return self._numbers[key]

    def inside(self, number: int) -> frozenset[int]:
        """Everything that the atom's value depends on, itself included."""
        if number not in self._inside:
            found = {number}
            for arg in self.all[number].args:
                for atom in atoms_of(arg):
                    found |= self.inside(atom)
            self._inside[number] = frozenset(found)
        return self._inside[number]

    def in_poly(self, poly: Poly) -> set[int]:
        """Every atom that a term depends on, through calls too."""
        found: set[int] = set()
        for atom in atoms_of(poly):
            found |= self.inside(atom)
        return found


def homomorphic(target: int, source: int) -> bool:
    """Whether taking representatives from `source` to `target` is a ring homomorphism (0: the integers)."""
    return source in (target, 0) or (target != 0 and source % target == 0)
