"""What to write where formats do not fit: nothing converts by itself, an operator does.

In: the types that met. Out: a help sentence for the finding.
"""

from __future__ import annotations

from pllm_lang.catalog.infer import pattern_text
from pllm_lang.catalog.records import Format, OperandSpec, Operator
from pllm_lang.ir.lower.context import Context
from pllm_lang.ir.plan import TensorType
from pllm_lang.ir.words import show_expr


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
