"""What a result of a narration has to be: the operator's `means` over the operands, in the ring.

A meaning that is no polynomial (`silu`, a table) is the operator as a whole, so a text meets it only by naming the
operator, at a primitive that computes it. Where the record claims an error of at most one unit, fraction bits that
the meaning has more than the result are cut off, and a division by 2^k is a cut of k bits.
"""

from __future__ import annotations

from fractions import Fraction

import msgspec

from pllm_lang.catalog.apply import claim
from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import term as fact_term
from pllm_lang.catalog.expr import Apply, Expr, Ref
from pllm_lang.catalog.facts import Facts
from pllm_lang.catalog.records import Clause, Component, OperandSpec
from pllm_lang.ir import protocol as p
from pllm_lang.ir.lower.protocol.forms import bit_type, bits_of
from pllm_lang.ir.lower.protocol.setting import MalformedError, Scope, Typed, is_whole_power, number_of
from pllm_lang.ir.lower.protocol.terms import opaque, term
from pllm_lang.ir.lower.protocol.types import format_of


class Meaning(msgspec.Struct, frozen=True):
    """`scale` is the number of fraction bits that the result's residues have, None where nothing has any."""

    expr: p.Expr
    scale: int | None = None
    scale_bits: int = 0
    error: int = 0
    failure: int = 0


def meaning_of(spec: OperandSpec, type_: p.TensorType, scale: int | None, scope: Scope) -> Meaning | None:
    """None where nothing says what is to be computed; an operator without `means` is met only by naming it."""
    if scope.operator is None:
        return None
    clause = next((c for c in scope.operator.means if c.name == spec.name), None)
    found, bits = (_whole(scope), 0) if clause is None else _meant(clause.expr, scale, scope)
    cut = _cut(found, scale, bits, spec, scope)
    in_ring = isinstance(found.number, p.Ring) and found.number != type_.number
    if in_ring and type_ == bit_type(found.type):
        found = bits_of(found)
    expr = found.expr if found.number == type_.number else _in_ring(found, type_.number, spec.name)
    own = found.scale if scale is None else scale
    if not cut:
        return Meaning(expr, own)
    return Meaning(expr, own, cut, 1, failure_exponent(scope.component, scope))


def _in_ring(found: Typed, number: p.Number, result: str) -> p.Expr:
    """The meaning in the result's ring, where that is a homomorphism; a larger ring would need the sign."""
    if isinstance(found.number, p.Ring) and (
        not isinstance(number, p.Ring) or found.number.modulus % number.modulus
    ):
        text = f"`{result}` is in another ring than its operands, and residues do not carry over"
        raise MalformedError("protocol.malformed", text, "give the result in the ring of the operands")
    return p.Cast(found.expr, number)


def _meant(expr: Expr, scale: int | None, scope: Scope) -> tuple[Typed, int]:
    """The polynomial and the bits that a division cuts off, or the operator as a whole; `scale` is the result's."""
    scope.in_meaning = True
    try:
        return _polynomial(expr, scale, scope)
    except MalformedError:
        return _whole(scope), 0
    finally:
        scope.in_meaning = False


def _whole(scope: Scope) -> Typed:
    """The operator as a whole, of its operands."""
    assert scope.operator is not None
    return opaque(tuple(scope.values[spec.name] for spec in scope.operator.operands), scope)


def _polynomial(expr: Expr, scale: int | None, scope: Scope) -> tuple[Typed, int]:
    match expr:
        case Apply(fn="/", args=(value, by)):
            bits = None if (number := number_of(by, scope)) is None else is_whole_power(number)
            if bits is not None:
                return term(value, scope), bits
        case Apply(fn="nearest", args=(value, grid)):
            return _rounded(value, format_of(grid, scope).frac, scale, scope)
        case _:
            pass
    return term(expr, scope), 0


def _rounded(value: Expr, grid: int, scale: int | None, scope: Scope) -> tuple[Typed, int]:
    """The value itself, where what `nearest` rounds away is what the result has no bits for."""
    found, bits = _polynomial(value, scale, scope)
    if (found.scale or 0) + bits > grid and grid != (scale or 0):
        raise MalformedError("protocol.scale", f"the meaning is rounded to {grid} fraction bits on the way")
    return found, bits


def _cut(found: Typed, scale: int | None, bits: int, spec: OperandSpec, scope: Scope) -> int:
    surplus = 0 if found.scale is None or scale is None else found.scale - scale
    cut = surplus + bits
    if cut == 0 or (cut > 0 and _rounds(spec.name, scope)):
        return cut
    text = f"`{spec.name}` has {scale} fraction bits; what it should be has {(scale or 0) + cut}"
    raise MalformedError(
        "protocol.scale", text, f"cut the product, and say `ensures error({spec.name}) <= ulp({spec.name})`"
    )


def _rounds(result: str, scope: Scope) -> bool:
    """Whether a claim of at most one unit of error stands in the record."""
    own = scope.operator.ensures if scope.operator is not None else ()
    claims = (claim(clause) for clause in (*scope.component.ensures, *own))
    unit = Apply("ulp", (Ref(result),))
    return any(c is not None and c.slot == "error" and c.result == result and c.bound == unit for c in claims)


# ---- stated ranges ----
def range_bits(name: str, scale: int | None, component: Component, scope: Scope) -> int:
    """e where the record requires |raw(name)| < 2^e; 0 where it says nothing."""
    found = [
        _range_of(part, name, scale or 0, scope) for clause in component.requires for part in _parts(clause)
    ]
    return min((bits for bits in found if bits), default=0)


def _parts(clause: Clause) -> list[Expr]:
    todo, found = [clause.expr], list[Expr]()
    while todo:
        part = todo.pop()
        if isinstance(part, Apply) and part.fn == "and":
            todo += part.args
        else:
            found.append(part)
    return found


def _range_of(part: Expr, name: str, scale: int, scope: Scope) -> int:
    match part:
        case Apply(fn="<", args=(Apply(fn="max_abs", args=(what,)), limit)):
            pass
        case _:
            return 0
    raw = what == Apply("raw", (Ref(name),))
    value = number_of(limit, scope) if raw or what == Ref(name) else None
    bits = None if value is None else is_whole_power(value)
    return 0 if bits is None else max(1, bits + (0 if raw else scale))


def failure_exponent(component: Component, scope: Scope) -> int:
    """e where the record claims a failure probability of at most 2^-e an entry, whatever the values; 0 where it never fails.

    A claim that falls with the values was shown for the largest ones only.
    """
    if component.failure is None:
        return 0
    env = Env(exact=dict(scope.exact))
    for spec in (*scope.text.inputs, *scope.text.outputs):
        env.formats[spec.name] = format_of(spec.format, scope)
        env.facts[spec.name] = Facts()
        env.shapes[spec.name] = (1,)
    found = fact_term(component.failure, env)
    if found is None or not 0 < found.high < 1:
        return 0
    exponent = 0
    while Fraction(found.high) * 2 ** (exponent + 1) <= 1:
        exponent += 1
    return exponent
