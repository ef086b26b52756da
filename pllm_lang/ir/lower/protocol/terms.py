"""Expressions of a narration, and the meanings of operators, as expressions of the prover.

Arithmetic is in one ring and never broadcasts. Every value carries its scale, the number of fraction bits: terms of
a sum have one scale, a product adds them, a shift takes some away; a literal and a value of a plain ring have none.
"""

from __future__ import annotations

from collections.abc import Callable

from pllm_lang.catalog.expr import Apply, Attr, Expr, ListOf, Num, Ref
from pllm_lang.ir import protocol as p
from pllm_lang.ir.lower.protocol.setting import (
    FollowsError,
    MalformedError,
    Scope,
    Typed,
    number_of,
    product,
    shape_of,
    size_of,
    whole_number,
)
from pllm_lang.ir.lower.protocol.types import format_of, read_number
from pllm_lang.ir.walk import references

MAX_POWER = 8

Lookup = Callable[[str], Typed]


def term(expr: Expr, scope: Scope, like: Typed | None = None) -> Typed:
    """The expression as a typed term; a literal takes number and shape of `like`, the value beside it."""
    match expr:
        case Ref() if expr.name in scope.values:
            return scope.values[expr.name]
        case Attr(base=Ref()) if f"{expr.base.name}.{expr.name}" in scope.values:
            return scope.values[f"{expr.base.name}.{expr.name}"]
        case _ if _is_literal(expr, scope):
            return _literal(expr, scope, like)
        case Apply():
            return _applied(expr, scope, like)
        case Attr(base=Ref()):
            raise MalformedError("protocol.malformed", f"there is no piece `{expr.base.name}.{expr.name}`")
        case Ref():
            if expr.name in scope.lost:
                raise FollowsError("", "")
            if expr.name in scope.keys:
                raise MalformedError("protocol.malformed", f"the key `{expr.name}` is used as a number")
            raise MalformedError("protocol.malformed", f"nobody has a value `{expr.name}` before this line")
        case _:
            raise MalformedError("protocol.malformed", "a protocol line cannot compute this")


def _is_literal(expr: Expr, scope: Scope) -> bool:
    """Whether it is a number known before the run: no value of a party in it."""
    return not any(name in scope.values for name in references(expr)) and number_of(expr, scope) is not None


def _literal(expr: Expr, scope: Scope, like: Typed | None) -> Typed:
    value = whole_number(expr, "a number in a protocol", scope)
    if like is None:
        raise MalformedError(
            "protocol.malformed", f"the number {value} stands alone, so nothing gives it a type"
        )
    return Typed(p.Const(value, like.type), like.number, like.shape, None)


def _applied(expr: Apply, scope: Scope, like: Typed | None) -> Typed:
    name = expr.fn.rsplit(".", 1)[-1]
    if name in ("+", "-") and len(expr.args) == 2:
        return _sum(expr, scope, like)
    if name == "-" and len(expr.args) == 1:
        arg = term(expr.args[0], scope, like)
        return Typed(p.Scale(-1, arg.expr), arg.number, arg.shape, arg.scale)
    if name == "*":
        return _product(expr, scope, like)
    if name == "^":
        return _power(expr, scope)
    form = FORMS.get(name)
    if form is not None:
        return form(expr, scope)
    if scope.operator is not None and name == scope.operator.name:
        return _as_a_whole(expr, scope)
    known = ", ".join(sorted(FORMS))
    raise MalformedError(
        "protocol.malformed", f"a protocol line cannot compute `{name}`", f"it can use + - * ^, {known}"
    )


# ---- arithmetic ----
def _sum(expr: Apply, scope: Scope, like: Typed | None) -> Typed:
    left, right = _pair(expr, scope, like)
    scale = _same_scale(left, right, "adds")
    minus = p.Scale(-1, right.expr) if expr.fn.endswith("-") else right.expr
    terms = (*(left.expr.terms if isinstance(left.expr, p.Add) else (left.expr,)), minus)
    return Typed(p.Add(terms), left.number, left.shape, scale)


def _pair(expr: Apply, scope: Scope, like: Typed | None) -> tuple[Typed, Typed]:
    """Both operands; a literal or a broadcast takes the shape of the other."""
    first, second = expr.args
    if _waits(first, scope):
        right = term(second, scope, like)
        left = _beside(first, right, scope)
    else:
        left = term(first, scope, like)
        right = _beside(second, left, scope)
    if left.number != right.number:
        text = f"{_number_text(left.number)} and {_number_text(right.number)} do not mix"
        raise MalformedError("protocol.malformed", text, "cast one of them: `cast(m, ring(64))`")
    if left.shape != right.shape:
        text = f"shapes {_shape_text(left.shape)} and {_shape_text(right.shape)} differ; arithmetic never broadcasts"
        raise MalformedError("protocol.malformed", text)
    return left, right


def _waits(expr: Expr, scope: Scope) -> bool:
    return _is_literal(expr, scope) or (
        isinstance(expr, Apply) and expr.fn in ("row_broadcast", "col_broadcast")
    )


def _beside(expr: Expr, other: Typed, scope: Scope) -> Typed:
    if isinstance(expr, Apply) and expr.fn in ("row_broadcast", "col_broadcast"):
        arg = term(expr.args[0], scope)
        missing = (
            other.shape[: len(other.shape) - len(arg.shape)]
            if expr.fn == "row_broadcast"
            else other.shape[-1:]
        )
        found = arg.expr
        for position, size in enumerate(missing):
            axis = position if expr.fn == "row_broadcast" else len(arg.shape)
            found = p.Broadcast(found, axis, size)
        shape = (*missing, *arg.shape) if expr.fn == "row_broadcast" else (*arg.shape, *missing)
        return Typed(found, arg.number, shape, arg.scale)
    return term(expr, scope, other)


def _same_scale(left: Typed, right: Typed, what: str) -> int | None:
    if left.scale is not None and right.scale is not None and left.scale != right.scale:
        text = f"this line {what} a value with {left.scale} fraction bits and one with {right.scale}"
        raise MalformedError(
            "protocol.scale", text, "shift one of them, or encode the constant with the other's fraction bits"
        )
    return right.scale if left.scale is None else left.scale


def _product(expr: Apply, scope: Scope, like: Typed | None) -> Typed:
    first, second = expr.args
    for literal, other in ((first, second), (second, first)):
        if _is_literal(literal, scope) and not _is_literal(other, scope):
            value, arg = whole_number(literal, "a factor", scope), term(other, scope, like)
            return Typed(p.Scale(value, arg.expr), arg.number, arg.shape, arg.scale)
    left, right = _pair(expr, scope, like)
    return Typed(p.Mul(left.expr, right.expr), left.number, left.shape, _added(left, right))


def _added(left: Typed, right: Typed) -> int | None:
    return None if left.scale is None and right.scale is None else (left.scale or 0) + (right.scale or 0)


def _power(expr: Apply, scope: Scope) -> Typed:
    base, exponent = term(expr.args[0], scope), whole_number(expr.args[1], "an exponent", scope)
    if not 1 <= exponent <= MAX_POWER:
        raise MalformedError("protocol.malformed", f"a power is 1 to {MAX_POWER} here, not {exponent}")
    found = base.expr
    for _ in range(exponent - 1):
        found = p.Mul(found, base.expr)
    return Typed(found, base.number, base.shape, None if base.scale is None else base.scale * exponent)


# ---- forms ----
def _matmul(expr: Apply, scope: Scope) -> Typed:
    left, right = (term(arg, scope) for arg in expr.args)
    if left.number != right.number:
        text = f"{_number_text(left.number)} and {_number_text(right.number)} do not mix"
        raise MalformedError("protocol.malformed", text, "cast one of them: `cast(m, ring(64))`")
    inner = len(left.shape) >= 2 and len(right.shape) >= 2 and left.shape[-1] == right.shape[-2]
    if not inner or left.shape[:-2] != right.shape[:-2]:
        text = f"a product of {_shape_text(left.shape)} by {_shape_text(right.shape)} does not fit"
        raise MalformedError("protocol.malformed", text)
    shape = (*left.shape[:-1], right.shape[-1])
    return Typed(p.MatMul(left.expr, right.expr), left.number, shape, _added(left, right))


def _transpose(expr: Apply, scope: Scope) -> Typed:
    arg = term(expr.args[0], scope)
    if len(arg.shape) < 2:
        raise MalformedError("protocol.malformed", "a transpose needs two axes")
    shape = (*arg.shape[:-2], arg.shape[-1], arg.shape[-2])
    return Typed(p.Transpose(arg.expr), arg.number, shape, arg.scale)


def _permute(expr: Apply, scope: Scope) -> Typed:
    arg, order = term(expr.args[0], scope), _numbers(dict(expr.named).get("order"), "order", scope)
    if sorted(order) != list(range(len(arg.shape))):
        raise MalformedError("protocol.malformed", f"`order` names each of the {len(arg.shape)} axes once")
    return Typed(
        p.Transpose(arg.expr, tuple(order)), arg.number, tuple(arg.shape[a] for a in order), arg.scale
    )


def _reshape(expr: Apply, scope: Scope) -> Typed:
    arg, wanted = term(expr.args[0], scope), dict(expr.named).get("shape")
    if not isinstance(wanted, ListOf):
        raise MalformedError("protocol.malformed", "write the shape as a list: `reshape(x, shape: [m, n])`")
    shape = tuple(size_of(item, scope) for item in wanted.items)
    if product(shape) != product(arg.shape):
        raise MalformedError(
            "protocol.malformed", f"{_shape_text(arg.shape)} has other entries than {_shape_text(shape)}"
        )
    return Typed(p.Reshape(arg.expr, shape), arg.number, shape, arg.scale)


def _slice(expr: Apply, scope: Scope) -> Typed:
    arg, named = term(expr.args[0], scope), dict(expr.named)
    axis = _axis(named.get("axis", Num("-1")), len(arg.shape), scope)
    start = whole_number(named.get("from", named.get("start", Num("0"))), "where a slice begins", scope)
    stop = whole_number(named.get("to", named.get("stop", Num("0"))), "where a slice ends", scope)
    size = arg.shape[axis]
    if not 0 <= start < stop or (isinstance(size, int) and stop > size):
        raise MalformedError("protocol.malformed", f"the slice {start} to {stop} leaves an axis of {size}")
    shape = (*arg.shape[:axis], stop - start, *arg.shape[axis + 1 :])
    return Typed(p.Slice(arg.expr, axis, start, stop), arg.number, shape, arg.scale)


def _concat(expr: Apply, scope: Scope) -> Typed:
    args = [term(arg, scope) for arg in expr.args]
    axis = _axis(dict(expr.named).get("axis", Num("-1")), len(args[0].shape), scope)
    sizes = [arg.shape[axis] for arg in args]
    rest = {(*arg.shape[:axis], *arg.shape[axis + 1 :]) for arg in args}
    if len(rest) > 1 or not all(isinstance(size, int) for size in sizes):
        raise MalformedError(
            "protocol.malformed", "parts of a `concat` agree in every other axis, and their sizes are numbers"
        )
    total = sum(size for size in sizes if isinstance(size, int))
    scale = args[0].scale
    for other in args[1:]:
        scale = _same_scale(args[0], other, "joins")
    shape = (*args[0].shape[:axis], total, *args[0].shape[axis + 1 :])
    return Typed(p.Concat(tuple(arg.expr for arg in args), axis), args[0].number, shape, scale)


def _total(expr: Apply, scope: Scope) -> Typed:
    arg = term(expr.args[0], scope)
    found = arg.expr
    for axis in reversed(range(len(arg.shape))):
        found = p.Sum(found, axis)
    return Typed(found, arg.number, (), arg.scale)


def _row_sum(expr: Apply, scope: Scope) -> Typed:
    arg = term(expr.args[0], scope)
    if not arg.shape:
        raise MalformedError("protocol.malformed", "a row needs an axis")
    return Typed(p.Sum(arg.expr, len(arg.shape) - 1), arg.number, arg.shape[:-1], arg.scale)


def _cast(expr: Apply, scope: Scope) -> Typed:
    arg = term(expr.args[0], scope)
    if len(expr.args) != 2:
        raise MalformedError("protocol.malformed", "write the ring: `cast(m, ring(64))`")
    number, scale = read_number(expr.args[1], scope)
    return Typed(p.Cast(arg.expr, number), number, arg.shape, arg.scale if scale is None else scale)


def _shift(expr: Apply, scope: Scope) -> Typed:
    arg = term(expr.args[0], scope)
    bits = whole_number(expr.args[1], "a shift", scope)
    if bits < 0:
        raise MalformedError("protocol.malformed", f"a value is shifted by at least 0 bits, not by {bits}")
    signed = dict(expr.named).get("signed") == Ref("true")
    return Typed(
        p.Shift(arg.expr, bits, signed),
        arg.number,
        arg.shape,
        None if arg.scale is None else arg.scale - bits,
    )


def _encoded(expr: Apply, scope: Scope) -> Typed:
    """`encode(3, fx64_16, x)`: the number 3 in a format, in the shape of `x`."""
    if len(expr.args) != 3:
        raise MalformedError(
            "protocol.malformed", "write `encode(number, format, x)`, where `x` gives the shape"
        )
    value, format_, like = (
        number_of(expr.args[0], scope),
        format_of(expr.args[1], scope),
        term(expr.args[2], scope),
    )
    raw = None if value is None else value * 2**format_.frac
    if raw is None or raw != int(raw):
        raise MalformedError("protocol.malformed", f"this is no number on the grid of `{format_.name}`")
    return Typed(p.Const(int(raw), like.type), like.number, like.shape, format_.frac)


def _raw(expr: Apply, scope: Scope) -> Typed:
    return term(expr.args[0], scope)


def _keyed(expr: Apply, scope: Scope) -> Typed:
    """`encrypt(key, m)`, `decrypt(key, c)`: known by name, and only to whoever holds the key."""
    key, arg = expr.args[0], term(expr.args[-1], scope)
    if len(expr.args) != 2 or not isinstance(key, Ref) or key.name not in scope.keys:
        raise MalformedError(
            "protocol.malformed", f"write `{expr.fn}(key, value)` with a key that is drawn here"
        )
    return Typed(p.Call(expr.fn, (arg.expr,), arg.type, (key.name,)), arg.number, arg.shape, arg.scale)


def _bits(expr: Apply, scope: Scope) -> Typed:
    """The bits of a residue, along a new last axis."""
    return bits_of(term(expr.args[0], scope))


def bits_of(arg: Typed) -> Typed:
    type_ = bit_type(arg.type)
    return Typed(p.Call("bits", (arg.expr,), type_), type_.number, type_.shape)


def bit_type(type_: p.TensorType) -> p.TensorType:
    """The type of the bits of a residue."""
    if not isinstance(type_.number, p.Ring):
        raise MalformedError("protocol.malformed", "only residues of a ring have bits here")
    return p.TensorType(p.Ring(2), (*type_.shape, (type_.number.modulus - 1).bit_length()))


def _as_a_whole(expr: Apply, scope: Scope) -> Typed:
    """The operator itself, as a primitive computes it: equal operands give equal results."""
    args = tuple(term(arg, scope) for arg in expr.args)
    return opaque(args, scope)


def opaque(args: tuple[Typed, ...], scope: Scope) -> Typed:
    assert scope.operator is not None
    spec = scope.text.outputs[0]
    number, scale = read_number(spec.format, scope)
    shape = shape_of(spec.shape, scope)
    name = ", ".join(
        [scope.operator.name, *(f"{n}={v}" for n, v in sorted({**scope.exact, **scope.words}.items()))]
    )
    return Typed(
        p.Call(name, tuple(arg.expr for arg in args), p.TensorType(number, shape)), number, shape, scale
    )


FORMS: dict[str, Callable[[Apply, Scope], Typed]] = {
    "matmul": _matmul,
    "transpose": _transpose,
    "permute": _permute,
    "reshape": _reshape,
    "slice": _slice,
    "concat": _concat,
    "sum": _total,
    "row_sum": _row_sum,
    "cast": _cast,
    "shift": _shift,
    "encode": _encoded,
    "raw": _raw,
    "bits": _bits,
    "encrypt": _keyed,
    "decrypt": _keyed,
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


def _number_text(number: p.Number) -> str:
    return (
        f"residues modulo {number.modulus}"
        if isinstance(number, p.Ring)
        else f"integers of {number.bits} bits"
    )


def _shape_text(shape: tuple[p.Dim, ...]) -> str:
    return "[" + ", ".join(map(str, shape)) + "]"
