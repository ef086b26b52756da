"""The search for an order of substitutions that leaves no secret in a view.

A share (an honest piece of an output) must be replaced by a fresh value that no seen term keeps: that value
counts as a secret. In: a `Problem`. Out: the steps, how every term ended, and, where the search is stuck,
the terms that kept a secret. Depth first with bounded backtracking; masks that hide one term only come
first. Stuck means *unproved*.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec

from pllm_lang.verify.protocol import polynomial as pl
from pllm_lang.verify.protocol.allowed import Allowed, learn, through_outputs
from pllm_lang.verify.protocol.atoms import Atom, homomorphic
from pllm_lang.verify.protocol.masking import Mask, find_mask, solved
from pllm_lang.verify.protocol.polynomial import Poly, atoms_of
from pllm_lang.verify.protocol.problem import Problem, Term
from pllm_lang.verify.protocol.scopes import Scope
from pllm_lang.verify.protocol.splitting import split_problem
from pllm_lang.verify.protocol.substitution import substitute

MAX_NODES = 300
MAX_TERMS = 512
NO_ORDER = "no order of substitutions takes the secrets out of these terms"


class Move(msgspec.Struct, frozen=True):
    """A mask used on a term (its number and part in the problem), and the fresh value that it became."""

    term: Term
    mask: Mask
    seen: int


class Solution(msgspec.Struct, frozen=True):
    """`left` are the terms at the end, without what is known; `stuck` those of them that keep a secret. `reason` says why there
    are such."""

    solved: bool
    problem: Problem
    allowed: Allowed
    moves: tuple[Move, ...]
    left: tuple[Term, ...]
    stuck: tuple[Term, ...]
    reason: str


class State(msgspec.Struct, frozen=True):
    terms: tuple[Term, ...]
    known: frozenset[int]
    scopes: dict[int, Scope]
    moves: tuple[Move, ...]


def solve(problem: Problem) -> Solution:
    problem = split_problem(problem)
    allowed, known = learn(problem)
    terms = tuple(_replaced(t, allowed.rewrite(t.poly)) for t in problem.terms)
    search = _Search(problem, allowed)
    start = State(search.simplified(terms, known), known, problem.scopes | allowed.scopes, ())
    found = search.run(start)
    end = found or search.best or start
    stuck = tuple(t for t in end.terms if search.keeps_secret(t.poly, end.known))
    return Solution(
        found is not None, problem, allowed, end.moves, end.terms, stuck, search.limit or NO_ORDER
    )


def _replaced(term: Term, poly: Poly) -> Term:
    return msgspec.structs.replace(term, poly=poly)


class _Search:
    def __init__(self, problem: Problem, allowed: Allowed) -> None:
        self.problem, self.allowed = problem, allowed
        self.nodes = 0
        self.limit = ""
        self.failed: set[frozenset[object]] = set()
        self.best: State | None = None
        self.best_stuck = 1 << 30
        self._secret: dict[object, bool] = {}
        self.shares: frozenset[int] = frozenset()

    def run(self, state: State) -> State | None:
        state, bad = self.hidden_alone(state)
        if not bad:
            return state
        if len(bad) < self.best_stuck:
            self.best, self.best_stuck = state, len(bad)
        self.nodes += 1
        if self.nodes > MAX_NODES:
            self.limit = f"the search for an order of substitutions ends after {MAX_NODES} of them"
        elif len(state.terms) > MAX_TERMS:
            self.limit = f"the search for an order of substitutions takes {MAX_TERMS} messages at most"
        if self.limit:
            return None
        key = frozenset((t.share, t.poly.key()) for t in state.terms)
        if key in self.failed:
            return None
        if any(not self.hidden_by(t.poly) for t in bad):
            return None
        for term, mask in self.choices(state, bad):
            found = self.run(self.applied(state, term, mask))
            if found is not None or self.limit:
                return found
        self.failed.add(key)
        return None

    def hidden_alone(self, state: State) -> tuple[State, list[Term]]:
        """Every bad term that has a draw of its own is fresh at once, in the order of the terms: what replaces the draw stands
        nowhere else. Also the bad terms that are left."""
        while True:
            bad = [t for t in state.terms if t.share or self.keeps_secret(t.poly, state.known)]
            holding = self.holding(state)
            own = [(t, m) for t in bad if (m := self.own_mask(state, t, holding)) is not None]
            if not own:
                return state, bad
            for term, mask in own:
                state = self.made_fresh(state, term, mask)

    def own_mask(self, state: State, term: Term, holding: Mapping[int, int]) -> Mask | None:
        for draw in sorted(self.hidden_by(term.poly) & atoms_of(term.poly)):
            mask = find_mask(term.poly, draw, self.problem, state.scopes) if holding[draw] == 1 else None
            if mask is not None and not mask.distance and _fits_share(term, mask):
                return mask
        return None

    def keeps_secret(self, poly: Poly, known: frozenset[int]) -> bool:
        """A secret is left, also after subtracting allowed outputs."""
        key = poly.key()
        if key not in self._secret:
            secrets = self.problem.secrets | self.shares
            left = poly
            if self.problem.atoms.in_poly(poly) & secrets and self.allowed.others:
                left = through_outputs(poly, self.allowed.others, self.problem.atoms, secrets)
                left = drop_known(left, known, self.problem)
            self._secret[key] = bool(self.problem.atoms.in_poly(left) & secrets)
        return self._secret[key]

    def hidden_by(self, poly: Poly) -> set[int]:
        return self.problem.atoms.in_poly(poly) & self.problem.masks

    def holding(self, state: State) -> Counter[int]:
        """How many terms each draw hides."""
        return Counter(draw for term in state.terms for draw in self.hidden_by(term.poly))

    def choices(self, state: State, bad: list[Term]) -> list[tuple[Term, Mask]]:
        """Where the rule applies, the most promising first."""
        holding = self.holding(state)
        wanted = self.connected(state, {d for t in bad for d in self.hidden_by(t.poly)})
        numbers = {t.number for t in bad}
        ranked: list[tuple[tuple[int, ...], Term, Mask]] = []
        for place, term in enumerate(state.terms):
            for draw in sorted(self.hidden_by(term.poly) & wanted & atoms_of(term.poly)):
                mask = find_mask(term.poly, draw, self.problem, state.scopes)
                if mask is not None and self.may_substitute(state, term, mask) and _fits_share(term, mask):
                    late = int(mask.distance > 0), int(term.number not in numbers)
                    ranked.append(((*late, holding[draw], place, draw), term, mask))
        ranked.sort(key=lambda row: row[0])
        return [(term, mask) for _, term, mask in ranked]

    def connected(self, state: State, draws: set[int]) -> set[int]:
        """The draws of every term that shares a draw with these, and so on."""
        sets = [self.hidden_by(t.poly) for t in state.terms]
        while True:
            more = draws.union(*(s for s in sets if s & draws))
            if more == draws:
                return draws
            draws = more

    def may_substitute(self, state: State, term: Term, mask: Mask) -> bool:
        """A statistical mask stands for a centred value: it may only meet rings that the value maps to."""
        atoms = self.problem.atoms
        rings = {atoms[a].modulus for a in atoms_of(mask.rest) if atoms[a].modulus}
        if not mask.distance or not rings:
            return True
        for other in state.terms:
            if other is term or mask.draw not in atoms.in_poly(other.poly):
                continue
            plain = {a for a in atoms_of(other.poly) if mask.draw in atoms.inside(a)} == {mask.draw}
            modulus = other.poly.modulus
            if not plain or not modulus or not all(homomorphic(modulus, r) for r in rings):
                return False
        return True

    def applied(self, state: State, term: Term, mask: Mask) -> State:
        """The term fresh, the draw replaced in all others."""
        fresh, atoms = self.made_fresh(state, term, mask), self.problem.atoms
        value = solved(mask, fresh.moves[-1].seen, self.problem)
        rest = tuple(_replaced(t, substitute(t.poly, mask.draw, value, atoms)) for t in fresh.terms)
        return msgspec.structs.replace(fresh, terms=self.simplified(rest, fresh.known))

    def made_fresh(self, state: State, term: Term, mask: Mask) -> State:
        atoms = self.problem.atoms
        bits = atoms[mask.draw].bits + 1
        name = f"seen {len(state.moves)} {term.number}.{term.part}.{mask.draw}"
        modulus, whole = mask.rest.modulus, not mask.rest.modulus
        made = Atom(name, "seen", modulus, term.poly.shape, bits if whole else 0, whole)
        seen = atoms.add(made)
        if term.share:
            self.shares |= {seen}
        known = state.known if term.share else state.known | {seen}
        rest = tuple(t for t in state.terms if t is not term)
        scopes = state.scopes | {seen: mask.scope}
        return State(rest, known, scopes, (*state.moves, Move(term, mask, seen)))

    def simplified(self, terms: tuple[Term, ...], known: frozenset[int]) -> tuple[Term, ...]:
        """Without what is known, and without what occurs twice; shares stay, a known one can never be
        fresh."""
        out: dict[object, Term] = {}
        for term in terms:
            poly = drop_known(term.poly, known, self.problem)
            if term.share:
                out[term.number, term.part] = _replaced(term, poly)
            elif poly.terms:
                poly = pl.narrowed(poly)
                out.setdefault(poly.key(), _replaced(term, poly))
        return tuple(out.values())


def _fits_share(term: Term, mask: Mask) -> bool:
    """A share must be uniform itself: not a multiple of something uniform, not up to a distance."""
    return not term.share or (mask.divided == 1 and not mask.distance)


def drop_known(poly: Poly, known: frozenset[int], problem: Problem) -> Poly:
    """The coalition can subtract every monomial whose leaves it all knows."""
    atoms = problem.atoms

    def is_known(atom: int) -> bool:
        return all(a in known or atoms[a].kind == "call" for a in atoms.inside(atom))

    terms = {m: c for m, c in poly.terms.items() if not all(is_known(a) for a, _ in m[1])}
    return pl.Poly(poly.modulus, poly.shape, terms)
