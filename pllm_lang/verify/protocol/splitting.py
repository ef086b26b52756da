"""Draws that are used in pieces become several draws, and the terms that meet the seams several terms.

In: a problem. Out: the same problem in which every use of a draw is a use of all of it, wherever slices,
concatenations and lookups by known positions allow. (A term that is a tensor is all of its entries, so
cutting it changes nothing; entries of a draw are independent, so a draw is its blocks.)
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from pllm_lang.verify.protocol import index as ix
from pllm_lang.verify.protocol import polynomial as pl
from pllm_lang.verify.protocol.atoms import Atom, Atoms
from pllm_lang.verify.protocol.polynomial import Leaf, Mono, Poly
from pllm_lang.verify.protocol.problem import Problem, Term
from pllm_lang.verify.protocol.scopes import Scope

MAX_SINGLE = 16
MAX_SPLITS = 32
MAX_TERMS = 256


def split_problem(problem: Problem) -> Problem:
    """Split draws along axes until every use is of whole blocks."""
    terms, masks, scopes = list(problem.terms), set(problem.masks), dict(problem.scopes)
    for _ in range(MAX_SPLITS):
        seam = next((s for s in _seams(terms, masks, problem.atoms) if s is not None), None)
        if seam is None:
            break
        draw, axis, cuts = seam
        blocks = _blocks(draw, axis, cuts, problem.atoms)
        split = [new for term in terms for new in _split_term(term, draw, axis, cuts)]
        if len(split) > MAX_TERMS:
            break
        terms = [_with(t, _in_blocks(t.poly, draw, axis, cuts, blocks)) for t in split]
        masks = (masks - {draw}) | set(blocks)
        scopes |= dict.fromkeys(blocks, scopes[draw])
    return _rebuilt(problem, terms, masks, scopes)


def _rebuilt(problem: Problem, terms: list[Term], masks: set[int], scopes: dict[int, Scope]) -> Problem:
    counts: dict[int, int] = {}
    numbered: list[Term] = []
    for term in terms:
        part = counts.get(term.number, 0)
        counts[term.number] = part + 1
        numbered.append(msgspec.structs.replace(term, part=part))
    return msgspec.structs.replace(problem, terms=tuple(numbered), masks=frozenset(masks), scopes=scopes)


def _with(term: Term, poly: Poly) -> Term:
    return msgspec.structs.replace(term, poly=poly)


def _seams(
    terms: Sequence[Term], masks: set[int], atoms: Atoms
) -> list[tuple[int, int, tuple[int, ...]] | None]:
    """(draw, axis, cut points from 0 to its size) for every draw that is used in pieces."""
    found: list[tuple[int, int, tuple[int, ...]] | None] = []
    hidden = {a for t in terms for leaf in pl.atoms_of(t.poly) for a in atoms.inside(leaf) if a != leaf}
    for draw in sorted(masks - hidden):
        monos = [(m, t.poly.shape + m[0]) for t in terms for m in t.poly.terms]
        uses = [(leaf, dims) for m, dims in monos for leaf in m[1] if leaf[0] == draw]
        summed = [m[1][0][1] for m, _ in monos if _summed(m, draw)]
        for axis, size in enumerate(atoms[draw].shape):
            alone = any(_offset(entry[axis]) is not None and entry[axis][1] for entry in summed)
            cuts = _cuts(uses, axis, size, alone)
            if cuts is not None and len(cuts) > 2:
                found.append((draw, axis, cuts))
    return found


def _summed(mono: Mono, draw: int) -> bool:
    """A sum over entries of the draw and nothing else: one entry of it can mask, so it is taken out."""
    return bool(mono[0]) and len(mono[1]) == 1 and mono[1][0][0] == draw


def _cuts(
    uses: list[tuple[Leaf, tuple[int, ...]]], axis: int, size: int, alone: bool
) -> tuple[int, ...] | None:
    cuts: set[int] = {0, size, 1} if alone else {0, size}
    small = size <= MAX_SINGLE
    singles = whole = False
    for (_, entry), dims in uses:
        plain = _offset(entry[axis])
        if plain is not None:
            start, v = plain
            cuts |= {start, start + (dims[v] if v >= 0 else 1)}
            continue
        small = small and all(dims[v] <= MAX_SINGLE for v in ix.variables(entry[axis]))
        if _full(entry[axis], dims, size):
            whole = True
        else:
            singles = True
    if singles or (whole and len(cuts) > 2):
        return tuple(range(size + 1)) if small else None
    return tuple(sorted(cuts))


def _offset(index: ix.Index) -> tuple[int, int] | None:
    """(constant, variable or -1) where the index is a constant or a constant plus a variable."""
    const, terms = index
    if not terms:
        return const, -1
    if len(terms) == 1 and terms[0][0] == 1 and terms[0][1][0] == "v":
        return const, terms[0][1][1]
    return None


def _full(index: ix.Index, dims: Sequence[int], size: int) -> bool:
    """A map that is not a plain variable but reaches the whole axis, as a reshape does."""
    step = all(base[0] in ("v", "d", "m") for _, base in index[1])
    return step and len(index[1]) >= 1 and index[0] == 0 and ix.bounds(index, dims) == (0, size - 1)


def _blocks(draw: int, axis: int, cuts: tuple[int, ...], atoms: Atoms) -> list[int]:
    made = atoms[draw]
    out: list[int] = []
    for low, high in pairwise(cuts):
        shape = (*made.shape[:axis], high - low, *made.shape[axis + 1 :])
        name = f"{made.name}[{','.join([''] * axis)}{low}:{high}]"
        out.append(atoms.add(Atom(name, made.kind, made.modulus, shape, made.bits, made.signed)))
    return out


def _split_term(term: Term, draw: int, axis: int, cuts: tuple[int, ...]) -> list[Term]:
    """Cut the term's own axes where they run across a seam, then the sums inside it."""
    n_out = len(term.poly.shape)
    for v in range(n_out):
        points = _points(term.poly, v, draw, axis, cuts)
        if points:
            pieces = [_restricted(term.poly, v, a, b) for a, b in pairwise((0, *points, term.poly.shape[v]))]
            return [new for p in pieces for new in _split_term(_with(term, p), draw, axis, cuts)]
    return [_with(term, _split_sums(term.poly, draw, axis, cuts))]


def _points(poly: Poly, v: int, draw: int, axis: int, cuts: tuple[int, ...]) -> list[int]:
    """Where variable `v` of the term has to be cut."""
    points: set[int] = set()
    for mono in poly.terms:
        points |= _mono_points(mono, v, poly.shape + mono[0], draw, axis, cuts)
    return sorted(points)


def _mono_points(
    mono: Mono, v: int, dims: tuple[int, ...], draw: int, axis: int, cuts: tuple[int, ...]
) -> set[int]:
    points: set[int] = set()
    for atom, entry in mono[1]:
        if atom != draw or v not in ix.variables(entry[axis]):
            continue
        plain = _offset(entry[axis])
        if plain is not None:
            points |= {c - plain[0] for c in cuts if 0 < c - plain[0] < dims[v]}
        elif dims[v] <= MAX_SINGLE:
            points |= set(range(1, dims[v]))
    return points


def _restricted(poly: Poly, v: int, low: int, high: int) -> Poly:
    shape = (*poly.shape[:v], high - low, *poly.shape[v + 1 :])
    at = [ix.variable(u, shape) for u in range(len(shape))]
    at[v] = ix.linear(low, [(1, at[v])])
    return pl.remap(poly, at, shape)


def _split_sums(poly: Poly, draw: int, axis: int, cuts: tuple[int, ...]) -> Poly:
    done: list[tuple[Mono, int]] = []
    todo = list(poly.terms.items())
    n_out = len(poly.shape)
    while todo:
        mono, coef = todo.pop()
        dims = poly.shape + mono[0]
        for b, size in enumerate(mono[0]):
            points = sorted(_mono_points(mono, n_out + b, dims, draw, axis, cuts))
            if points:
                cut = pairwise((0, *points, size))
                todo += [(_partial_sum(mono, b, low, high, poly.shape), coef) for low, high in cut]
                break
        else:
            done.append((mono, coef))
    return pl.collect(poly.modulus, poly.shape, done)


def _partial_sum(mono: Mono, b: int, low: int, high: int, shape: tuple[int, ...]) -> Mono:
    bound = (*mono[0][:b], high - low, *mono[0][b + 1 :])
    dims = shape + bound

    def target(v: int) -> ix.Index:
        return ix.linear(low, [(1, ix.variable(v, dims))]) if v == len(shape) + b else ix.variable(v, dims)

    return bound, tuple((a, tuple(ix.rename(p, target, dims) for p in at)) for a, at in mono[1])


def _in_blocks(poly: Poly, draw: int, axis: int, cuts: tuple[int, ...], blocks: list[int]) -> Poly:
    """Every use of the draw as a use of one of its blocks."""
    parts: list[tuple[Mono, int]] = []
    for (bound, leaves), coef in poly.terms.items():
        dims = poly.shape + bound
        moved = tuple(_block_leaf(leaf, dims, draw, axis, cuts, blocks) for leaf in leaves)
        parts.append(((bound, moved), coef))
    return pl.collect(poly.modulus, poly.shape, parts)


def _block_leaf(
    leaf: Leaf, dims: tuple[int, ...], draw: int, axis: int, cuts: tuple[int, ...], blocks: list[int]
) -> Leaf:
    atom, entry = leaf
    if atom != draw:
        return leaf
    low, high = ix.bounds(entry[axis], dims)
    for block, (start, stop) in zip(blocks, pairwise(cuts), strict=True):
        if start <= low and high < stop:
            moved = ix.linear(-start, [(1, entry[axis])])
            return block, (*entry[:axis], moved, *entry[axis + 1 :])
    raise AssertionError("a use of a draw runs across a seam")
