"""Forms of a line that work on tensors: products, structural maps, casts, shifts.

A form gets its operands as typed terms, and its call for everything else (axes, shapes, bits). What does not fit raises
`MalformedError`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from pllm_lang.catalog.expr import Apply, Expr, ListOf, Num, Ref
from pllm_lang.ir import protocol as p
from pllm_lang.ir.lower.protocol.setting import MalformedError, Scope, Typed, product, size_of, whole_number
from pllm_lang.ir.lower.protocol.types import read_number

Make = Callable[[Sequence[Typed], Apply, Scope], Typed]


class Form(msgspec.Struct, frozen=True):
    """`values` operands come first (-1: any number, all operands), `others` arguments after them."""

    make: Make
    values: int
    others: int = 0


def same_number(left: Typed, right: Typed) -> None:
    if left.number != right.number:
        text = f"{number_text(left.number)} and {number_text(right.number)} do not mix"
        raise MalformedError("protocol.malformed", text, "cast one of them: `cast(m, ring(64))`")


def same_scale(left: Typed, right: Typed, what: str) -> int | None:
    if left.scale is not None and right.scale is not None and left.scale != right.scale:
        text = f"this line {what} a value with {left.scale} fraction bits and one with {right.scale}"
        help_ = "shift one of them, or encode the constant with the other's fraction bits"
        raise MalformedError("protocol.scale", text, help_)
    return right.scale if left.scale is None else left.scale


def added_scales(left: Typed, right: Typed) -> int | None:
    return None if left.scale is None and right.scale is None else (left.scale or 0) + (right.scale or 0)


def _matmul(args: Sequence[Typed], _: Apply, __: Scope) -> Typed:
    left, right = args
    same_number(left, right)
    ranks = len(left.shape) >= 2 and len(right.shape) >= 2
    inner = ranks and left.shape[-1:] == right.shape[-2:-1]
    if not inner or left.shape[:-2] != right.shape[:-2]:
        text = f"a product of {shape_text(left.shape)} by {shape_text(right.shape)} does not fit"
        raise MalformedError("protocol.malformed", text)
    shape = (*left.shape[:-1], *right.shape[-1:])
    return Typed(p.MatMul(left.expr, right.expr), left.number, shape, added_scales(left, right))


def _transpose(args: Sequence[Typed], _: Apply, __: Scope) -> Typed:
    arg = args[0]
    if len(arg.shape) < 2:
        raise MalformedError("protocol.malformed", "a transpose needs two axes")
    shape = (*arg.shape[:-2], arg.shape[-1], arg.shape[-2])
    return Typed(p.Transpose(arg.expr), arg.number, shape, arg.scale)


def _permute(args: Sequence[Typed], call: Apply, scope: Scope) -> Typed:
    arg, order = args[0], _numbers(dict(call.named).get("order"), "order", scope)
    if sorted(order) != list(range(len(arg.shape))):
        raise MalformedError("protocol.malformed", f"`order` names each of the {len(arg.shape)} axes once")
    shape = tuple(arg.shape[a] for a in order)
    return Typed(p.Transpose(arg.expr, tuple(order)), arg.number, shape, arg.scale)


def _reshape(args: Sequence[Typed], call: Apply, scope: Scope) -> Typed:
    arg, wanted = args[0], dict(call.named).get("shape")
    if not isinstance(wanted, ListOf):
        raise MalformedError("protocol.malformed", "write the shape as a list: `reshape(x, shape: [m, n])`")
    shape = tuple(size_of(item, scope) for item in wanted.items)
    if product(shape) != product(arg.shape):
        text = f"{shape_text(arg.shape)} has other entries than {shape_text(shape)}"
        raise MalformedError("protocol.malformed", text)
    return Typed(p.Reshape(arg.expr, shape), arg.number, shape, arg.scale)


def _slice(args: Sequence[Typed], call: Apply, scope: Scope) -> Typed:
    arg, named = args[0], dict(call.named)
    axis = _axis(named.get("axis", Num("-1")), len(arg.shape), scope)
    start = whole_number(named.get("from", named.get("start", Num("0"))), "where a slice begins", scope)
    stop = whole_number(named.get("to", named.get("stop", Num("0"))), "where a slice ends", scope)
    size = arg.shape[axis]
    if not 0 <= start < stop or not isinstance(size, int) or stop > size:
        raise MalformedError("protocol.malformed", f"the slice {start} to {stop} leaves an axis of {size}")
    shape = (*arg.shape[:axis], stop - start, *arg.shape[axis + 1 :])
    return Typed(p.Slice(arg.expr, axis, start, stop), arg.number, shape, arg.scale)


def _concat(args: Sequence[Typed], call: Apply, scope: Scope) -> Typed:
    first = args[0]
    axis = _axis(dict(call.named).get("axis", Num("-1")), len(first.shape), scope)
    if any(len(arg.shape) != len(first.shape) for arg in args):
        raise MalformedError("protocol.malformed", "parts of a `concat` have equally many axes")
    sizes = [size for arg in args if isinstance(size := arg.shape[axis], int)]
    rest = {(*arg.shape[:axis], *arg.shape[axis + 1 :]) for arg in args}
    if len(rest) > 1 or len(sizes) < len(args):
        text = "parts of a `concat` agree in every other axis, and their sizes are numbers"
        raise MalformedError("protocol.malformed", text)
    scale = first.scale
    for other in args[1:]:
        same_number(first, other)
        scale = same_scale(Typed(first.expr, first.number, first.shape, scale), other, "joins")
    shape = (*first.shape[:axis], sum(sizes), *first.shape[axis + 1 :])
    return Typed(p.Concat(tuple(arg.expr for arg in args), axis), first.number, shape, scale)


def _total(args: Sequence[Typed], _: Apply, __: Scope) -> Typed:
    found = args[0].expr
    for axis in reversed(range(len(args[0].shape))):
        found = p.Sum(found, axis)
    return Typed(found, args[0].number, (), args[0].scale)


def _row_sum(args: Sequence[Typed], _: Apply, __: Scope) -> Typed:
    arg = args[0]
    if not arg.shape:
        raise MalformedError("protocol.malformed", "a row needs an axis")
    return Typed(p.Sum(arg.expr, len(arg.shape) - 1), arg.number, arg.shape[:-1], arg.scale)


def _cast(args: Sequence[Typed], call: Apply, scope: Scope) -> Typed:
    number, scale = read_number(call.args[1], scope)
    arg = args[0]
    return Typed(p.Cast(arg.expr, number), number, arg.shape, arg.scale if scale is None else scale)


def _shift(args: Sequence[Typed], call: Apply, scope: Scope) -> Typed:
    arg, bits = args[0], whole_number(call.args[1], "a shift", scope)
    if bits < 0:
        text = f"a value is shifted by at least 0 bits, not by {bits}"
        raise MalformedError("protocol.malformed", text)
    signed = dict(call.named).get("signed") == Ref("true")
    scale = None if arg.scale is None else arg.scale - bits
    return Typed(p.Shift(arg.expr, bits, signed), arg.number, arg.shape, scale)


def _raw(args: Sequence[Typed], _: Apply, scope: Scope) -> Typed:
    """A line counts in residues anyway; in a meaning `raw(x)` is the whole number that stands for `x`."""
    arg = args[0]
    return Typed(arg.expr, arg.number, arg.shape, 0) if scope.in_meaning and arg.scale else arg


def _bits(args: Sequence[Typed], _: Apply, __: Scope) -> Typed:
    return bits_of(args[0])


def bits_of(arg: Typed) -> Typed:
    """The bits of a residue, along a new last axis."""
    type_ = bit_type(arg.type)
    return Typed(p.Call("bits", (arg.expr,), type_), type_.number, type_.shape)


def bit_type(type_: p.TensorType) -> p.TensorType:
    """The type of the bits of a residue."""
    if not isinstance(type_.number, p.Ring):
        raise MalformedError("protocol.malformed", "only residues of a ring have bits here")
    return p.TensorType(p.Ring(2), (*type_.shape, (type_.number.modulus - 1).bit_length()))


FORMS: dict[str, Form] = {
    "matmul": Form(_matmul, 2),
    "transpose": Form(_transpose, 1),
    "permute": Form(_permute, 1),
    "reshape": Form(_reshape, 1),
    "slice": Form(_slice, 1),
    "concat": Form(_concat, -1),
    "sum": Form(_total, 1),
    "row_sum": Form(_row_sum, 1),
    "cast": Form(_cast, 1, 1),
    "shift": Form(_shift, 1, 1),
    "raw": Form(_raw, 1),
    "bits": Form(_bits, 1),
}


def _numbers(expr: Expr | None, what: str, scope: Scope) -> list[int]:
    if not isinstance(expr, ListOf):
        raise MalformedError("protocol.malformed", f"`{what}` is a list of whole numbers")
    return [whole_number(item, f"`{what}`", scope) for item in expr.items]


def _axis(expr: Expr, rank: int, scope: Scope) -> int:
    axis = whole_number(expr, "an axis", scope)
    if not -rank <= axis < rank:
        raise MalformedError("protocol.malformed", f"there is no axis {axis} of {rank}")
    return axis % rank


def number_text(number: p.Number) -> str:
    if isinstance(number, p.Ring):
        return f"residues modulo {number.modulus}"
    return f"integers of {number.bits} bits"


def shape_text(shape: tuple[p.Dim, ...]) -> str:
    return "[" + ", ".join(map(str, shape)) + "]"
