"""Sizes of tensors as integers, symbols included.

A symbol (`"m"`) becomes a large prime of its own, a product of symbols (`"heads*d"`) the product of theirs.
All index arithmetic is then integer arithmetic, and two shapes are equal only if they are equal for every
value of the symbols. Nothing may *count* with such a number (`is_symbolic`): a sum of m equal terms stays a
sum.
"""

from __future__ import annotations

from pllm_lang.ir.protocol import Dim

FIRST_SYMBOL = (1 << 61) - 1


class Sizes:
    """Symbols met so far, or fixed values for them (`known`) when a protocol is executed."""

    def __init__(self, known: dict[str, int] | None = None) -> None:
        self._values: dict[str, int] = dict(known or {})
        self._next = FIRST_SYMBOL

    def of(self, dim: Dim) -> int:
        if isinstance(dim, int):
            return dim
        total = 1
        for factor in dim.split("*"):
            name = factor.strip()
            total *= int(name) if name.isdigit() else self._symbol(name)
        return total

    def shape(self, dims: tuple[Dim, ...]) -> tuple[int, ...]:
        return tuple(self.of(d) for d in dims)

    def symbols(self) -> list[tuple[str, int]]:
        return sorted(self._values.items())

    def _symbol(self, name: str) -> int:
        if name not in self._values:
            self._values[name] = self._next
            self._next = _next_prime(self._next)
        return self._values[name]


def symbols_of(dim: Dim) -> tuple[str, ...]:
    """The symbols in a size."""
    if isinstance(dim, int):
        return ()
    return tuple(f.strip() for f in dim.split("*") if not f.strip().isdigit())


def is_symbolic(size: int) -> bool:
    return size >= FIRST_SYMBOL


def _next_prime(after: int) -> int:
    candidate = after + 2
    while not _is_prime(candidate):
        candidate += 2
    return candidate


def _is_prime(n: int) -> bool:
    """Miller-Rabin with the bases that decide every n below 3.3 * 10^24."""
    d, s = n - 1, 0
    while d % 2 == 0:
        d, s = d // 2, s + 1
    for base in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41):
        x = pow(base, d, n)
        if x in (1, n - 1):
            continue
        for _ in range(s - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


def factored(size: int, sizes: Sizes) -> tuple[int, str]:
    """A size as (number, product of symbols)."""
    names: list[str] = []
    for name, value in sizes.symbols():
        while is_symbolic(value) and size % value == 0 and size:
            size //= value
            names.append(name)
    return size, "*".join(sorted(names))
