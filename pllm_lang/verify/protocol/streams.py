"""PRF streams of a run: one for each key and label (and count, where the label counts), whatever its length.

A use is a place in the text and in the loops around it. Two uses of one stream, at two places, are a
repetition; two uses under two shapes or rings are different draws that share their values, and mask
nothing.
"""

from __future__ import annotations

from typing import TypeAlias

from pllm_lang.verify.protocol.polynomial import Poly
from pllm_lang.verify.protocol.trace import Key

Path: TypeAlias = tuple[int, ...]
Place: TypeAlias = tuple[Path, tuple[int, ...]]
"""(statement, iteration of the loops around it)."""


class Stream:
    """`draws` by (modulus, shape): the atom and its term."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.places: set[Place] = set()
        self.draws: dict[tuple[int, tuple[int, ...]], tuple[int, Poly]] = {}

    def used_elsewhere(self, where: Place) -> bool:
        return bool(self.places - {where})


class Streams:
    def __init__(self) -> None:
        self._all: dict[tuple[int, tuple[str, ...], str], Stream] = {}

    def of(self, key: Key, label: tuple[str, ...], counted: str) -> Stream:
        """`counted` tells executions and iterations apart where the label has a counter."""
        return self._all.setdefault((id(key), label, counted), Stream(len(self._all)))
