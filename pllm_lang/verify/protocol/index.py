"""Index expressions: where an entry of a leaf comes from, as a function of the entries of a term.

In: variables 0, 1, ... whose sizes are `dims[v]`; out: canonical integer expressions `const + sum coef *
base` with a base a variable, a quotient, a remainder or a lookup in a known table. Reshapes, transposes,
slices and gathers all compose into these, so equal maps have equal expressions in every case that occurs in
practice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

Base: TypeAlias = tuple[Any, ...]
"""("v", variable) | ("d", Index, n) quotient | ("m", Index, n) remainder | ("g", table, Index) lookup."""

Index: TypeAlias = tuple[int, tuple[tuple[int, Base], ...]]
"""(constant, ((coefficient, base), ...)) with bases sorted and distinct, coefficients not 0."""

Dims: TypeAlias = Sequence[int]

ZERO: Index = (0, ())


def constant(value: int) -> Index:
    return (value, ())


def variable(v: int, dims: Dims) -> Index:
    """Variable `v`; one of size 1 is 0."""
    return ZERO if dims[v] == 1 else (0, ((1, ("v", v)),))


def linear(const: int, parts: Sequence[tuple[int, Index]]) -> Index:
    """`const + sum factor * part`, with quotients and remainders of one thing joined again."""
    coefs: dict[Base, int] = {}
    for factor, (part_const, terms) in parts:
        const += factor * part_const
        for coef, base in terms:
            coefs[base] = coefs.get(base, 0) + factor * coef
    _join(coefs)
    return const, tuple(sorted(((c, b) for b, c in coefs.items() if c), key=_by_base))


def _by_base(term: tuple[int, Base]) -> Base:
    return term[1]


def _join(coefs: dict[Base, int]) -> None:
    """`c * n * (X div n) + c * (X mod n)` becomes `c * X`."""
    for base in [b for b in coefs if b[0] == "m"]:
        coef, inner, n = coefs.get(base, 0), base[1], base[2]
        quotient = _divide(inner, n)
        if not coef or quotient[0] or len(quotient[1]) != 1 or quotient[1][0][0] != 1:
            continue
        partner = quotient[1][0][1]
        if partner in coefs and coefs[partner] == coef * n:
            del coefs[base], coefs[partner]
            for inner_coef, inner_base in inner[1]:
                coefs[inner_base] = coefs.get(inner_base, 0) + coef * inner_coef
            _join(coefs)
            return


def bounds(index: Index, dims: Dims) -> tuple[int, int]:
    """The least and the largest value."""
    low = high = index[0]
    for coef, base in index[1]:
        b_low, b_high = _base_bounds(base, dims)
        low += coef * (b_low if coef > 0 else b_high)
        high += coef * (b_high if coef > 0 else b_low)
    return low, high


def _base_bounds(base: Base, dims: Dims) -> tuple[int, int]:
    if base[0] == "v":
        v: int = base[1]
        return 0, dims[v] - 1
    if base[0] == "g":
        return min(base[1]), max(base[1])
    low, high = bounds(base[1], dims)
    if base[0] == "d":
        return low // base[2], high // base[2]
    return (low, high) if low >= 0 and high < base[2] else (0, base[2] - 1)


def _split(index: Index, n: int) -> tuple[Index, Index]:
    """`index = n * whole + rest` with the coefficients of `rest` below n."""
    const, terms = index
    whole = (const // n, tuple((c // n, b) for c, b in terms if c % n == 0))
    return whole, (const % n, tuple((c, b) for c, b in terms if c % n))


def divide(index: Index, n: int, dims: Dims) -> Index:
    """`floor(index / n)`, n >= 1."""
    if n == 1:
        return index
    whole, rest = _split(index, n)
    low, high = bounds(rest, dims)
    if low >= 0 and high < n:
        return whole
    return linear(0, [(1, whole), (1, _divide(rest, n))])


def _divide(index: Index, n: int) -> Index:
    const, terms = index
    if not const and len(terms) == 1 and terms[0][0] == 1 and terms[0][1][0] == "d":
        _, inner, m = terms[0][1]
        return 0, ((1, ("d", inner, m * n)),)
    return 0, ((1, ("d", index, n)),)


def remainder(index: Index, n: int, dims: Dims) -> Index:
    """`index mod n`, n >= 1."""
    if n == 1:
        return ZERO
    _, rest = _split(index, n)
    low, high = bounds(rest, dims)
    if low >= 0 and high < n:
        return rest
    return 0, ((1, ("m", rest, n)),)


def lookup(table: tuple[int, ...], index: Index) -> Index:
    """`table[index]`; tables that are rising arithmetic progressions are written as such."""
    const, terms = index
    if not terms:
        return constant(table[const])
    steps = {b - a for a, b in pairwise(table)} or {0}
    if len(steps) == 1 and min(steps) >= 0:
        return linear(table[0], [(min(steps), index)])
    return 0, ((1, ("g", table, index)),)


def rename(index: Index, target: Callable[[int], Index], dims: Dims) -> Index:
    """Every variable `v` replaced by `target(v)`, an expression over `dims`."""
    return linear(index[0], [(coef, _rename_base(base, target, dims)) for coef, base in index[1]])


def _rename_base(base: Base, target: Callable[[int], Index], dims: Dims) -> Index:
    if base[0] == "v":
        return target(base[1])
    if base[0] == "g":
        return lookup(base[1], rename(base[2], target, dims))
    inner = rename(base[1], target, dims)
    return divide(inner, base[2], dims) if base[0] == "d" else remainder(inner, base[2], dims)


def permute(index: Index, place: dict[int, int]) -> Index:
    """Variables renumbered, nothing else: the target numbers are distinct."""
    terms = [(coef, _permute_base(base, place)) for coef, base in index[1]]
    return index[0], tuple(sorted(terms, key=_by_base))


def _permute_base(base: Base, place: dict[int, int]) -> Base:
    if base[0] == "v":
        return "v", place.get(base[1], base[1])
    if base[0] == "g":
        return "g", base[1], permute(base[2], place)
    return base[0], permute(base[1], place), base[2]


def variables(index: Index) -> set[int]:
    found: set[int] = set()
    for _, base in index[1]:
        inner: Index = base[2] if base[0] == "g" else base[1]
        found |= {base[1]} if base[0] == "v" else variables(inner)
    return found


def value_at(index: Index, point: Sequence[int]) -> int:
    """The number that `index` is when variable v is `point[v]`."""
    return index[0] + sum(coef * _base_at(base, point) for coef, base in index[1])


def _base_at(base: Base, point: Sequence[int]) -> int:
    if base[0] == "v":
        v: int = base[1]
        return point[v]
    if base[0] == "g":
        table: tuple[int, ...] = base[1]
        return table[value_at(base[2], point)]
    inner = value_at(base[1], point)
    n: int = base[2]
    return inner // n if base[0] == "d" else inner % n


def strides(shape: Dims) -> list[int]:
    """Row-major strides."""
    out = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        out[axis] = out[axis + 1] * shape[axis + 1]
    return out


def flatten(entry: Sequence[Index], shape: Dims) -> Index:
    """The row-major position of `entry` in a tensor of `shape`."""
    return linear(0, list(zip(strides(shape), entry, strict=True)))


def unflatten(flat: Index, shape: Dims, dims: Dims) -> tuple[Index, ...]:
    """The entry at row-major position `flat` of a tensor of `shape`."""
    return tuple(
        remainder(divide(flat, stride, dims), size, dims)
        for stride, size in zip(strides(shape), shape, strict=True)
    )


def inverse(entry: Sequence[Index], leaf_shape: Dims, term_shape: Dims) -> tuple[Index, ...] | None:
    """The inverse of a map from the entries of a term to those of a leaf, or None.

    `entry` maps term variables to leaf positions. Recognised: every composition of transposes, reshapes and
    whole-axis permutations. The result maps leaf variables (sizes `leaf_shape`) to term positions.
    """
    flat, tables = _open_tables(flatten(entry, leaf_shape), term_shape)
    if flat is None or flat[0]:
        return None
    expected = 1
    axes: dict[int, int] = {}
    for coef, base in sorted(flat[1], key=lambda term: term[0]):
        if base[0] != "v" or coef != expected or base[1] in axes:
            return None
        v: int = base[1]
        axes[v] = coef
        expected *= term_shape[v]
    size = 1
    for dim in leaf_shape:
        size *= dim
    wide = {v for v, dim in enumerate(term_shape) if dim != 1}
    if expected != size or set(axes) != wide:
        return None
    position = flatten([variable(v, leaf_shape) for v in range(len(leaf_shape))], leaf_shape)
    found: list[Index] = []
    for v, dim in enumerate(term_shape):
        if v not in axes:
            found.append(ZERO)
            continue
        raw = remainder(divide(position, axes[v], leaf_shape), dim, leaf_shape)
        found.append(lookup(_invert(tables[v]), raw) if v in tables else raw)
    return tuple(found)


def _open_tables(flat: Index, dims: Dims) -> tuple[Index | None, dict[int, tuple[int, ...]]]:
    """Lookups of one whole axis through a permutation are replaced by the axis, and remembered."""
    tables: dict[int, tuple[int, ...]] = {}
    plain = {base[1] for _, base in flat[1] if base[0] == "v"}
    terms: list[tuple[int, Index]] = []
    for coef, base in flat[1]:
        if base[0] != "g":
            terms.append((coef, (0, ((1, base),))))
            continue
        table, inner = base[1], base[2]
        if len(inner[1]) != 1 or inner[0] or inner[1][0][0] != 1 or inner[1][0][1][0] != "v":
            return None, {}
        v: int = inner[1][0][1][1]
        if v in tables or v in plain or sorted(table) != list(range(dims[v])):
            return None, {}
        tables[v] = table
        terms.append((coef, variable(v, dims)))
    return linear(flat[0], terms), tables


def _invert(table: tuple[int, ...]) -> tuple[int, ...]:
    out = [0] * len(table)
    for position, value in enumerate(table):
        out[value] = position
    return tuple(out)
