"""Terms as text, for people: `x[i,k]*w[j,k] - r[i,j]`."""

from __future__ import annotations

from collections.abc import Sequence

from pllm_lang.verify.protocol import index as ix
from pllm_lang.verify.protocol.atoms import Atoms
from pllm_lang.verify.protocol.masking import centred
from pllm_lang.verify.protocol.polynomial import Mono, Poly, whole
from pllm_lang.verify.protocol.scalars import Scalar

LETTERS = "ijklmnpqrstuvw"
MAX_SHOWN = 6
MAX_NESTED = 3
"""Calls inside each other that are shown; a value of many steps is a tree that grows with every one of them."""


def show_poly(poly: Poly, atoms: Atoms, nested: int = 0) -> str:
    """The first monomials; whole tensors by their name alone."""
    parts: list[str] = []
    for mono, coef in sorted(poly.terms.items(), key=lambda item: (-len(item[0][1]), item[0]))[:MAX_SHOWN]:
        sign = centred(coef, poly.modulus)
        text = _mono(mono, poly, atoms, nested)
        size = abs(sign)
        shown = text if size == 1 and text else f"{size}*{text}" if text else str(size)
        parts.append(("- " if sign < 0 else "+ ") + shown)
    if len(poly.terms) > MAX_SHOWN:
        parts.append(f"+ {len(poly.terms) - MAX_SHOWN} more")
    text = " ".join(parts) or "0"
    return text[2:] if text.startswith("+ ") else "-" + text[2:] if text.startswith("- ") else text


def _mono(mono: Mono, poly: Poly, atoms: Atoms, nested: int) -> str:
    shown: list[str] = []
    for atom, entry in mono[1]:
        made = atoms[atom]
        name = made.name if made.kind != "call" else f"{made.name}({_args(atom, atoms, nested)})"
        plain = not mono[0] and next(iter(whole(atom, poly.modulus or 3, poly.shape).terms))[1][0][1] == entry
        at = ",".join(show_index(i) for i in entry)
        shown.append(name if plain or not at else f"{name}[{at}]")
    return "*".join(shown)


def _args(atom: int, atoms: Atoms, nested: int = 0) -> str:
    if nested == MAX_NESTED:
        return "..."
    return ", ".join(show_poly(arg, atoms, nested + 1) for arg in atoms[atom].args)


def show_index(index: ix.Index) -> str:
    """`i`, `2*i + 1`, `i div 4`, with letters for variables."""
    const, terms = index
    parts = [_term(coef, base) for coef, base in terms]
    if const or not parts:
        parts.append(str(const))
    return " + ".join(parts)


def _term(coef: int, base: ix.Base) -> str:
    if base[0] == "v":
        text = LETTERS[base[1] % len(LETTERS)]
    elif base[0] == "g":
        text = f"{list(base[1])}[{show_index(base[2])}]"
    else:
        text = f"({show_index(base[1])} {'div' if base[0] == 'd' else 'mod'} {base[2]})"
    return text if coef == 1 else f"{coef}*{text}"


def show_entry(name: str, at: tuple[int, ...], plain: bool) -> str:
    return name if plain or not at else f"{name}[{','.join(map(str, at))}]"


def show_scalar(
    scalar: Scalar, modulus: int, atoms: Atoms, plain: bool, first: Sequence[tuple[str, int]] = ()
) -> str:
    """`x1 - x2`, after the named parts in `first`."""
    parts = list(first)
    for product, coef in sorted(scalar.items(), key=lambda item: (-len(item[0]), item[0])):
        shown = [show_entry(_name(a, atoms), at, plain) for a, at in product]
        parts.append(("*".join(shown) or "1", coef))
    text = ""
    for name, coef in parts:
        number = centred(coef % modulus if modulus else coef, modulus)
        sign = " - " if number < 0 else " + "
        text += sign + (name if abs(number) == 1 else f"{abs(number)}*{name}")
    return text[3:] if text.startswith(" + ") else "-" + text[3:] if text else "0"


def _name(atom: int, atoms: Atoms) -> str:
    made = atoms[atom]
    return f"{made.name}({_args(atom, atoms)})" if made.kind == "call" else made.name.split("'")[0]
