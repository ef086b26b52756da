"""What to write where formats do not fit: nothing converts by itself, an operator does.

In: the types that met. Out: a help sentence for the finding.
"""

from __future__ import annotations

from pllm_lang.catalog.infer import pattern_text
from pllm_lang.catalog.records import Format, OperandSpec, Operator
from pllm_lang.ir.lower.context import Context
from pllm_lang.ir.plan import TensorType
from pllm_lang.ir.words import show_expr


def conversion_help(ctx: Context, types: tuple[TensorType, ...]) -> str:
    """What brings the formats together; the first format that is not `exact` is the one aimed at."""
    forms = [ctx.formats[kind.format] for kind in types]
    aim = next((form for form in forms if form.kind != "exact"), forms[0])
    other = next((form for form in forms if form != aim), aim)
    return f"nothing converts by itself; `{_conversion(other, aim)}` would"


def _conversion(given: Format, wanted: Format) -> str:
    if wanted.scale:
        return f"quantize(x, to: {wanted.name})"
    if given.kind == "exact" and wanted.kind == "int":
        return f"rescale(x, by: ..., to: {wanted.name})"
    if given.kind in ("exact", "float"):
        return f"encode(x, to: {wanted.name})"
    return f"cast(x, to: {wanted.name})"


def signature_text(operator: Operator) -> str:
    """`linear(x: F[...s, k], w: G[n, k]) -> (y: exact[...s, n])`."""
    takes = ", ".join(map(_operand_text, operator.operands))
    gives = ", ".join(map(_operand_text, operator.results))
    return f"{operator.name}({takes}) -> ({gives})"


def _operand_text(spec: OperandSpec) -> str:
    shape = pattern_text(spec.shape) if spec.shape else ""
    return f"{spec.name}: {show_expr(spec.format)}{shape}"
