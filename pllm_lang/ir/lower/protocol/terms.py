"""Expressions of a narration, and the meanings of operators, as expressions of the prover.

Arithmetic is in one ring and never broadcasts. Every value carries its scale, the number of fraction bits: terms of
a sum have one scale, a product adds them, a shift takes some away; a literal and a value of a plain ring have none.
"""

from __future__ import annotations

import msgspec

from pllm_lang.catalog.expr import Apply, Attr, Expr, Ref
from pllm_lang.catalog.records import Format
from pllm_lang.ir import protocol as p
from pllm_lang.ir.lower.protocol.forms import FORMS, added_scales, same_number, same_scale, shape_text
from pllm_lang.ir.lower.protocol.setting import (
    FollowsError,
    MalformedError,
    Scope,
    Typed,
    number_of,
    shape_of,
    whole_number,
)
from pllm_lang.ir.lower.protocol.types import format_of, read_number
from pllm_lang.ir.walk import references

MAX_POWER = 8
BROADCASTS = ("row_broadcast", "col_broadcast")


def term(expr: Expr, scope: Scope, like: Typed | None = None) -> Typed:
    """The expression as a typed term; a literal takes number and shape of `like`, the value beside it."""
    name = variable_name(expr)
    if name in scope.values:
        return scope.values[name]
    if _is_literal(expr, scope):
        return _literal(expr, scope, like)
    if isinstance(expr, Apply):
        return _applied(expr, scope, like)
    if name in scope.lost:
        raise FollowsError("", "")
    if name in scope.keys:
        raise MalformedError("protocol.malformed", f"the key `{name}` is used as a number")
    if name:
        raise MalformedError("protocol.malformed", f"nobody has a value `{name}` before this line")
    raise MalformedError("protocol.malformed", "a protocol line cannot compute this")


def variable_name(expr: Expr) -> str:
    """`x` or `x.p0`; "" for anything else."""
    match expr:
        case Ref(name=name):
            return name
        case Attr(base=Ref(name=value), name=piece):
            return f"{value}.{piece}"
        case _:
            return ""


def _is_literal(expr: Expr, scope: Scope) -> bool:
    """Whether it is a number known before the run: no value of a party in it."""
    return not any(name in scope.values for name in references(expr)) and number_of(expr, scope) is not None


def _literal(expr: Expr, scope: Scope, like: Typed | None) -> Typed:
    """A number of a protocol line counts in the ring's units; one of a meaning is a real number, so it has the scale
    of the value beside it."""
    scaled = scope.in_meaning and like is not None and like.scale
    value = _on_grid(expr, like.scale or 0, scope) if like is not None and scaled else None
    if value is None:
        value = whole_number(expr, "a number in a protocol", scope)
    if like is None:
        raise MalformedError(
            "protocol.malformed", f"the number {value} stands alone, so nothing gives it a type"
        )
    return Typed(p.Const(value, like.type), like.number, like.shape, like.scale if scaled else None)


def _on_grid(expr: Expr, scale: int, scope: Scope) -> int:
    value = number_of(expr, scope)
    raw = None if value is None else value * 2**scale
    if raw is None or raw != int(raw):
        raise MalformedError("protocol.malformed", f"this is no number with {scale} fraction bits")
    return int(raw)


def _applied(expr: Apply, scope: Scope, like: Typed | None) -> Typed:
    name = expr.fn.rsplit(".", 1)[-1]
    if name in ("+", "-") and len(expr.args) == 2:
        return _sum(expr, scope, like)
    if name == "-" and len(expr.args) == 1:
        arg = term(expr.args[0], scope, like)
        return Typed(p.Scale(-1, arg.expr), arg.number, arg.shape, arg.scale)
    if name == "*" and len(expr.args) == 2:
        return _product(expr, scope, like)
    if name == "^" and len(expr.args) == 2:
        return _power(expr, scope)
    if name in FORMS:
        return _form(name, expr, scope)
    if name == "encode":
        return _encoded(expr, scope)
    if name in ("encrypt", "decrypt"):
        return _keyed(expr, scope)
    if scope.operator is not None and name == scope.operator.name:
        return opaque(tuple(term(arg, scope) for arg in expr.args), scope)
    if name in BROADCASTS:
        text = (
            f"`{name}` takes one value, and its shape from the value that it is added to or multiplied with"
        )
        raise MalformedError("protocol.malformed", text, f"write it beside that value: `x + {name}(v)`")
    known = ", ".join(sorted({*FORMS, *BROADCASTS, "encode", "encrypt", "decrypt"}))
    text = f"a protocol line cannot compute `{name}`"
    raise MalformedError("protocol.malformed", text, f"it can use + - * ^, {known}")


def _form(name: str, expr: Apply, scope: Scope) -> Typed:
    form = FORMS[name]
    count = len(expr.args)
    if count != form.values + form.others and not (form.values < 0 and count):
        takes = form.values + form.others
        text = f"`{name}` takes {takes} argument{'s' if takes != 1 else ''}, not {count}"
        raise MalformedError("protocol.malformed", text)
    values = expr.args if form.values < 0 else expr.args[: form.values]
    return form.make([term(arg, scope) for arg in values], expr, scope)


# ---- arithmetic ----
def _sum(expr: Apply, scope: Scope, like: Typed | None) -> Typed:
    left, right = _pair(expr, scope, like)
    scale = same_scale(left, right, "adds")
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
    same_number(left, right)
    if left.shape != right.shape:
        text = f"shapes {shape_text(left.shape)} and {shape_text(right.shape)} differ; arithmetic never broadcasts"
        raise MalformedError("protocol.malformed", text)
    return left, right


def _waits(expr: Expr, scope: Scope) -> bool:
    return _is_literal(expr, scope) or (
        isinstance(expr, Apply) and expr.fn in BROADCASTS and len(expr.args) == 1
    )


def _beside(expr: Expr, other: Typed, scope: Scope) -> Typed:
    if isinstance(expr, Apply) and expr.fn in BROADCASTS and len(expr.args) == 1:
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


def _product(expr: Apply, scope: Scope, like: Typed | None) -> Typed:
    first, second = expr.args
    for literal, other in ((first, second), (second, first)):
        if _is_literal(literal, scope) and not _is_literal(other, scope):
            value, arg = whole_number(literal, "a factor", scope), term(other, scope, like)
            return Typed(p.Scale(value, arg.expr), arg.number, arg.shape, arg.scale)
    left, right = _pair(expr, scope, like)
    return Typed(p.Mul(left.expr, right.expr), left.number, left.shape, added_scales(left, right))


def _power(expr: Apply, scope: Scope) -> Typed:
    base, exponent = term(expr.args[0], scope), whole_number(expr.args[1], "an exponent", scope)
    if not 1 <= exponent <= MAX_POWER:
        raise MalformedError("protocol.malformed", f"a power is 1 to {MAX_POWER} here, not {exponent}")
    found = base.expr
    for _ in range(exponent - 1):
        found = p.Mul(found, base.expr)
    return Typed(found, base.number, base.shape, None if base.scale is None else base.scale * exponent)


# ---- constants, keys, the operator as a whole ----
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


def _keyed(expr: Apply, scope: Scope) -> Typed:
    """`encrypt(key, m)`, `decrypt(key, c)`: known by name, and only to whoever holds the key."""
    match expr.args:
        case (Ref(name=key), value) if key in scope.keys:
            arg = term(value, scope)
            return Typed(p.Call(expr.fn, (arg.expr,), arg.type, (key,)), arg.number, arg.shape, arg.scale)
        case _:
            text = f"write `{expr.fn}(key, value)` with a key that is drawn here"
            raise MalformedError("protocol.malformed", text)


def opaque(args: tuple[Typed, ...], scope: Scope) -> Typed:
    """The operator as a primitive computes it: equal operands, formats and parameters give equal results."""
    assert scope.operator is not None
    if len(scope.text.outputs) != 1:
        text = f"`{scope.operator.name}` has several results, so a line cannot name it as a whole"
        raise MalformedError("protocol.malformed", text, "write out how each result is computed")
    spec = scope.text.outputs[0]
    number, scale = read_number(spec.format, scope)
    shape = shape_of(spec.shape, scope)
    formats = {name: _spelt(format_) for name, format_ in scope.formats.items()}
    words = {name: _quoted(word) for name, word in scope.words.items()}
    params = ", ".join(f"{n}={v}" for n, v in sorted({**scope.exact, **words, **formats}.items()))
    own = scope.operator.module.startswith("std.")
    name = scope.operator.name if own else f"{scope.operator.module}.{scope.operator.name}"
    name = f"{name}[{params}]" if params else name
    return Typed(
        p.Call(name, tuple(arg.expr for arg in args), p.TensorType(number, shape)), number, shape, scale
    )


def _spelt(format_: Format) -> str:
    """A format by what it holds: two files may call two formats alike."""
    range_ = f"({format_.low}..{format_.high})" if format_.low or format_.high else ""
    grid = f"/2^{format_.frac}" if format_.frac else ""
    ring = f" mod {format_.modulus}" if format_.modulus else ""
    scale = f" by {format_.scale}" if format_.scale else ""
    return f"{format_.kind}{format_.bits or ''}{range_}{grid}{ring}{scale}"


def _quoted(word: str) -> str:
    """A word as it is; what could be read as more than one is quoted."""
    return word if word.replace("_", "").replace(".", "").isalnum() else msgspec.json.encode(word).decode()
