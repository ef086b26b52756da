"""How long values live, and how often a term is seen in that time: condition (f).

A scope is a lifetime and the unbounded loops around a statement. A value of a scope is drawn (or given)
once for each run through it. A term has the deepest scope among its atoms: in every run through *that*
scope it is one value, however often it is sent. So a draw may mask a term only if both have the same scope:
a longer-lived draw meets several different values of the term. Proofs look at one generic run of each
scope, which stands for any number of them; leaks are looked for in two runs (`leak.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

Scope: TypeAlias = tuple[int, tuple[int, ...]]
"""(level, unbounded loops from the outside in)."""

LEVELS = {"weights": 0, "session": 1, "request": 2, "execution": 3}
LONGEST: Scope = (0, ())
UNKNOWN: Scope = (9, ())
"""Of a thing whose scope is not known: deeper than any, so that nothing masks it."""


def scope_of(lifetime: str, loops: tuple[int, ...]) -> Scope:
    """What outlives an execution is not bound to a loop."""
    level = LEVELS[lifetime]
    return (level, loops) if level == LEVELS["execution"] else (level, ())


def deepest(scopes: Iterable[Scope]) -> Scope | None:
    """The scope of a thing made of things of these scopes; None if two loops stand side by side."""
    best = LONGEST
    for scope in scopes:
        outer, inner = sorted((best, scope), key=lambda s: (s[0], len(s[1])))
        if inner[1][: len(outer[1])] != outer[1]:
            return None
        best = inner
    return best
