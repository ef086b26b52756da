"""The first facts of a plan: what formats, `where` clauses, literals and assumptions say."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from pllm_lang.catalog.apply import stated_bound
from pllm_lang.catalog.bounds import known_facts
from pllm_lang.catalog.facts import MAX_KNOWN_ENTRIES, Facts, Interval, Known
from pllm_lang.catalog.formats import format_facts, highest, lowest
from pllm_lang.catalog.records import Format
from pllm_lang.exact.number import exact
from pllm_lang.ir.plan import Bound, Constant, Input, State, Weight


def format_range(format_: Format) -> Interval | None:
    """The real numbers that a format can hold, None where it sets no bound."""
    low, high = lowest(format_), highest(format_)
    return None if low is None or high is None else Interval(low, high)


def given_facts(format_: Format, given: Input | Weight | State) -> Facts:
    """Facts of an input, weight or state: its format's, met with what is stated.

    Inputs and weights are exact unless an error is stated; a state holds what a stage computed, with an error that is
    unknown unless stated. A float's own range only says that the value is finite, so it counts as a fact only beside a
    stated end.
    """
    stated = stated_bounds(given)
    slots = {bound.slot for bound in stated}
    base = Facts() if format_.kind == "float" and slots.isdisjoint(_ENDS) else format_facts(format_)
    error = None if isinstance(given, State) or "error" in slots else 0
    return with_bounds(msgspec.structs.replace(base, error=error), stated)


_ENDS = ("min", "max", "max_abs")


def stated_bounds(given: Input | Weight | State) -> tuple[Bound, ...]:
    """What the plan states of a value, and what a facts file saw of it on data (listed as taken for granted)."""
    return given.bounds if isinstance(given, State) else (*given.bounds, *given.assumed)


def constant_facts(constant: Constant) -> Facts:
    """Facts of a literal; it carries its value where it is small enough."""
    entries = tuple(exact(entry) for entry in constant.entries)
    if not entries:
        return Facts(error=0)
    if len(entries) > MAX_KNOWN_ENTRIES:
        return Facts(range=Interval(min(entries), max(entries)), error=0)
    return known_facts(Known(constant.type.shape, entries))


def with_bounds(facts: Facts, bounds: Iterable[Bound]) -> Facts:
    """`facts` met with stated bounds; what contradicts them is reported by `bounds.contradiction`."""
    stated = tuple(bounds)
    if facts.range is None:
        facts = msgspec.structs.replace(facts, range=_between(stated))
    for bound in stated:
        if bound.slot == "error":
            limit = exact(bound.limit)
            least = limit if facts.error is None else min(facts.error, limit)
            facts = msgspec.structs.replace(facts, error=least)
        else:
            facts = stated_bound(facts, bound.slot, bound.op, bound.limit)
    return facts


def _between(bounds: tuple[Bound, ...]) -> Interval | None:
    """The range that two stated ends leave; one end alone bounds nothing."""
    ends = {bound.slot: exact(bound.limit) for bound in bounds}
    low, high = ends.get("min"), ends.get("max")
    return None if low is None or high is None or low > high else Interval(low, high)
