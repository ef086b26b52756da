"""`transpose(a)`: the last two axes exchanged."""

from __future__ import annotations

import msgspec

from pllm_lang.catalog import polynomial
from pllm_lang.catalog.bounds import Arg
from pllm_lang.catalog.facts import Facts
from pllm_lang.catalog.primitives.elementwise import lipschitz, written
from pllm_lang.catalog.primitives.primitive import Params, Primitive
from pllm_lang.catalog.tensor import STRETCH, Row, Shape, Tensor, of_rows, spend


def shape(shapes: tuple[Shape, ...], _params: Params) -> Shape | str:
    a = shapes[0]
    if len(a) < 2 or STRETCH in a:
        return f"transpose takes a matrix, not {written(a)}"
    return (*a[:-2], a[-1], a[-2])


def facts(args: tuple[Arg, ...], _params: Params) -> Facts:
    old = args[0].facts
    return msgspec.structs.replace(
        old,
        row_norm2_sq=old.col_norm2_sq,
        row_norm1=old.col_norm1,
        col_norm2_sq=old.row_norm2_sq,
        col_norm1=old.row_norm1,
        row_max_low=None,
    )


def execute(args: tuple[Tensor, ...], _params: Params) -> Tensor:
    a = args[0]
    height, width = a.shape[-2], a.shape[-1]
    seen: dict[tuple[tuple[int, ...], Row], Row] = {}

    def rows() -> list[Row]:
        found: list[Row] = []
        for start in range(0, len(a.which), max(height, 1)):
            block = a.which[start : start + height]
            for column in zip(*a.rows, strict=True):
                if (block, column) not in seen:
                    spend(len(seen) * height)
                    seen[block, column] = tuple(column[i] for i in block)
                found.append(seen[block, column])
        return found

    return of_rows((*a.shape[:-2], width, height), rows())


TRANSPOSE = Primitive(
    name="transpose",
    shape=shape,
    facts=facts,
    execute=execute,
    polynomial=lambda args, _shapes, _params: polynomial.distribute(args[0], polynomial.Map("transpose")),
    error=lipschitz(1),
)
