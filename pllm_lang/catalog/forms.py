"""Forms of clauses that are written with other primitives before anything evaluates them.

`raw(x)` and `nearest(x, F)` read a format; a product of a tensor with itself is its square. Facts,
execution and
shapes all see the result of these rewritings, so that they speak of the same expression.
"""

from __future__ import annotations

from pllm_lang.catalog import formats
from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.expr import Apply, Expr, Num, Ref
from pllm_lang.catalog.records import Format
from pllm_lang.exact.number import ratio


def simplify(expr: Apply) -> Apply:
    """The same under the name of its primitive.

    A name that an operator shares with a primitive loses its module; a product of a tensor with itself is
    its square
    (an interval would forget that both factors are one); a sign is a primitive of its own.
    """
    if "." in expr.fn:
        return Apply(expr.fn.rpartition(".")[2], expr.args, expr.named)
    if expr.fn == "-" and len(expr.args) == 1:
        return Apply("neg", expr.args)
    if expr.fn == "*" and len(expr.args) == 2 and expr.args[0] == expr.args[1]:
        return Apply("^", (expr.args[0], Num("2")))
    return expr


def raw_form(expr: Apply, env: Env) -> Expr | None:
    """`raw(x)`: the integers that stand for `x` in its fixed-point format, x / ulp."""
    format = format_of(expr.args[0], env)
    step = None if format is None else formats.ulp(format)
    return None if step is None else Apply("/", (expr.args[0], Num(str(step))))


def nearest_form(expr: Apply, env: Env) -> Expr:
    """`nearest(x, F)`: `x` rounded to the grid of `F`; `x` itself where it is on the grid, or the grid is
    not even."""
    format = format_of(expr.args[1], env)
    step = None if format is None else formats.ulp(format)
    if step is None or is_on_grid(expr, env):
        return expr.args[0]
    return Apply("round_to", (expr.args[0], Num(str(step))))


def is_on_grid(expr: Apply, env: Env) -> bool:
    """Whether the format of `x` in `nearest(x, F)` has no value off the grid of `F`."""
    old, new = format_of(expr.args[0], env), format_of(expr.args[1], env)
    fine, step = (None if f is None else formats.ulp(f) for f in (old, new))
    return fine is not None and step is not None and isinstance(ratio(fine, step), int)


def format_of(expr: Expr, env: Env) -> Format | None:
    """The format that a name stands for: a variable, a parameter, or an operand's own."""
    if not isinstance(expr, Ref):
        return None
    return env.formats.get(expr.name) or formats.STANDARD.get(expr.name)
