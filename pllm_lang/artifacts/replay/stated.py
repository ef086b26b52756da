"""Replay: what the certificate states of a step's results, held against what was worked out.

A step in a repeat has a statement for each turn of which other things are known. Those narrower than what was worked out cannot
follow, so that only wider ones are looked at, the narrowest first: a turn takes about one look, however many there are.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable

import msgspec

from pllm_lang.artifacts.lock_data import Met, Row
from pllm_lang.artifacts.replay import facts as f
from pllm_lang.artifacts.replay import numbers as n
from pllm_lang.artifacts.replay.facts import Fact, Norms
from pllm_lang.artifacts.replay.numbers import Range, Size
from pllm_lang.artifacts.replay.refusal import ReplayError, need

MAX_LOOKS = 1_000_000
"""Turns in which statements are looked for that none of them chose."""


class Claimed(msgspec.Struct, frozen=True):
    """A row, read."""

    range: Range
    rows: Norms
    cols: Norms
    unit: Size


class Statement(msgspec.Struct, frozen=True):
    """What is stated together of all results of a step; `place` tells it from the step's others, `width` is that of its ranges."""

    place: int
    width: n.Number
    results: tuple[Claimed, ...]


class Stated(msgspec.Struct, frozen=True):
    """The statements about a step, the narrowest first; those in `open` leave a range out, and may be of any turn."""

    every: list[Statement]
    widths: list[n.Number]
    open: list[Statement]


def statements(certificate: Iterable[Met]) -> dict[int, Stated]:
    """By the number of the step; equal ones of several steps are one."""
    written: dict[int, list[tuple[Row, ...]]] = defaultdict(list)
    for met in certificate:
        written[met.step].append(met.results)
    alike: dict[tuple[tuple[Row, ...], ...], Stated] = {}
    for number, rows in written.items():
        key = tuple(rows)
        if key not in alike:
            alike[key] = _sorted(rows, f"step {number}")
    return {number: alike[tuple(rows)] for number, rows in written.items()}


def _sorted(written: list[tuple[Row, ...]], where: str) -> Stated:
    every: list[Statement] = []
    for place, rows in enumerate(written):
        results = tuple([_read(row, where) for row in rows])
        every.append(Statement(place, _width(results), results))
    closed = [one for one in every if all(each.range is not None for each in one.results)]
    closed.sort(key=lambda one: one.width)
    left = [one for one in every if any(each.range is None for each in one.results)]
    return Stated(closed, [one.width for one in closed], left)


def chosen(stated: Stated, shown: list[Fact], where: str) -> tuple[list[Fact], int]:
    """The narrowest statement that follows from what was worked out, and its place: the walk goes on with it."""
    found: tuple[Statement, list[Fact]] | None = None
    for place in range(bisect_left(stated.widths, _width(shown)), len(stated.every)):
        found = _follows(stated.every[place], shown)
        if found is not None:
            break
    for one in stated.open:
        other = _follows(one, shown)
        if other is not None and (found is None or other[0].width < found[0].width):
            found = other
    if found is None:
        text = "no statement about its results follows from its operands"
        raise ReplayError("certificate.facts", text, where)
    return found[1], found[0].place


def all_met(
    stated: dict[int, Stated], used: set[tuple[int, int]], turns: dict[int, list[list[Fact]]]
) -> None:
    """Nothing is stated that no turn has: what none chose may be of a turn of which replay knows more than the verifier did.
    `used` are the chosen ones by step and place; `turns` what was worked out of each step."""
    left = [
        (number, one)
        for number, about in stated.items()
        for one in (*about.every, *about.open)
        if (number, one.place) not in used
    ]
    looks = sum(len(turns.get(number, ())) for number, _ in left)
    need(looks <= MAX_LOOKS, "certificate.beyond", "it states more of turns than replay compares")
    for number, one in left:
        met = any(_follows(one, shown) is not None for shown in turns.get(number, ()))
        need(met, "certificate.facts", "it states results that no step of the plan has")


def _follows(one: Statement, shown: list[Fact]) -> tuple[Statement, list[Fact]] | None:
    if len(one.results) != len(shown):
        return None
    facts: list[Fact] = []
    for claimed, fact in zip(one.results, shown, strict=True):
        unit = claimed.unit
        if not n.within(fact.range, claimed.range) or not (unit is None or n.divides(unit, fact.unit)):
            return None
        for axis, limits in ((-1, claimed.rows), (-2, claimed.cols)):
            if limits != f.OPEN and not all(map(_below, f.norms(fact, axis), limits)):
                return None
        facts.append(f.settled(Fact(fact.shape, claimed.range, claimed.rows, claimed.cols, unit, fact.peak)))
    return one, facts


def _read(row: Row, where: str) -> Claimed:
    try:
        low, high, unit = _size(row.low), _size(row.high), _size(row.unit)
        rows, cols = (_size(row.row2), _size(row.row1)), (_size(row.col2), _size(row.col1))
    except (ValueError, ZeroDivisionError):
        raise ReplayError("certificate.facts", "it states a number that is none", where) from None
    if (low is None) != (high is None) or (unit is not None and unit <= 0):
        raise ReplayError("certificate.facts", "it states half a range, or a grid of no width", where)
    return Claimed(None if low is None or high is None else (low, high), rows, cols, unit)


def _width(results: Iterable[Claimed | Fact]) -> n.Number:
    return sum((n.largest(one.range) or 0 for one in results), 0)


def _size(text: str) -> Size:
    return n.number(text) if text else None


def _below(x: Size, limit: Size) -> bool:
    return limit is None or (x is not None and x <= limit)
