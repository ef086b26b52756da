"""Replay: what is known of the values that a plan begins with, and of what it states of a value by itself."""

from __future__ import annotations

import msgspec

from pllm_lang.artifacts.replay import facts as f
from pllm_lang.artifacts.replay import numbers as n
from pllm_lang.artifacts.replay import terms as t
from pllm_lang.artifacts.replay.facts import Fact
from pllm_lang.artifacts.replay.numbers import Range, Size
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.artifacts.replay.walked import Value, Walked, form_of
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
    low, high = _ends(given.bounds)
    if low is not None and high is not None and low > high:
        raise ReplayError("certificate.bound", "its stated range is empty", f"%{given.value}")
    for one in (low, high):
        if limit is not None and one is not None and not limit[0] <= one <= limit[1]:
            raise ReplayError("certificate.bound", "its stated range leaves its format", f"%{given.value}")
    least = max(0, low or 0, -(high or 0))
    if any("norm" in bound.slot and n.number(bound.limit) < least for bound in given.bounds):
        raise ReplayError("certificate.bound", "a norm is smaller than every entry", f"%{given.value}")


def _ends(bounds: tuple[Bound, ...]) -> tuple[Size, Size]:
    lows = [
        n.number(b.limit) * (-1 if b.slot == "max_abs" else 1) for b in bounds if b.slot in ("min", "max_abs")
    ]
    highs = [n.number(b.limit) for b in bounds if b.slot in ("max", "max_abs")]
    return max(lows, default=None), min(highs, default=None)


def with_bounds(fact: Fact, bounds: tuple[Bound, ...]) -> Fact:
    """What is stated is taken as true; that it is possible, or only assumed, is the plan's own affair."""
    if any(bound.op != (">=" if bound.slot in ("min", "row_max") else "<=") for bound in bounds):
        raise ReplayError("certificate.plan", "a bound is stated from the side that says nothing")
    low, high = _ends(bounds)
    if fact.range is not None:
        low, high = (
            max(x for x in (low, fact.range[0]) if x is not None),
            min(x for x in (high, fact.range[1]) if x is not None),
        )
    found = (low, high) if low is not None and high is not None and low <= high else fact.range
    fact = msgspec.structs.replace(fact, range=found)
    for bound in bounds:
        if "norm" in bound.slot:
            fact = with_norm(fact, bound.slot, n.number(bound.limit))
    return f.settled(fact)


def with_norm(fact: Fact, slot: str, limit: n.Number, square: Size = None) -> Fact:
    side = "cols" if slot.startswith("col") else "rows"
    two, one = getattr(fact, side)
    norms = (n.least(two, limit * limit, square), one) if slot.endswith("2") else (two, n.least(one, limit))
    return msgspec.structs.replace(fact, **{side: norms})


def fact_of_constant(constant: Constant) -> Fact:
    entries = [n.number(entry) for entry in constant.entries]
    unit = f.common(*(abs(e) for e in entries if e)) or 1
    return (
        Fact(constant.type.shape, (min(entries), max(entries)), unit=unit)
        if entries
        else Fact(constant.type.shape)
    )
