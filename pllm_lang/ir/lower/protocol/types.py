"""Formats of a narration as numbers of the prover: residues of a ring, or exact integers.

A value of a format in a ring is its raw residue, with the format's fraction bits as its scale. A whole number
(`int8`, an index) is embedded in the component's carrier where it has one: entering a carrier is the canonical
embedding. A bit is a residue modulo 2, a label of k bits one modulo 2^k.
"""

from __future__ import annotations

from pllm_lang.catalog.expr import Apply, Expr, Item, Num, Ref
from pllm_lang.catalog.formats import STANDARD
from pllm_lang.catalog.read.format import BadFormat, make_format
from pllm_lang.catalog.records import Format
from pllm_lang.ir import protocol as p
from pllm_lang.ir.lower.protocol.setting import MalformedError, Scope, number_of, shape_of, whole_number

UNBOUNDED_INDEX_BITS = 63
"""Bits of an index whose format states no bounds."""


def read_type(expr: Expr, scope: Scope) -> tuple[p.TensorType, int | None]:
    """`ring(64)[m, k]`, `F[...s]`, `uniform_int(40)[n]`: number type, shape and scale."""
    base, items = (expr.base, expr.items) if isinstance(expr, Item) else (expr, ())
    number, scale = read_number(base, scope)
    return p.TensorType(number, shape_of(items, scope)), scale


def read_number(expr: Expr, scope: Scope) -> tuple[p.Number, int | None]:
    if isinstance(expr, Apply) and expr.fn == "uniform_int" and len(expr.args) == 1:
        return p.Integer(whole_number(expr.args[0], "the width of a mask", scope)), None
    return number_of_format(format_of(expr, scope), scope)


def format_of(expr: Expr, scope: Scope) -> Format:
    """The format that an expression names or makes, parameters put in."""
    if isinstance(expr, Ref):
        found = scope.formats.get(expr.name) or scope.library.format(expr.name) or STANDARD.get(expr.name)
        if found is not None:
            return found
        raise MalformedError("protocol.malformed", f"`{expr.name}` is no format that is known here")
    try:
        return make_format("", _filled(expr, scope))
    except BadFormat as problem:
        raise MalformedError("protocol.malformed", str(problem)) from None


def _filled(expr: Expr, scope: Scope) -> Expr:
    """A constructor with its arguments as numbers, where they are known."""
    if not isinstance(expr, Apply):
        return expr

    def number(arg: Expr) -> Expr:
        known = number_of(arg, scope)
        return arg if known is None else Num(str(known))

    return Apply(
        expr.fn, tuple(map(number, expr.args)), tuple((name, number(arg)) for name, arg in expr.named)
    )


def number_of_format(format_: Format, scope: Scope) -> tuple[p.Number, int | None]:
    if format_.modulus:
        return p.Ring(int(format_.modulus)), format_.frac if format_.kind == "fixed" else None
    match format_.kind:
        case "boolean":
            return p.Ring(2), None
        case "index" if not format_.low:
            return p.Integer(UNBOUNDED_INDEX_BITS), None
        case "label" if format_.bits:
            return p.Ring(1 << format_.bits), None
        case "int" | "index" | "fixed" if scope.component.carrier is not None:
            number, _ = number_of_format(format_of(_bare(scope.component.carrier), scope), scope)
            return number, format_.frac if format_.kind == "fixed" else None
        case "int" | "index" | "fixed" if format_.low and format_.high:
            magnitude = max(abs(int(format_.low)), abs(int(format_.high)))
            return p.Integer(max(1, magnitude.bit_length()), int(format_.low) < 0), format_.frac or None
        case _:
            name = format_.name or format_.kind
            text = f"`{name}` holds no residues or whole numbers, so a protocol cannot compute with it"
            raise MalformedError(
                "protocol.malformed", text, "quantize or encode the value before the protocol"
            )


def _bare(expr: Expr) -> Expr:
    return expr.base if isinstance(expr, Item) else expr
