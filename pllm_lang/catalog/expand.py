"""A meaning as a polynomial over whole tensors, by the polynomial columns of its primitives."""

from __future__ import annotations

from pllm_lang.catalog import polynomial
from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import exact_term, lookup, where_form
from pllm_lang.catalog.expr import Apply, Expr, Ref
from pllm_lang.catalog.forms import raw_form, simplify
from pllm_lang.catalog.names import is_tensor
from pllm_lang.catalog.polynomial import Polynomial
from pllm_lang.catalog.shapes import meaning_shape
from pllm_lang.catalog.tensor import Shape


def expand(expr: Expr, env: Env) -> Polynomial | None:
    """The polynomial of `expr` in the tensors of `env`; None where something in it is none, or is not
    known."""
    if isinstance(expr, Ref) and expr.name in env.facts:
        return polynomial.variable(expr.name)
    if not isinstance(expr, Apply) or not is_tensor(expr, env):
        value = exact_term(expr, env)
        return None if value is None else polynomial.number(value)
    rewritten = _rewritten(expr, env)
    if rewritten is not expr:
        return None if rewritten is None else expand(rewritten, env)
    found = lookup(expr, env)
    if found is None or found[0].polynomial is None:
        return None
    parts: list[Polynomial] = []
    shapes: list[Shape] = []
    for arg in expr.args:
        part, shape = expand(arg, env), meaning_shape(arg, env)
        if part is None or isinstance(shape, str):
            return None
        parts.append(part)
        shapes.append(shape)
    return found[0].polynomial(tuple(parts), tuple(shapes), found[1])


def _rewritten(expr: Apply, env: Env) -> Expr | None:
    if expr.fn == "raw" and len(expr.args) == 1:
        return raw_form(expr, env)
    chooses = expr.fn == "where" and len(expr.args) == 3
    return where_form(expr, env) if chooses else simplify(expr)
