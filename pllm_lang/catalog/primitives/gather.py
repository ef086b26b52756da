"""`gather(table, indices)`: rows of a matrix; the result has the shape of `indices` with the row behind
it."""

from __future__ import annotations

from pllm_lang.catalog.bounds import Arg
from pllm_lang.catalog.facts import Exact, Facts
from pllm_lang.catalog.primitives.elementwise import written
from pllm_lang.catalog.primitives.primitive import Params, Primitive
from pllm_lang.catalog.primitives.structural import same_entries
from pllm_lang.catalog.tensor import Shape, Tensor, entries


def shape(shapes: tuple[Shape, ...], _params: Params) -> Shape | str:
    table, indices = shapes
    if len(table) != 2:
        return f"gather takes a matrix of rows, not {written(table)}"
    return (*indices, table[1])


def facts(args: tuple[Arg, ...], _params: Params) -> Facts:
    """Row facts stay; a row may be taken twice, so columns are open."""
    return same_entries(args[0].facts, True, False)


def execute(args: tuple[Tensor, ...], _params: Params) -> Tensor:
    table, indices = args
    new = (*indices.shape, table.shape[1])
    return Tensor(new, table.rows, tuple(table.which[_position(i, table)] for i in entries(indices)))


def _position(index: object, table: Tensor) -> int:
    if not isinstance(index, int) or not 0 <= index < len(table.which):
        raise ArithmeticError("an index outside the table")
    return index


def error(args: tuple[Arg, ...], _params: Params) -> Exact | None:
    """An inexact index has no bound."""
    return args[0].facts.error if args[1].facts.error == 0 else None


GATHER = Primitive(name="gather", arity=2, shape=shape, facts=facts, execute=execute, error=error)
