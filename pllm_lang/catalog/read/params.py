"""Parameters and operands: the signature of an operator, a component or a protocol."""

from __future__ import annotations

from typing import Any

from pllm_lang.catalog.expr import Apply, Expr, Ref
from pllm_lang.catalog.read.context import Context
from pllm_lang.catalog.read.expressions import COMPARISONS, to_expr
from pllm_lang.catalog.records import OperandSpec, ParamSpec
from pllm_lang.resolve.suggest import did_you_mean
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.article import with_article

PARAM_KINDS = (
    "integer", "real", "boolean", "word", "text", "format", "list", "party", "component", "ratio", "shape",
)  # fmt: skip
_NUMERIC = frozenset({"integer", "real", "ratio"})


def is_param(param: syn.Param) -> bool:
    """Whether an entry of an operator's signature is a parameter, not an operand."""
    return param.type is not None and _kind_name(param.type) in PARAM_KINDS


def read_param(param: syn.Param, ctx: Context) -> ParamSpec | None:
    """One parameter: `integer in 1..8`, `real > 0`, `word in [a, b]`, `text(1..256)`, `list(integer)`."""
    if param.type is None:
        return None
    kind = _kind_name(param.type)
    if kind not in PARAM_KINDS:
        help_ = did_you_mean(kind, PARAM_KINDS) or "kinds are " + ", ".join(PARAM_KINDS)
        ctx.report(
            "records.unknown_kind", f"`{kind}` is no kind of parameter", ctx.span(param, param.type), help_
        )
        return None
    allowed = _allowed(param.type, kind, param, ctx)
    default = to_expr(param.default, ctx, param) if param.default is not None else None
    spec: Any = kind
    return ParamSpec(param.name.id, spec, allowed, default, ctx.origin(param))


def read_params(params: tuple[syn.Param, ...], ctx: Context) -> tuple[ParamSpec, ...]:
    read = [read_param(param, ctx) for param in params]
    return tuple(spec for spec in read if spec is not None)


def read_operand(param: syn.Param, ctx: Context) -> OperandSpec:
    """One operand or result: format, shape and, in a protocol, who holds it."""
    format_, shape = read_type(param.type, ctx, param)
    placement = next(
        (p for p in (_placement(c, ctx, param) for c in param.clauses) if p is not None), ("", None)
    )
    return OperandSpec(param.name.id, format_, shape, placement, ctx.origin(param))


def read_type(node: syn.Expr | None, ctx: Context, anchor: syn.Anchor) -> tuple[Expr, tuple[Expr, ...]]:
    """Format and shape of a type such as `F[m, 2*k]`."""
    if node is None:
        return Ref("exact"), ()
    if isinstance(node, syn.Index):
        return to_expr(node.base, ctx, anchor), tuple(to_expr(i, ctx, anchor) for i in node.items)
    return to_expr(node, ctx, anchor), ()


def signature_names(params: tuple[syn.Param, ...]) -> frozenset[str]:
    """Names that a signature binds: its entries, and every bare name in a shape."""
    names = {param.name.id for param in params}
    for param in params:
        if isinstance(param.type, syn.Index):
            names.update(_bound(param.type.items))
    return frozenset(names)


def _bound(items: tuple[syn.Expr | syn.Spread, ...]) -> set[str]:
    return {item.id for item in items if isinstance(item, syn.Name | syn.Spread)}


def _kind_name(node: syn.Expr) -> str:
    match node:
        case syn.Name():
            return node.id
        case syn.Binary() if node.op == "in" or node.op in COMPARISONS:
            return _kind_name(node.left)
        case syn.Call(callee=syn.Name(id=name)):
            return name if name in ("text", "list") else ""
        case _:
            return ""


def _allowed(node: syn.Expr, kind: str, param: syn.Param, ctx: Context) -> Expr | None:
    match node:
        case syn.Binary(op="in"):
            return to_expr(node.right, ctx.without_names() if kind == "word" else ctx, param)
        case syn.Binary():
            if kind not in _NUMERIC:
                ctx.report(
                    "records.wrong_value", f"{with_article(kind)} cannot be compared", ctx.span(param, node)
                )
                return None
            return Apply(node.op, (Ref(param.name.id), to_expr(node.right, ctx, param)))
        case syn.Call():
            return to_expr(node, ctx, param)
        case _:
            return None


def _placement(clause: syn.Clause, ctx: Context, param: syn.Param) -> tuple[str, Expr | None] | None:
    match clause:
        case syn.From():
            return "from", Ref(clause.party.id)
        case syn.To():
            return "to", Ref(clause.party.id)
        case syn.Public():
            return "public", None
        case syn.As():
            return "as", to_expr(clause.holding, ctx, param)
        case syn.At():
            return "at", Ref(clause.party.id)
        case _:
            ctx.report(
                "records.misplaced_clause",
                "this clause has no meaning in a signature",
                ctx.span(param, clause),
            )
            return None
