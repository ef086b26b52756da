"""Two locks compared by what their proofs take from outside, and by what the plan itself requires.

In: two locks. Out: changes as (aspect, what, before, after, weaker): an input or weight that is promised to be one of fewer numbers,
or smaller in norm, so that less is proved; a requirement of the plan that is gone. The format of an input is a promise too, and
`abs(x) <= 8` is the same as `x >= -8 and x <= 8`. A state promises nothing from outside: what it keeps is shown at every write.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Literal

import msgspec

from pllm_lang.artifacts.lock_data import Lock
from pllm_lang.catalog.formats import GRIDDED
from pllm_lang.catalog.records import Format
from pllm_lang.exact.number import Exact, exact
from pllm_lang.ir.plan import Bound, Input, Requirement, Weight
from pllm_lang.ir.walk import nodes, rename, value_of
from pllm_lang.verify.numbers import shown
from pllm_lang.verify.terms import term_text

Told = tuple[Literal["bounds"], str, str, str, bool]
ENDS = frozenset({"min", "max", "max_abs"})
NONE = "none"


class Promise(msgspec.Struct, frozen=True):
    """The ends between which a value lies (None: open), the grid that it is on (None: any number), and its norms by slot."""

    low: Exact | None
    high: Exact | None
    grid: Exact | None
    norms: dict[str, Exact]


def promises(first: Lock, second: Lock) -> Iterator[Told]:
    old, new = _promised(first), _promised(second)
    for name in sorted(old.keys() & new.keys()):
        yield from _fewer(name, old[name], new[name])
    yield from _required(first, second)


# ---- what inputs and weights are promised to be ----
def _promised(lock: Lock) -> dict[str, Promise]:
    plan, names, found = lock.documents.ir, lock.documents.names, dict[str, Promise]()
    given = [("", one) for one in (*plan.inputs, *plan.weights)]
    given += [(f"{stage.name}." if stage.name else "", one) for stage in plan.stages for one in stage.inputs]
    for prefix, one in given:
        found[prefix + names.get(str(one.value), f"v{one.value}")] = _promise(plan.formats, one)
    return found


def _promise(formats: tuple[Format, ...], given: Input | Weight) -> Promise:
    form = formats[given.type.format]
    gridded = form.kind in GRIDDED
    unit = (
        exact(f"1/{1 << form.frac}") if gridded and form.frac >= 0 else 1 << -form.frac if gridded else None
    )
    held = form.kind != "float" and form.low and form.high
    lows = [exact(form.low) * (unit or 1)] if held else list[Exact]()
    highs = [exact(form.high) * (unit or 1)] if held else list[Exact]()
    lows += [
        exact(b.limit) * (-1 if b.slot == "max_abs" else 1)
        for b in given.bounds
        if b.slot in ("min", "max_abs")
    ]
    highs += [exact(b.limit) for b in given.bounds if b.slot in ("max", "max_abs")]
    return Promise(max(lows, default=None), min(highs, default=None), unit, _norms(given.bounds))


def _norms(bounds: tuple[Bound, ...]) -> dict[str, Exact]:
    found: dict[str, Exact] = {}
    for bound in bounds:
        if bound.slot not in ENDS:
            limit = exact(bound.limit)
            found[bound.slot] = min(limit, found.get(bound.slot, limit))
    return found


def _fewer(name: str, old: Promise, new: Promise) -> Iterator[Told]:
    if (old.low, old.high) != (new.low, new.high):
        narrower = _above(new.low, old.low) or _above(_minus(new.high), _minus(old.high))
        yield "bounds", f"range that `{name}` has to keep", _range(old), _range(new), narrower
    if old.grid != new.grid:
        coarser = new.grid is not None and (old.grid is None or old.grid % new.grid != 0)
        yield "bounds", f"grid that `{name}` is on", _size(old.grid), _size(new.grid), coarser
    for slot in sorted(old.norms.keys() | new.norms.keys()):
        a, b = old.norms.get(slot), new.norms.get(slot)
        if a != b:
            smaller = b is not None and (a is None or b < a)
            yield "bounds", f"{slot} that `{name}` has to keep", _size(a), _size(b), smaller


def _above(new: Exact | None, old: Exact | None) -> bool:
    return new is not None and (old is None or new > old)


def _minus(end: Exact | None) -> Exact | None:
    return None if end is None else -end


def _range(of: Promise) -> str:
    ends = "-inf" if of.low is None else shown(of.low), "inf" if of.high is None else shown(of.high)
    return NONE if of.low is None and of.high is None else f"[{ends[0]}, {ends[1]}]"


def _size(size: Exact | None) -> str:
    return NONE if size is None else shown(size)


# ---- what the plan requires ----
def _required(first: Lock, second: Lock) -> Iterator[Told]:
    """Whatever the values are called."""
    old, new = _requirements(first), _requirements(second)
    for text in sorted(old.keys() | new.keys()):
        for _ in range(abs(old[text] - new[text])):
            gone = old[text] > new[text]
            yield "bounds", "what the plan requires", text if gone else NONE, NONE if gone else text, gone


def _requirements(lock: Lock) -> Counter[str]:
    every = (node for stage in lock.documents.ir.stages for node, _ in nodes(stage.body))
    return Counter(
        term_text(rename(node.condition, lambda name: name if value_of(name) is None else "value"))
        for node in every
        if isinstance(node, Requirement)
    )
