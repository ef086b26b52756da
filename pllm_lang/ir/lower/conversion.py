"""What to write where formats do not fit: nothing converts by itself, an operator does.

In: the types that met. Out: a help sentence for the finding, and the fixes that write a conversion on a line of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from pllm_lang.catalog.infer import pattern_text
from pllm_lang.catalog.records import Format, OperandSpec, Operator
from pllm_lang.ir.lower.context import Context
from pllm_lang.ir.plan import TensorType
from pllm_lang.ir.words import show_expr
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.edits import line_before
from pllm_lang.text.finding import Edit, Fix, Span


def conversion_help(ctx: Context, types: tuple[TensorType, ...], texts: list[str]) -> str:
    """What brings the formats together; the first format that is not `exact` is the one aimed at.

    `texts` are the operands as they are written.
    """
    forms = [ctx.formats[kind.format] for kind in types]
    aim = next((form for form in forms if form.kind != "exact"), forms[0])
    for form, text in zip(forms, texts, strict=True):
        if form != aim:
            return f"nothing converts by itself; `{_conversion(form, aim, text)}` would"
    return ""


def conversion_fixes(
    ctx: Context, types: tuple[TensorType, ...], operands: Sequence[syn.Expr | None], step: syn.Anchor
) -> tuple[Fix, ...]:
    """For each of the formats that met: bring the other operands to it. Where it is done is what the step says, else each party
    that gives an input; whether it fits there, the check decides."""
    forms = [ctx.formats[kind.format] for kind in types]
    if ctx.frame.call is not None or not isinstance(step, syn.Step):
        return ()
    wheres = [f"@ {clause.party.id}" for clause in step.clauses if isinstance(clause, syn.At)]
    wheres = wheres or [f"@ {party}" for party in dict.fromkeys(given.owner for given in ctx.inputs) if party]
    fixes = [
        _conversion_fix(ctx, list(zip(forms, operands, strict=True)), aim, where, step)
        for aim in {form.name: form for form in forms}.values()
        for where in wheres[:2]
    ]
    return tuple(fix for fix in fixes if fix is not None)


def _conversion_fix(
    ctx: Context,
    operands: list[tuple[Format, syn.Expr | None]],
    aim: Format,
    where: str,
    step: syn.Step,
) -> Fix | None:
    source = ctx.frame.module.source
    lines: list[str] = []
    edits: list[Edit] = []
    for form, expr in operands:
        if form == aim or not isinstance(expr, syn.Name):
            continue
        made, name = _conversion(form, aim, expr.id), f"{expr.id}_{aim.name}"
        if "..." in made or name in source.text:
            return None
        lines.append(f"{name} = {made} {where}")
        edits.append(Edit(Span(source.name, step.at + expr.start, step.at + expr.end), name))
    if not lines or any(form != aim and not isinstance(expr, syn.Name) for form, expr in operands):
        return None
    indent = " " * (source.line_column(step.at)[1] - 1)
    before = line_before(source, step.at, f"\n{indent}".join(lines))
    return Fix(f"Insert `{lines[0]}`", (before, *edits), safe=False)


def _conversion(given: Format, wanted: Format, text: str) -> str:
    if given.scale and wanted.kind in ("float", "exact"):
        return f"dequantize({text}, scale: ...)"
    if wanted.scale:
        return f"quantize({text}, to: {wanted.name})"
    if given.kind == "exact" and wanted.kind == "int":
        return f"rescale({text}, by: ..., to: {wanted.name})"
    if given.kind in ("exact", "float"):
        return f"encode({text}, to: {wanted.name})"
    return f"cast({text}, to: {wanted.name})"


def signature_text(operator: Operator) -> str:
    """`linear(x: F[...s, k], w: G[n, k]) -> (y: exact[...s, n])`."""
    takes = ", ".join(map(_operand_text, operator.operands))
    gives = ", ".join(map(_operand_text, operator.results))
    return f"{operator.name}({takes}) -> ({gives})"


def _operand_text(spec: OperandSpec) -> str:
    shape = pattern_text(spec.shape) if spec.shape else ""
    return f"{spec.name}: {show_expr(spec.format)}{shape}"
