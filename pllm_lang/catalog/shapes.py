"""The shape of a meaning, by the shape columns of its primitives; and whether a clause has exact names
only."""

from __future__ import annotations

from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import SPECIAL, lookup, tensor, where_form
from pllm_lang.catalog.expr import Apply, Attr, Expr, Ref
from pllm_lang.catalog.forms import simplify
from pllm_lang.catalog.names import is_tensor
from pllm_lang.catalog.primitives.table import PRIMITIVES
from pllm_lang.catalog.tensor import Shape


def meaning_shape(expr: Expr, env: Env) -> Shape | str:
    """The shape of an expression over tensors, by the shape columns; a sentence where something does not
    fit."""
    if isinstance(expr, Ref | Attr):
        found = tensor(expr, env)
        return () if found is None else found.shape
    if not isinstance(expr, Apply) or not is_tensor(expr, env):
        return ()
    expr = simplify(expr)
    if (expr.fn, len(expr.args)) in SPECIAL:
        return _special_shape(expr, env)
    found = lookup(expr, env)
    if found is None:
        return (
            f"`{expr.fn}` is no primitive that takes these arguments, or one of its parameters is not known"
        )
    primitive, params = found
    shapes: list[Shape] = []
    for arg in expr.args:
        shape = meaning_shape(arg, env)
        if isinstance(shape, str):
            return shape
        shapes.append(shape)
    return primitive.shape(tuple(shapes), params)


def _special_shape(expr: Apply, env: Env) -> Shape | str:
    if expr.fn != "where":
        return meaning_shape(expr.args[0], env)
    chosen = where_form(expr, env)
    if chosen is not expr:
        return meaning_shape(chosen, env)
    shapes = [meaning_shape(arg, env) for arg in expr.args]
    problem = next((shape for shape in shapes if isinstance(shape, str)), None)
    known = tuple(shape for shape in shapes if not isinstance(shape, str))
    return problem or PRIMITIVES["where"].shape(known, {})
