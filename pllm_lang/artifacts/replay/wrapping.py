"""Replay: whether a ring gives a result whatever wraps on the way, or the record has to say what its component holds inside.

Sums and products modulo the ring's size are right if the result fits, although parts of them wrapped. That ends where a value
is rounded, compared or looked up: what is rounded must not have wrapped, and only an `intermediate` of the record says that.
In: a judged step under a component that states none. ReplayError where it has to.
"""

from __future__ import annotations

from fractions import Fraction

from pllm_lang.artifacts.replay import numbers as n
from pllm_lang.artifacts.replay import terms as t
from pllm_lang.artifacts.replay.refusal import need
from pllm_lang.artifacts.replay.terms import Names
from pllm_lang.artifacts.replay.walked import Judged
from pllm_lang.catalog.expr import Apply, Expr, ListOf, Num, Ref
from pllm_lang.catalog.records import Component, Format

MOVES = frozenset({"transpose", "permute", "reshape", "slice", "gather", "repeat", "raw"})
"""Entries as they are, elsewhere."""
SUMS = frozenset(
    {"+", "-", "*", "neg", "matmul", "outer", "sum", "row_sum", "concat", "row_broadcast", "col_broadcast"}
)
"""What a ring computes modulo its size."""


def says_enough(view: Judged, component: Component, where: str) -> None:
    if view.clear or component.intermediates:
        return
    for position, form in enumerate(view.forms):
        expr = _unrounded(view, position)
        right = _is_cut(expr, view.names) or _stays_right(view, component, expr, form)
        text = f"nothing says what `{component.name}` holds on the way to a result, so it may wrap"
        need(right, "certificate.bound", text, where)


def _stays_right(view: Judged, component: Component, expr: Expr | None, form: Format) -> bool:
    """A primitive does in its carrier what the operator means; on the grid, a ring does, and sums and products need none."""
    found = None if expr is None else t.value(expr, view.names)
    if found is None or not n.divides(t.step_of(form) or 1, found.unit):
        return bool(component.primitive) and component.carrier is not None
    in_ring = component.protocol is not None or component.carrier is not None
    return in_ring or (expr is not None and _is_whole(expr, view.names))


def _unrounded(view: Judged, position: int) -> Expr | None:
    """The meaning of a result before it is brought into its format."""
    expr = view.said.means.get(view.said.operator.results[position].name)
    while isinstance(expr, Apply) and expr.fn == "where" and len(expr.args) == 3:
        choice = None if t.of_entries(expr.args[0], view.names) else t.exact(expr.args[0], view.names)
        if choice is None:
            return expr
        expr = expr.args[1] if choice else expr.args[2]
    return expr.args[0] if isinstance(expr, Apply) and expr.fn == "nearest" and len(expr.args) == 2 else expr


def _is_cut(expr: Expr | None, names: Names) -> bool:
    """One operand as it is, moved, or without its last bits: it fits its own format and carrier."""
    match expr:
        case Ref(name=name):
            return name in names.facts
        case Apply(fn="/", args=(inner, by)):
            divisor = _whole_number(by, names) or 0
            return divisor > 0 and not divisor & (divisor - 1) and _is_cut(inner, names)
        case Apply(fn=fn, args=(inner, *_)) if fn in MOVES:
            return _is_cut(inner, names)
        case _:
            return False


def _whole_number(expr: Expr, names: Names) -> int | None:
    found = t.exact(expr, names)
    return int(found) if found is not None and found.denominator == 1 else None


def _are_whole(numbers: Expr | None, names: Names) -> bool:
    if isinstance(numbers, Ref):
        return all(one.denominator == 1 for one in names.lists.get(numbers.name, (Fraction(1, 2),)))
    return isinstance(numbers, ListOf) and all(_whole_number(one, names) is not None for one in numbers.items)


def _is_whole(expr: Expr, names: Names) -> bool:
    """Sums and products of operands and whole numbers."""
    match expr:
        case Ref(name=name) if name in names.facts:
            return True
        case Num() | Ref():
            return _whole_number(expr, names) is not None
        case Apply(fn="^", args=(base, by)):
            return _is_whole(base, names) and (_whole_number(by, names) or 0) > 0
        case Apply(fn="polynomial", args=(base,), named=named):
            return _is_whole(base, names) and _are_whole(dict(named).get("coefficients"), names)
        case Apply(fn=fn, args=args):
            if fn in MOVES:
                return bool(args) and _is_whole(args[0], names)
            return fn in SUMS and all(_is_whole(arg, names) for arg in args)
        case _:
            return False
