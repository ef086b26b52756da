"""What a narration is lowered with, and the names met on the way.

A narration is written for any shape, any parameter and, where it says `F`, any format. A `Setting` says which ones
are meant: those of a step of a plan, or those that the check of a library takes as examples.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import msgspec

from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import exact_term
from pllm_lang.catalog.expr import NOWHERE, AnyRank, Apply, Expr, Num, Origin, Ref
from pllm_lang.catalog.facts import Exact
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.records import Component, Format, Operator, ProtocolText
from pllm_lang.ir import protocol as p
from pllm_lang.text.finding import Finding, Span, Verdict


class Setting(msgspec.Struct, frozen=True):
    """`formats`: of the operator's format variables and format parameters; `exact`: numeric parameters of operator
    and component; `shapes`: of operands, absent ones stay symbols; `words`: the other parameters; `scales`: fraction bits of
    operands and results in the plan, for a narration that calls them plain residues."""

    formats: tuple[tuple[str, Format], ...] = ()
    exact: tuple[tuple[str, Exact], ...] = ()
    shapes: tuple[tuple[str, tuple[p.Dim, ...]], ...] = ()
    words: tuple[tuple[str, str], ...] = ()
    scales: tuple[tuple[str, int], ...] = ()


class Typed(msgspec.Struct, frozen=True):
    """An expression with its type. `scale` is the number of fraction bits, None where the value has no scale."""

    expr: p.Expr
    number: p.Number
    shape: tuple[p.Dim, ...]
    scale: int | None = None

    @property
    def type(self) -> p.TensorType:
        return p.TensorType(self.number, self.shape)


class MalformedError(Exception):
    """A line that has no meaning: `code`, and the sentence for the finding."""

    def __init__(self, code: str, message: str, help_: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.help = code, message, help_


class FollowsError(MalformedError):
    """A line that uses what an earlier malformed line should have made; the earlier one was reported."""


class Scope:
    """Everything that lines refer to. `values` are variables by name, whoever holds them; `lost` are names that a
    malformed line should have made; `made` are the fraction bits of results; `in_meaning` while what the operator means
    is read, and no line."""

    def __init__(
        self,
        component: Component,
        operator: Operator | None,
        text: ProtocolText,
        library: Library,
        setting: Setting,
    ) -> None:
        self.component, self.operator, self.text, self.library = component, operator, text, library
        self.formats = dict(setting.formats)
        self.exact: dict[str, Exact] = dict(setting.exact)
        self.words = dict(setting.words)
        self.scales = dict(setting.scales)
        self.made: dict[str, int] = {}
        self.shapes = dict(setting.shapes)
        self.dims: dict[str, p.Dim] = {}
        self.spreads: dict[str, tuple[p.Dim, ...]] = {}
        self.values: dict[str, Typed] = {}
        self.keys: set[str] = set()
        self.lost: set[str] = set()
        self.in_meaning = False
        self.origins: list[Origin] = []
        self.findings: list[Finding] = []

    def origin(self, place: Origin) -> int:
        self.origins.append(place)
        return len(self.origins) - 1

    def report(self, problem: MalformedError, place: Origin) -> None:
        where = place if place != NOWHERE else self.component.origin
        span = Span(where.file, where.start, where.end)
        self.findings.append(
            Finding(problem.code, problem.message, span, verdict=Verdict.UNPROVED, help=problem.help)
        )


# ---- numbers and sizes ----
def number_of(expr: Expr, scope: Scope) -> Exact | None:
    """The value of an expression over parameters and concrete sizes; None for anything else."""
    sizes = {name: size for name, size in scope.dims.items() if isinstance(size, int)}
    return exact_term(expr, Env(exact={**sizes, **scope.exact}, formats=scope.formats))


def whole_number(expr: Expr, what: str, scope: Scope) -> int:
    found = number_of(expr, scope)
    if not isinstance(found, int):
        raise MalformedError("protocol.malformed", f"{what} has to be a whole number known before the run")
    return found


def bind_shape(pattern: tuple[Expr, ...], given: tuple[p.Dim, ...] | None, scope: Scope) -> None:
    """Names that stand alone in a shape take the operand's sizes, or become symbols."""
    if given is None:
        for dim in pattern:
            if isinstance(dim, AnyRank):
                scope.spreads.setdefault(dim.name, (dim.name,))
            elif isinstance(dim, Ref) and dim.name not in scope.exact:
                scope.dims.setdefault(dim.name, dim.name)
        return
    extra = len(given) - len(pattern)
    place = 0
    for dim in pattern:
        if isinstance(dim, AnyRank):
            scope.spreads.setdefault(dim.name, given[place : place + extra + 1])
            place += extra + 1
            continue
        if isinstance(dim, Ref) and place < len(given):
            scope.dims.setdefault(dim.name, given[place])
        place += 1


def shape_of(pattern: Iterable[Expr], scope: Scope) -> tuple[p.Dim, ...]:
    found: list[p.Dim] = []
    for dim in pattern:
        if isinstance(dim, AnyRank):
            if dim.name not in scope.spreads:
                raise MalformedError("protocol.malformed", f"no operand has the dimensions `...{dim.name}`")
            found += scope.spreads[dim.name]
        else:
            found.append(size_of(dim, scope))
    return tuple(found)


def size_of(expr: Expr, scope: Scope) -> p.Dim:
    """A size: a number, a symbol, or a product of them."""
    known = number_of(expr, scope)
    if known is not None:
        if not isinstance(known, int) or known < 1:
            raise MalformedError("protocol.malformed", f"a size is a whole number of at least 1, not {known}")
        return known
    match expr:
        case Ref() if expr.name in scope.dims:
            return scope.dims[expr.name]
        case Apply(fn="*", args=(left, right)):
            return product([size_of(left, scope), size_of(right, scope)])
        case _:
            name = expr.name if isinstance(expr, Ref) else "this size"
            raise MalformedError("protocol.malformed", f"`{name}` is no size that an operand has")


def product(dims: Iterable[p.Dim]) -> p.Dim:
    """The product of sizes, with the number in front and symbols in order."""
    factor, names = 1, list[str]()
    for dim in dims:
        if isinstance(dim, int):
            factor *= dim
            continue
        for part in dim.split("*"):
            if part.strip().isdigit():
                factor *= int(part)
            else:
                names.append(part.strip())
    if not names:
        return factor
    return "*".join([str(factor)] * (factor != 1) + sorted(names))


def is_whole_power(value: Exact) -> int | None:
    """k where the value is 2^k with k >= 0, else None."""
    number = Fraction(value)
    if number.denominator != 1 or number.numerator < 1 or number.numerator & (number.numerator - 1):
        return None
    return number.numerator.bit_length() - 1


def literal(value: Exact) -> Num:
    return Num(str(value))
