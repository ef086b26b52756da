"""Whether a ring gives a step's result whatever wraps on the way, or the component has to say what it holds inside.

A ring computes sums and products of raw values modulo its size: if such a result fits, it is right, although parts of it
may have wrapped. That ends where a value is rounded, compared or looked up: what is rounded must not have wrapped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import exact_term, tensor, where_form
from pllm_lang.catalog.expand import expand
from pllm_lang.catalog.expr import Apply, Expr
from pllm_lang.catalog.facts import Exact
from pllm_lang.catalog.formats import ulp
from pllm_lang.catalog.forms import format_of
from pllm_lang.catalog.polynomial import Leaf, Polynomial
from pllm_lang.catalog.records import Component, Format
from pllm_lang.exact.number import ratio
from pllm_lang.verify.stored import on_grid
from pllm_lang.verify.view import StepView


def rounds(view: StepView, position: int, format_: Format) -> bool:
    """Whether the exact result may lie between the numbers that are stored: those of its format, or of a ring."""
    expr = _unrounded(view, position)
    found = None if expr is None else tensor(expr, view.env)
    grids = (ulp(format_) or 1, *_rounded_to(view, position))
    return found is None or not all(on_grid(found.facts.unit, grid) for grid in grids)


def is_settled(view: StepView, component: Component, position: int, format_: Format) -> bool:
    """Whether no value inside the component can wrap unseen, for all that its record says without an `intermediate`."""
    expr = _unrounded(view, position)
    poly = None if expr is None else expand(expr, view.env)
    if expr is not None and _is_cut_operand(expr, view.env):
        return True  # the one value that is rounded is an operand, which fits its own format and carrier
    if rounds(view, position, format_):
        # a primitive does in its carrier what the operator means; any other text or method computes the product first
        return bool(component.primitive) and component.carrier is not None
    if poly is not None and _is_whole(poly):
        return True
    return component.protocol is not None or component.carrier is not None


def _unrounded(view: StepView, position: int) -> Expr | None:
    """The meaning of a result without its last rounding; None where the operator gives it none."""
    meaning = _meaning(view, position)
    return meaning.args[0] if meaning is not None and _is_nearest(meaning) else meaning


def _rounded_to(view: StepView, position: int) -> Iterator[Exact]:
    """The grid that the meaning itself rounds to, if it says one."""
    meaning = _meaning(view, position)
    if meaning is not None and _is_nearest(meaning):
        format_ = format_of(meaning.args[1], view.env)
        yield (None if format_ is None else ulp(format_)) or 1


def _meaning(view: StepView, position: int) -> Expr | None:
    name = view.operator.results[position].name
    meaning = next((clause.expr for clause in view.operator.means if clause.name == name), None)
    while isinstance(meaning, Apply) and meaning.fn == "where" and len(meaning.args) == 3:
        chosen = where_form(meaning, view.env)
        if chosen is meaning:
            break
        meaning = chosen
    return meaning


def _is_nearest(expr: Expr) -> TypeGuard[Apply]:
    return isinstance(expr, Apply) and expr.fn == "nearest" and len(expr.args) == 2


def _is_cut_operand(expr: Expr, env: Env) -> bool:
    """One operand as it is, moved, or without its last bits; a product by a fraction is more than that."""
    if isinstance(expr, Apply) and expr.fn == "/" and len(expr.args) == 2:
        divisor = exact_term(expr.args[1], env)
        return _is_power_of_two(divisor) and _is_cut_operand(expr.args[0], env)
    poly = expand(expr, env)
    if poly is None or len(poly.terms) != 1:
        return False
    monomial, coefficient = next(iter(poly.terms.items()))
    return len(monomial) == 1 and isinstance(monomial[0], Leaf) and coefficient == 1


def _is_power_of_two(value: Exact | None) -> bool:
    return isinstance(value, int) and value > 0 and value & (value - 1) == 0


def _is_whole(poly: Polynomial) -> bool:
    """Whether only whole numbers multiply the operands."""
    return all(ratio(c, 1).denominator == 1 for monomial, c in poly.terms.items() if monomial)
