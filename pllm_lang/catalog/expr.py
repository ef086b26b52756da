"""The one expression type of records, plans and protocols: span-free data.

Numbers are exact and written as strings (`"12"`, `"-1/128"`), so documents and digests never meet a float.
Operators are `Apply` of their symbol: `Apply("+", (a, b))`, `Apply("<=", (a, b))`, `Apply("not", (a,))`.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec


class Num(msgspec.Struct, frozen=True, gc=False, tag="num", array_like=True):
    """An exact rational, normalised: `"12"`, `"-1/128"`."""

    value: str


class Text(msgspec.Struct, frozen=True, gc=False, tag="text", array_like=True):
    value: str


class Ref(msgspec.Struct, frozen=True, gc=False, tag="ref", array_like=True):
    """A name: an operand, a shape variable, a parameter, a format, or a *word* (decided where it is used)."""

    name: str


class Apply(msgspec.Struct, frozen=True, gc=False, tag="apply", array_like=True):
    """A primitive, operator, format constructor or component with its arguments."""

    fn: str
    args: tuple[Expr, ...]
    named: tuple[tuple[str, Expr], ...] = ()


class Item(msgspec.Struct, frozen=True, gc=False, tag="item", array_like=True):
    """`base[items]`: a type with its shape, a member of a family, an entry."""

    base: Expr
    items: tuple[Expr, ...]


class Attr(msgspec.Struct, frozen=True, gc=False, tag="attr", array_like=True):
    """`w.scale`, `x.p0`."""

    base: Expr
    name: str


class ListOf(msgspec.Struct, frozen=True, gc=False, tag="list", array_like=True):
    items: tuple[Expr, ...]


class MapOf(msgspec.Struct, frozen=True, gc=False, tag="map", array_like=True):
    entries: tuple[tuple[str, Expr], ...]


class Between(msgspec.Struct, frozen=True, gc=False, tag="between", array_like=True):
    """`low..high` (closed) or `low..<high`."""

    low: Expr
    high: Expr
    closed: bool


class AnyRank(msgspec.Struct, frozen=True, gc=False, tag="rank", array_like=True):
    """`...s` in a shape: any number of dimensions, bound to `s`."""

    name: str


Expr: TypeAlias = Num | Text | Ref | Apply | Item | Attr | ListOf | MapOf | Between | AnyRank


class Origin(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Where a record or clause was written: file and absolute character offsets."""

    file: str
    start: int
    end: int


NOWHERE = Origin("", 0, 0)
