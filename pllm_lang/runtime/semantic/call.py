"""One op of the semantic graph with the values that it is applied to."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from pllm_lang.models.graph import Op

Array: TypeAlias = NDArray[np.float64]


class Call(msgspec.Struct, frozen=True):
    """One op with the values of its operands and weights."""

    op: Op
    inputs: tuple[Array, ...]
    weights: Mapping[str, Array]

    def number(self, name: str, default: str = "0") -> float:
        return float(Fraction(str(self.op.attributes.get(name, default))))

    def integer(self, name: str, default: int = 0) -> int:
        return int(str(self.op.attributes.get(name, default)))

    def has(self, name: str) -> bool:
        return name in self.op.attributes


def logistic(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))
