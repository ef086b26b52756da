"""`take(x, indices)`: entries of every row by their place in it; row r of the result reads row r of `x`."""

from __future__ import annotations

from pllm_lang.catalog.bounds import Arg
from pllm_lang.catalog.facts import Exact, Facts
from pllm_lang.catalog.primitives.elementwise import written
from pllm_lang.catalog.primitives.primitive import Params, Primitive
from pllm_lang.catalog.primitives.structural import same_entries
from pllm_lang.catalog.tensor import STRETCH, Entry, Row, Shape, Tensor, of_rows, row, spend


def shape(shapes: tuple[Shape, ...], _params: Params) -> Shape | str:
    x, indices = shapes
    if not x or len(x) != len(indices) or x[:-1] != indices[:-1] or STRETCH in (*x, *indices):
        return f"take reads rows of {written(x)} at the places in rows of {written(indices)}"
    return indices


def facts(args: tuple[Arg, ...], _params: Params) -> Facts:
    """Entries of `x`; one may be taken twice, so norms are open."""
    return same_entries(args[0].facts, False, False)


def execute(args: tuple[Tensor, ...], _params: Params) -> Tensor:
    x, indices = args
    spend(len(x.which) * max(1, indices.shape[-1]))
    return of_rows(indices.shape, (_taken(row(x, r), row(indices, r)) for r in range(len(x.which))))


def _taken(source: Row, places: Row) -> Row:
    return tuple(source[_place(place, len(source))] for place in places)


def _place(place: Entry, length: int) -> int:
    if not isinstance(place, int) or not 0 <= place < length:
        raise ArithmeticError("a place outside the row")
    return place


def error(args: tuple[Arg, ...], _params: Params) -> Exact | None:
    """An inexact place has no bound."""
    return args[0].facts.error if args[1].facts.error == 0 else None


TAKE = Primitive(name="take", arity=2, shape=shape, facts=facts, execute=execute, error=error)
