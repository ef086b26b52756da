"""A meaning as a polynomial over whole tensors, by the polynomial columns of its primitives."""

from __future__ import annotations

from pllm_lang.catalog import polynomial
from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import exact_term, parameters, where_form
from pllm_lang.catalog.expr import Apply, Expr, Ref
from pllm_lang.catalog.forms import raw_form, simplify
from pllm_lang.catalog.names import is_tensor
from pllm_lang.catalog.polynomial import Polynomial
from pllm_lang.catalog.primitives.table import PRIMITIVES
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
    primitive, params = PRIMITIVES.get(expr.fn), parameters(expr, env)
    if primitive is None or primitive.polynomial is None or params is None:
        return None
    parts: list[Polynomial] = []
    shapes: list[Shape] = []
    for arg in expr.args:
        part, shape = expand(arg, env), meaning_shape(arg, env)
        if part is None or isinstance(shape, str):
            return None
        parts.append(part)
        shapes.append(shape)
    return primitive.polynomial(tuple(parts), tuple(shapes), params)


def _rewritten(expr: Apply, env: Env) -> Expr | None:
    if expr.fn == "raw":
        return raw_form(expr, env)
    return where_form(expr, env) if expr.fn == "where" else simplify(expr)
