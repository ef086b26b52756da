"""Types of a block's parameters and results: variables bound by the first use, checked by every other.

In: `x: F[m, k]` and the type handed in. Out: the format and shape variables in the block's scope, or
findings. A name in a shape is a variable where it stands alone and means nothing else; everything else is
arithmetic on those.
"""

from __future__ import annotations

from pllm_lang.ir.lower.context import Context, Exactly, FormatName
from pllm_lang.ir.lower.naming import constants, look
from pllm_lang.ir.lower.report import report, report_fault, span_of
from pllm_lang.ir.lower.types import read_format, show_type
from pllm_lang.ir.plan import TensorType
from pllm_lang.resolve.constants import Fault, evaluate_integer
from pllm_lang.syntax import nodes as syn


def bind_type(ctx: Context, block: syn.Block, param: syn.Param, given: TensorType) -> None:
    """Binds what is open in the parameter's type, and checks the rest."""
    assert param.type is not None
    base, dims = _parts(param.type)
    variables = {word.id for word in block.type_vars.names} if block.type_vars else set[str]()
    if isinstance(base, syn.Name) and base.id in variables and look(ctx, base.id) is None:
        ctx.frame.scope.names[base.id] = FormatName(given.format)
    spread = any(isinstance(dim, syn.Spread) for dim in dims)
    if not spread and len(dims) == len(given.shape):
        for dim, size in zip(dims, given.shape, strict=True):
            if isinstance(dim, syn.Name) and _is_open(ctx, dim.id):
                ctx.frame.scope.names[dim.id] = Exactly(size)
    check_type(ctx, param, given)


def _is_open(ctx: Context, name: str) -> bool:
    return look(ctx, name) is None and name not in ctx.frame.module.constants


def _parts(expr: syn.Expr) -> tuple[syn.Expr, tuple[syn.Expr | syn.Spread, ...]]:
    return (expr.base, expr.items) if isinstance(expr, syn.Index) else (expr, ())


def check_type(ctx: Context, param: syn.Param, given: TensorType) -> None:
    """A finding where the value's type is not the one that the block states."""
    if param.type is None or given.format < 0:
        return
    base, dims = _parts(param.type)
    index = read_format(ctx, base, param)
    if index is not None and index != given.format:
        message = f"`{param.name.id}` is {ctx.formats[index].name} in this block, not {show_type(ctx, given)}"
        report(ctx, "types.format_mismatch", message, span_of(ctx, param, base))
        return
    if any(isinstance(dim, syn.Spread) for dim in dims):
        return
    shape: list[int] = []
    for dim in dims:
        size = evaluate_integer(dim, constants(ctx)) if not isinstance(dim, syn.Spread) else 0
        if isinstance(size, Fault):
            report_fault(ctx, size, param)
            return
        shape.append(size)
    if tuple(shape) != given.shape:
        stated = f"[{', '.join(map(str, shape))}]"
        message = f"`{param.name.id}` has the shape {stated} in this block, not {show_type(ctx, given)}"
        report(ctx, "types.shape_mismatch", message, span_of(ctx, param, param.type))
