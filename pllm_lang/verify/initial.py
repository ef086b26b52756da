"""The first facts of a plan: what formats, `where` clauses, literals and assumptions say."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from pllm_lang.catalog.facts import MAX_KNOWN_ENTRIES, Facts, Interval, Known
from pllm_lang.catalog.records import Format
from pllm_lang.exact.number import Exact, exact, normal
from pllm_lang.ir.plan import Bound, Constant


def format_range(format_: Format) -> Interval | None:
    """The real numbers that a format can hold, None where it sets no bound."""
    if not format_.low or not format_.high:
        return None
    step = Fraction(1, 2**format_.frac)
    return Interval(normal(int(format_.low) * step), normal(int(format_.high) * step))


def format_unit(format_: Format) -> Exact | None:
    """The grid of a format: every value is a multiple of it. None for floats and exact values."""
    if format_.kind in ("float", "exact", "label"):
        return None
    return normal(Fraction(1, 2**format_.frac))


def stated_facts(format_: Format, bounds: Iterable[Bound]) -> Facts:
    """Facts of an input, weight or state: its format's range met with what is stated; exact by definition."""
    base = Facts(range=format_range(format_), error=0, unit=format_unit(format_))
    return with_bounds(base, bounds)


def constant_facts(constant: Constant) -> Facts:
    entries = tuple(exact(entry) for entry in constant.entries)
    if not entries or len(entries) > MAX_KNOWN_ENTRIES:
        return Facts(range=Interval(min(entries), max(entries)) if entries else None, error=0)
    return Facts(
        range=Interval(min(entries), max(entries)), error=0, value=Known(constant.type.shape, entries)
    )


def with_bounds(facts: Facts, bounds: Iterable[Bound]) -> Facts:
    """`facts` met with stated bounds. A bound that contradicts what is known leaves the stated one standing; the
    rule `bounds.contradiction` reports it."""
    for bound in bounds:
        facts = _with_bound(facts, bound)
    return facts


def _with_bound(facts: Facts, bound: Bound) -> Facts:
    limit = exact(bound.limit)
    match bound.slot:
        case "max_abs":
            return _meet_range(facts, -limit, limit)
        case "max":
            return _meet_range(facts, None, limit)
        case "min":
            return _meet_range(facts, limit, None)
        case "norm2" | "row_norm2":
            return _replace(facts, row_norm2_sq=_smaller(facts.row_norm2_sq, limit * limit))
        case "col_norm2":
            return _replace(facts, col_norm2_sq=_smaller(facts.col_norm2_sq, limit * limit))
        case "row_norm1":
            return _replace(facts, row_norm1=_smaller(facts.row_norm1, limit))
        case "col_norm1":
            return _replace(facts, col_norm1=_smaller(facts.col_norm1, limit))
        case "error":
            return _replace(facts, error=_smaller(facts.error, limit))
        case _:
            raise AssertionError(bound.slot)


def _smaller(known: Exact | None, stated: Exact) -> Exact:
    return stated if known is None else min(known, stated)


def _meet_range(facts: Facts, low: Exact | None, high: Exact | None) -> Facts:
    old = facts.range
    if old is not None:
        low = old.low if low is None else max(low, old.low)
        high = old.high if high is None else min(high, old.high)
    if low is None or high is None:
        return facts
    if low > high:
        low = high = low if old is None or low > old.high else high
    return _replace(facts, range=Interval(low, high))


def _replace(facts: Facts, **changes: object) -> Facts:
    fields = {name: getattr(facts, name) for name in Facts.__struct_fields__}
    return Facts(**(fields | changes))
