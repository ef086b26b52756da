"""Equal layers as loops: runs of layers whose bodies repeat with a short period.

In: the bodies of a stage, each with the indices of its layers. Out: `Run`s in the order of the layers. Gemma 2's
26 layers, local and global in turn, are one run of period 2; Llama's 32 equal layers one run of period 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from pllm_lang.models.errors import LoweringError
from pllm_lang.models.graph import Repeat

MAX_PERIOD = 16
"""Patterns of layers in published configs repeat after at most this many layers."""


class Run(msgspec.Struct, frozen=True):
    """`turns` turns of `bodies`, one layer each, from layer `first` on."""

    first: int
    turns: int
    bodies: tuple[Repeat, ...]

    @property
    def period(self) -> int:
        return len(self.bodies)

    @property
    def low(self) -> int:
        """The loop's first index: that of the layer where every turn is one layer, else 0."""
        return self.first if self.period == 1 else 0

    def rest(self) -> tuple[Run, ...]:
        """The same layers but the first."""
        if self.turns * self.period == 1:
            return ()
        if self.period == 1:
            return (Run(self.first + 1, self.turns - 1, self.bodies),)
        single = tuple(Run(self.first + i, 1, (body,)) for i, body in enumerate(self.bodies) if i)
        again = (Run(self.first + self.period, self.turns - 1, self.bodies),) if self.turns > 1 else ()
        return (*single, *again)

    def layers_of(self, member: int) -> range:
        """The layers that body number `member` stands for, one a turn."""
        last = self.first + self.turns * self.period
        return range(self.first + member, last, self.period)


def runs(repeats: Sequence[Repeat]) -> tuple[Run, ...]:
    body_of = {layer: index for index, repeat in enumerate(repeats) for layer in repeat.layers}
    kinds = [body_of[layer] for layer in sorted(body_of)]
    found: list[Run] = []
    at = 0
    while at < len(kinds):
        period, turns = _longest(kinds, at)
        found.append(Run(at, turns, tuple(repeats[kind] for kind in kinds[at : at + period])))
        at += period * turns
    return tuple(found)


def _longest(kinds: Sequence[int], at: int) -> tuple[int, int]:
    """The period and turns of the pattern from `at` on that covers most layers; the shortest of equal ones. What does
    not repeat is one layer."""
    best = (1, 1)
    for period in range(1, MAX_PERIOD + 1):
        turns = _turns(kinds, at, period)
        if (period == 1 or turns > 1) and turns * period > best[0] * best[1]:
            best = (period, turns)
    return best


def _turns(kinds: Sequence[int], at: int, period: int) -> int:
    pattern = kinds[at : at + period]
    turns = 1
    while len(pattern) == period and kinds[at + turns * period : at + (turns + 1) * period] == pattern:
        turns += 1
    return turns


def member_index(layers: Sequence[int], run: Run, member: int, variable: str) -> str:
    """Which member of a family with one member for each of `layers` body number `member` reads, in the loop's
    `variable`."""
    rank = {layer: index for index, layer in enumerate(layers)}
    ranks = [rank[layer] for layer in run.layers_of(member)]
    step = ranks[1] - ranks[0] if len(ranks) > 1 else 0
    if any(later - earlier != step for earlier, later in pairwise(ranks)):
        raise LoweringError("text.layers", f"layers {list(layers)[:8]}... are not evenly spaced in a loop")
    offset = ranks[0] - step * run.low
    if step == 0:
        return str(offset)
    scaled = variable if step == 1 else f"{step} * {variable}"
    if offset == 0:
        return scaled
    return f"{scaled} {'+' if offset > 0 else '-'} {abs(offset)}"
