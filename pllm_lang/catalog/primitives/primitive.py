"""What a primitive is: one row of the table that every verdict reads, with up to five columns.

An empty column is *unknown*: no shape rule, no use; no facts, no bound; no execution, no witness; no
polynomial, no functional-correctness proof; no error rule, no error bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

import msgspec

from pllm_lang.catalog.bounds import Arg
from pllm_lang.catalog.facts import Exact, Facts
from pllm_lang.catalog.polynomial import Polynomial
from pllm_lang.catalog.tensor import Shape, Tensor

Param: TypeAlias = Exact | tuple[Exact, ...] | str
Params: TypeAlias = Mapping[str, Param]

ShapeColumn: TypeAlias = Callable[[tuple[Shape, ...], Params], "Shape | str"]
FactsColumn: TypeAlias = Callable[[tuple[Arg, ...], Params], Facts]
ExecuteColumn: TypeAlias = Callable[[tuple[Tensor, ...], Params], Tensor]
PolynomialColumn: TypeAlias = Callable[
    [tuple[Polynomial, ...], tuple[Shape, ...], Params], "Polynomial | None"
]
ErrorColumn: TypeAlias = Callable[[tuple[Arg, ...], Params], "Exact | None"]


class Primitive(msgspec.Struct, frozen=True):
    """`shape` gives the result's shape or a sentence that says why the operands do not fit.

    `facts` sees error-free operands: it bounds the result computed from operands as computed. `error`
    bounds how
    far that is from the result of the operands' real-valued meaning; where all operands are exact it is
    zero and is
    not asked, unless the primitive rounds (`rounds`: its own meaning is the unrounded value).
    """

    name: str
    shape: ShapeColumn
    facts: FactsColumn | None = None
    execute: ExecuteColumn | None = None
    polynomial: PolynomialColumn | None = None
    error: ErrorColumn | None = None
    arity: int = 1
    params: tuple[str, ...] = ()
    rounds: bool = False


def accepts(primitive: Primitive, arguments: int, named: Iterable[str]) -> bool:
    """Whether a call has as many operands as the primitive takes, and no parameter that it does not know."""
    return arguments == primitive.arity and set(named) <= set(primitive.params)


def shape_param(params: Params, name: str) -> Shape | None:
    """A parameter that lists whole numbers, None where it is missing or something else."""
    value = params.get(name)
    if not isinstance(value, tuple):
        return None
    whole = tuple(item for item in value if isinstance(item, int))
    return whole if len(whole) == len(value) else None


def int_param(params: Params, name: str, default: int | None = None) -> int | None:
    value = params.get(name, default)
    return value if isinstance(value, int) else None


def axis_param(params: Params, rank: int, default: int = -1) -> int | None:
    """The parameter `axis` counted from the front, None where it names no axis."""
    axis = int_param(params, "axis", default)
    if axis is None or not -rank <= axis < rank:
        return None
    return axis % rank
