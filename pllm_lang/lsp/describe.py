"""Records and declarations in a few lines of Markdown, for hover, completion and signatures."""

from __future__ import annotations

from collections.abc import Iterable

from pllm_lang.catalog.expr import Expr
from pllm_lang.catalog.records import AnyRecord, Component, Format, OperandSpec, Operator, ParamSpec, Policy
from pllm_lang.ir.lower.admits import allowed_text
from pllm_lang.ir.words import show_expr
from pllm_lang.resolve.modules import Module
from pllm_lang.syntax import nodes as syn


def code(text: str) -> str:
    """Text as a block of code; what is in it is never read as Markdown."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}pllm\n{text}\n{fence}"


def parameter(spec: ParamSpec) -> str:
    """`bits: integer in [16, 32, 64] = 32`."""
    default = f" = {show_expr(spec.default)}" if spec.default is not None else ""
    return f"{spec.name}: {spec.kind}{allowed_text(spec.allowed)}{default}"


def operand(spec: OperandSpec) -> str:
    shape = ", ".join(map(_dimension, spec.shape))
    return f"{spec.name}: {show_expr(spec.format)}" + (f"[{shape}]" if shape else "")


def _dimension(part: Expr) -> str:
    return show_expr(part)


def pieces(record: AnyRecord) -> tuple[str, ...]:
    """What goes between the brackets of a call, piece by piece."""
    if isinstance(record, Operator):
        return (*map(operand, record.operands), *map(parameter, record.params))
    params = getattr(record, "params", ())
    roles = record.roles if isinstance(record, Component) else ()
    return (*map(parameter, params), *(f"{role}: party" for role in roles))


def signature(record: AnyRecord) -> str:
    """The head of a record, as it would be written."""
    inside = ", ".join(pieces(record))
    match record:
        case Operator():
            results = ", ".join(map(operand, record.results))
            return f"operator {record.name}({inside}) -> ({results})"
        case Component():
            return f"component {record.name}" + (f"({inside})" if inside else "")
        case Format():
            return f"format {record.name}: {_format(record)}"
        case Policy():
            return f"policy {record.name}"
        case _:
            return f"{getattr(record, 'kind', type(record).__name__.lower())} {record.name}"


def _format(record: Format) -> str:
    values = f", {record.low}..{record.high}" if record.low else ""
    frac = f" / 2^{record.frac}" if record.frac else ""
    ring = f", modulo {record.modulus}" if record.modulus else ""
    bits = f", {record.bits} bits" if record.bits else ""
    scale = f", a scale for each {record.scale}" if record.scale else ""
    return f"{record.kind}{values}{frac}{ring}{bits}{scale}"


def described(record: AnyRecord) -> str:
    """Head, documentation and what matters of a record."""
    parts = [code(signature(record)), record.doc]
    if isinstance(record, Component):
        implements = ", ".join(f"`{key.rpartition('.')[2]}`" for key in record.implements)
        parts += [f"implements {implements}" if implements else "", *_conditions(record.requires)]
        parts.append(f"for {show_expr(record.n_parties)} parties" if record.n_parties is not None else "")
    elif isinstance(record, Operator):
        means = "\n".join(f"{clause.name} = {show_expr(clause.expr)}" for clause in record.means)
        parts += [f"means\n\n{code(means)}" if means else "", *_conditions(record.requires)]
    elif isinstance(record, Policy):
        parts += [
            f"parties: {', '.join(record.parties)}",
            *(
                f"{rule.kind} adversary corrupts {rule.count} of {', '.join(rule.among)}"
                for rule in record.adversaries
            ),
            *(f"`{party}` learns {', '.join(what) or 'nothing'}" for party, what in record.learns.items()),
        ]
    return "\n\n".join(part for part in parts if part)


def _conditions(clauses: Iterable[object]) -> Iterable[str]:
    for clause in clauses:
        expr, reason = getattr(clause, "expr", None), getattr(clause, "reason", "")
        if expr is not None:
            yield f"requires `{show_expr(expr)}`" + (f": {reason}" if reason else "")


def head_of(module: Module, decl: syn.Decl) -> str:
    """The first line of a declaration as it is written."""
    text = module.source.text[decl.at : decl.at + decl.end]
    return text.partition("{")[0].strip()


def documentation(decl: syn.Decl) -> str:
    return getattr(decl, "doc", "")
