"""Replay: what the certificate states of a step's results, held against what was worked out."""

from __future__ import annotations

from pllm_lang.artifacts.lock_data import Row
from pllm_lang.artifacts.replay import facts as f
from pllm_lang.artifacts.replay import numbers as n
from pllm_lang.artifacts.replay.facts import Fact
from pllm_lang.artifacts.replay.numbers import Size
from pllm_lang.artifacts.replay.refusal import ReplayError


def chosen(stated: list[tuple[Row, ...]], shown: list[Fact], where: str) -> tuple[list[Fact], list[int]]:
    """The narrowest that the certificate states of a step's results and that follows from what was worked out: the walk goes on
    with the statement. All that follow count as used, by their places: a wider one may be of a turn of which replay knows more
    than the verifier did."""
    best: tuple[n.Number, list[Fact]] | None = None
    used: list[int] = []
    for place, rows in enumerate(stated):
        known = [_claimed(row, fact, where) for row, fact in zip(rows, shown, strict=False)]
        follows = [fact for fact in known if fact is not None]
        if not len(rows) == len(shown) == len(follows):
            continue
        used.append(place)
        width = sum((n.largest(fact.range) or 0 for fact in follows), 0)
        if best is None or width < best[0]:
            best = width, follows
    if best is None:
        text = "no statement about its results follows from its operands"
        raise ReplayError("certificate.facts", text, where)
    return best[1], used


def _claimed(row: Row, shown: Fact, where: str) -> Fact | None:
    """What a row states, None where that does not follow."""
    try:
        low, high, unit = _size(row.low), _size(row.high), _size(row.unit)
        rows, cols = (_size(row.row2), _size(row.row1)), (_size(row.col2), _size(row.col1))
    except (ValueError, ZeroDivisionError):
        raise ReplayError("certificate.facts", "it states a number that is none", where) from None
    if (low is None) != (high is None) or (unit is not None and unit <= 0):
        raise ReplayError("certificate.facts", "it states half a range, or a grid of no width", where)
    found = None if low is None or high is None else (low, high)
    if not n.within(shown.range, found) or not (unit is None or n.divides(unit, shown.unit)):
        return None
    for axis, stated in ((-1, rows), (-2, cols)):
        if stated != f.OPEN and not all(map(_below, f.norms(shown, axis), stated)):
            return None
    return f.settled(Fact(shown.shape, found, rows, cols, unit, shown.peak))


def _size(text: str) -> Size:
    return n.number(text) if text else None


def _below(x: Size, limit: Size) -> bool:
    return limit is None or (x is not None and x <= limit)
