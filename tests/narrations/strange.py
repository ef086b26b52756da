"""Narrations that nobody would write: lines with parts of other lines in them, in any order."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from msgspec.structs import replace

from pllm_lang.catalog.expr import Apply, Attr, Expr, Item, ListOf, Num, Ref, Text
from pllm_lang.catalog.records import Component, ProtocolLine
from pllm_lang.catalog.walk import walk

FORMS = (
    "+", "-", "*", "/", "^", "matmul", "transpose", "permute", "reshape", "slice", "concat", "sum", "row_sum", "cast",
    "shift", "encode", "raw", "bits", "encrypt", "decrypt", "row_broadcast", "col_broadcast", "outer", "prf", "ring",
    "uniform_int", "silu", "nonsense",
)  # fmt: skip
LEAVES: tuple[Expr, ...] = (
    Num("0"), Num("1"), Num("-3"), Num("1/2"), Num("1000000"), Text("x"), Ref("nobody"), Ref("bits"), Ref("key"),
    Ref("F"), ListOf((Num("1"), Num("0"))), ListOf(()), Attr(Ref("x"), "p0"), Item(Ref("x"), (Num("0"),)),
)  # fmt: skip


def strange(component: Component, rng: Random) -> Component:
    """A copy with a few lines changed, moved or doubled."""
    text = component.protocol
    assert text is not None
    parts = [part for line in (*text.offline, *text.online) for expr in line.exprs for part in walk(expr)]
    parts += [Ref(spec.name) for spec in (*text.inputs, *text.outputs)]
    offline = tuple(_lines(text.offline, parts, component, rng))
    online = tuple(_lines(text.online, parts, component, rng))
    return replace(component, protocol=replace(text, offline=offline, online=online))


def _lines(
    lines: tuple[ProtocolLine, ...], parts: list[Expr], component: Component, rng: Random
) -> Iterator[ProtocolLine]:
    for line in lines:
        change = rng.random()
        if change < 0.1:
            yield line
            yield line
        elif change < 0.3 and line.exprs:
            place = rng.randrange(len(line.exprs))
            exprs = (*line.exprs[:place], _expr(parts, rng, 3), *line.exprs[place + 1 :])
            yield replace(line, exprs=exprs)
        elif change < 0.4 and component.roles and line.parties:
            yield replace(line, parties=(*line.parties[:-1], rng.choice(component.roles)))
        else:
            yield line


def _expr(parts: list[Expr], rng: Random, depth: int) -> Expr:
    if depth == 0 or rng.random() < 0.3:
        return rng.choice((*parts, *LEAVES))
    args = tuple(_expr(parts, rng, depth - 1) for _ in range(rng.choice((0, 1, 1, 2, 2, 2, 3))))
    named = (("axis", _expr(parts, rng, 0)), ("order", _expr(parts, rng, 0))) if rng.random() < 0.3 else ()
    return Apply(rng.choice(FORMS), args, named)
