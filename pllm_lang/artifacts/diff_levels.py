"""Two locks compared by the security that the components of their steps have with the parameters that they are given.

In: two locks. Out: what differs, as `(aspect, what, before, after, weaker)`. A policy need not ask for a level, and then nothing
else tells that a mask is narrower.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pllm_lang.artifacts.lock_data import Lock
from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import exact_term
from pllm_lang.catalog.expr import MapOf
from pllm_lang.catalog.facts import Exact
from pllm_lang.exact.number import text
from pllm_lang.ir.walk import steps

Told = tuple[Literal["privacy"], str, str, str, bool]
UNKNOWN = "unknown"


def levels(first: Lock, second: Lock) -> Iterator[Told]:
    old, new = _lowest(first), _lowest(second)
    for (key, sort), a in old.items():
        b = new.get((key, sort), a)
        if a != b:
            lower = a is not None and (b is None or b < a)
            yield "privacy", f"{sort} security of `{key.rpartition('.')[2]}`", _bits(a), _bits(b), lower


def _lowest(lock: Lock) -> dict[tuple[str, str], Exact | None]:
    """By component and sort, the least of all uses; None where one of them is not known."""
    found: dict[tuple[str, str], Exact | None] = {}
    for use in (step.use for step in steps(lock.documents.ir) if step.use is not None):
        filed = lock.documents.records.get(use.key)
        said = None if filed is None or filed.component is None else filed.component.security
        numbers = {name: one for name, value in use.params if (one := exact_term(value, Env())) is not None}
        for sort, level in said.entries if isinstance(said, MapOf) else ():
            here = exact_term(level, Env(exact=numbers))
            before = found.get((use.key, sort), here)
            found[use.key, sort] = None if here is None or before is None else min(here, before)
    return dict(sorted(found.items()))


def _bits(level: Exact | None) -> str:
    return UNKNOWN if level is None else f"{text(level)} bits"
