"""Replay: what the certificate states of a step's results, held against what was worked out."""

from __future__ import annotations

from fractions import Fraction

from pllm_lang.artifacts.lock_data import Row
from pllm_lang.artifacts.replay import facts as f
from pllm_lang.artifacts.replay import numbers as n
from pllm_lang.artifacts.replay.facts import Fact
from pllm_lang.artifacts.replay.numbers import Size
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.artifacts.replay.walked import Walked


def chosen(walked: Walked, number: int, shown: list[Fact]) -> list[Fact]:
    """The narrowest that the certificate states of this step's results and that follows from what was worked out; the walk
    goes on with the statement. All that follow count as used: a wider one may be of a turn of which replay knows more than
    the verifier did."""
    best: tuple[Fraction, list[Fact]] | None = None
    for place, rows in enumerate(walked.stated[number]):
        known = [_claimed(row, fact, number) for row, fact in zip(rows, shown, strict=False)]
        follows = [fact for fact in known if fact is not None]
        if not len(rows) == len(shown) == len(follows):
            continue
        walked.used.add((number, place))
        width = sum((n.largest(fact.range) or Fraction(0) for fact in follows), Fraction(0))
        if best is None or width < best[0]:
            best = width, follows
    if best is None:
        raise ReplayError(
            "certificate.facts", "no statement about its results follows from its operands", f"step {number}"
        )
    return best[1]


def _claimed(row: Row, shown: Fact, number: int) -> Fact | None:
    """What a row states, None where that does not follow."""

    def size(text: str) -> Size:
        return n.number(text) if text else None

    try:
        low, high, unit = size(row.low), size(row.high), size(row.unit)
        rows, cols = (size(row.row2), size(row.row1)), (size(row.col2), size(row.col1))
    except (ValueError, ZeroDivisionError):
        raise ReplayError("certificate.facts", "it states a number that is none", f"step {number}") from None
    if (low is None) != (high is None) or (unit is not None and unit <= 0):
        raise ReplayError(
            "certificate.facts", "it states half a range, or a grid of no width", f"step {number}"
        )
    found = None if low is None or high is None else (low, high)
    on_grid = unit is None or (shown.unit is not None and (shown.unit / unit).denominator == 1)
    follows = [n.within(shown.range, found), on_grid]
    for axis, stated in ((-1, rows), (-2, cols)):
        if stated != f.OPEN:
            follows += [
                y is None or (x is not None and x <= y)
                for x, y in zip(f.norms(shown, axis), stated, strict=True)
            ]
    return f.settled(Fact(shown.shape, found, rows, cols, unit, shown.peak)) if all(follows) else None
