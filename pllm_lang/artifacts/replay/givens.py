"""Replay: what is known of the values that a plan begins with, and of what it states of a value by itself."""

from __future__ import annotations

from math import prod

from pllm_lang.artifacts.replay import facts as f
from pllm_lang.artifacts.replay import numbers as n
from pllm_lang.artifacts.replay import terms as t
from pllm_lang.artifacts.replay.facts import Fact
from pllm_lang.artifacts.replay.numbers import Range, Size
from pllm_lang.artifacts.replay.refusal import need
from pllm_lang.artifacts.replay.walked import Value, Walked, form_of
from pllm_lang.catalog.records import Format
from pllm_lang.ir.plan import Bound, Constant, Input, Placement, State, TensorType, Weight


def put(walked: Walked, value: int, type_: TensorType, fact: Fact, place: Placement) -> None:
    found = Value(type_, f.reshaped(fact, type_.shape), place)
    walked.values[value] = walked.alike.setdefault(found, found)


# ---- what a plan begins with ----
def begin_with(walked: Walked, given: Input | Weight | State) -> None:
    form = form_of(walked.lock, given.type)
    stated = given.bounds if isinstance(given, State) else (*given.bounds, *given.assumed)
    ends = {"min", "max", "max_abs"} & {bound.slot for bound in stated}
    limit = t.held_by(form)
    _stated_range(given, limit)
    known = Fact(given.type.shape, None if form.kind == "float" and not ends else limit, unit=t.step_of(form))
    public = Placement("public") if isinstance(given, Weight) and not given.secret_from else Placement()
    place = public if isinstance(given, Weight) else given.placement
    put(walked, given.value, given.type, with_bounds(known, stated), place)
    walked.owed.add(("bounds.stated_range", given.value))
    seen = () if isinstance(given, State) else given.assumed
    walked.told |= {
        ("bounds.stated_range", given.value, f"{bound_text(b)} was only seen on data") for b in seen
    }


def bound_text(bound: Bound) -> str:
    return f"{bound.slot} {bound.op} {bound.limit}"


def _stated_range(given: Input | Weight | State, limit: Range) -> None:
    where, (low, high) = f"%{given.value}", _ends(given.bounds)
    possible = low is None or high is None or low <= high
    need(possible, "certificate.bound", "its stated range is empty", where)
    fits = all(n.within((end, end), limit) for end in (low, high) if end is not None)
    need(fits, "certificate.bound", "its stated range leaves its format", where)
    least = max(0, low or 0, -(high or 0))
    norms = [n.number(bound.limit) for bound in given.bounds if "norm" in bound.slot]
    need(min(norms, default=least) >= least, "certificate.bound", "a norm is smaller than every entry", where)


def _ends(bounds: tuple[Bound, ...]) -> tuple[Size, Size]:
    lows = [
        n.number(b.limit) * (-1 if b.slot == "max_abs" else 1) for b in bounds if b.slot in ("min", "max_abs")
    ]
    highs = [n.number(b.limit) for b in bounds if b.slot in ("max", "max_abs")]
    return max(lows, default=None), min(highs, default=None)


def with_bounds(fact: Fact, bounds: tuple[Bound, ...]) -> Fact:
    """What is stated is taken as true; that it is possible, or only assumed, is the plan's own affair."""
    sides = [bound.op == (">=" if bound.slot in ("min", "row_max") else "<=") for bound in bounds]
    need(all(sides), "certificate.plan", "a bound is stated from the side that says nothing")
    fact = f.changed(fact, range=n.narrowed(fact.range, *_ends(bounds)))
    for bound in bounds:
        if "norm" in bound.slot:
            fact = with_norm(fact, bound.slot, n.number(bound.limit))
    return f.settled(fact)


def with_norm(fact: Fact, slot: str, limit: n.Number, square: Size = None) -> Fact:
    side = "cols" if slot.startswith("col") else "rows"
    two, one = getattr(fact, side)
    norms = (n.least(two, limit * limit, square), one) if slot.endswith("2") else (two, n.least(one, limit))
    return f.changed(fact, **{side: norms})


def fact_of_constant(constant: Constant, form: Format) -> Fact:
    """Every entry is written, and as the number that it is: a grid would cut it."""
    written = form.kind == "exact" and len(constant.entries) == prod(constant.type.shape)
    need(written, "certificate.plan", "the entries of a constant are not all written", f"%{constant.value}")
    entries = [n.number(entry) for entry in constant.entries]
    if not entries:
        return Fact(constant.type.shape)
    unit = f.common(*(abs(e) for e in entries if e)) or 1
    return Fact(constant.type.shape, (min(entries), max(entries)), unit=unit)
