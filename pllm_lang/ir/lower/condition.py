"""`where` and `assume`: what is stated of a value, as bounds.

In: a condition over names of values. Out: for each name the bounds that say the same, or a finding. The
forms are `abs(x) <= c`, `lo <= x`, `x <= hi`, `x in lo..hi`, `x == c`, `slot(x) <= c` for norms and errors,
mirrored, and joined by `and`. Ranges are closed; a strict comparison is refused, because what is stated
must be what is used.
"""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction

from pllm_lang.ir.lower.context import Context
from pllm_lang.ir.lower.naming import constants
from pllm_lang.ir.lower.report import report, report_fault, span_of, suggest
from pllm_lang.ir.plan import Bound
from pllm_lang.resolve.constants import Fault, Number_, evaluate_number
from pllm_lang.syntax import nodes as syn

# Slots that a plan may state an upper bound of; `abs` is how people write `max_abs`.
UPPER_SLOTS = {
    "abs": "max_abs",
    "max_abs": "max_abs",
    "max": "max",
    "norm2": "norm2",
    "row_norm1": "row_norm1",
    "row_norm2": "row_norm2",
    "col_norm1": "col_norm1",
    "col_norm2": "col_norm2",
    "error": "error",
}
LOWER_SLOTS = {"min": "min"}
_MIRROR = {"<=": ">=", ">=": "<=", "==": "==", "<": ">", ">": "<"}
_FORMS = "say `abs(x) <= 12`, `0 <= x`, `x in 0..35`, `norm2(x) <= 40`, or several joined by `and`"

Stated = list[tuple[str, Bound]]


def read_condition(ctx: Context, expr: syn.Expr, anchor: syn.Anchor, names: Collection[str]) -> Stated:
    """The bounds that a condition states of `names`; what is none of the forms is a finding."""
    if isinstance(expr, syn.Paren):
        return read_condition(ctx, expr.inner, anchor, names)
    if isinstance(expr, syn.Binary):
        if expr.op == "and":
            left = read_condition(ctx, expr.left, anchor, names)
            return left + read_condition(ctx, expr.right, anchor, names)
        if expr.op == "in":
            return _within(ctx, expr, anchor, names)
        if expr.op in _MIRROR:
            return _compared(ctx, expr, anchor, names)
    return _refuse(ctx, expr, anchor, "this states no bound")


def _refuse(ctx: Context, node: syn.Node, anchor: syn.Anchor, message: str, help: str = _FORMS) -> Stated:
    report(ctx, "types.not_a_bound", message, span_of(ctx, anchor, node), help)
    return []


def _compared(ctx: Context, expr: syn.Binary, anchor: syn.Anchor, names: Collection[str]) -> Stated:
    op, subject, limit = expr.op, expr.left, expr.right
    if not _speaks_of(subject, names):
        op, subject, limit = _MIRROR[op], limit, subject
    if isinstance(expr.left, syn.Binary) and expr.left.op in _MIRROR:
        help = "write `x in -3..3`, or two comparisons joined by `and`"
        return _refuse(ctx, expr, anchor, "comparisons do not chain", help)
    if not _speaks_of(subject, names):
        return _refuse(ctx, expr, anchor, f"this says nothing of {_listed(names)}", _FORMS)
    if isinstance(limit, syn.Quantity):
        message = f"`{limit.text}` has a unit, and the values of a tensor have none"
        return _refuse(ctx, limit, anchor, message, "leave the unit out")
    if op in ("<", ">"):
        help = f"write `{op}=`; for whole numbers `x < 8` is `x <= 7`"
        return _refuse(ctx, expr, anchor, "a stated range includes its ends", help)
    value = evaluate_number(limit, constants(ctx))
    if isinstance(value, Fault):
        report_fault(ctx, value, anchor)
        return []
    return _bounds(ctx, subject, op, value, anchor, expr)


def _bounds(
    ctx: Context, subject: syn.Expr, op: str, value: Number_, anchor: syn.Anchor, whole: syn.Node
) -> Stated:
    if isinstance(subject, syn.Name):
        ends = {"<=": ("max",), ">=": ("min",), "==": ("max", "min")}[op]
        return [(subject.id, Bound(end, "<=" if end == "max" else ">=", str(value))) for end in ends]
    assert isinstance(subject, syn.Call)
    assert isinstance(subject.callee, syn.Name)
    assert isinstance(subject.args[0], syn.Name)
    slot, name = subject.callee.id, subject.args[0].id
    if op == "<=" and slot in UPPER_SLOTS:
        if value < 0 and slot != "max":
            return _refuse(ctx, whole, anchor, f"`{slot}` is never below 0, so it cannot be at most {value}")
        return [(name, Bound(UPPER_SLOTS[slot], "<=", str(value)))]
    if op == ">=" and slot in LOWER_SLOTS:
        return [(name, Bound(LOWER_SLOTS[slot], ">=", str(value)))]
    if slot not in UPPER_SLOTS and slot not in LOWER_SLOTS:
        known = (*UPPER_SLOTS, *LOWER_SLOTS)
        help = suggest(ctx, slot, known) or "known are " + ", ".join(known)
        return _refuse(ctx, subject, anchor, f"no bound can be stated of `{slot}`", help)
    side = "from above" if slot in UPPER_SLOTS else "from below"
    return _refuse(ctx, whole, anchor, f"`{slot}` is bounded {side} only")


def _within(ctx: Context, expr: syn.Binary, anchor: syn.Anchor, names: Collection[str]) -> Stated:
    subject, span = expr.left, expr.right
    if isinstance(span, syn.ListExpr) and len(span.items) == 1:
        span = span.items[0]
    if not isinstance(subject, syn.Name) or subject.id not in names or not isinstance(span, syn.Range):
        return _refuse(ctx, expr, anchor, "this states no range")
    if not span.closed:
        return _refuse(ctx, span, anchor, "a stated range includes its ends", "write `lo..hi`")
    ends: list[Number_] = []
    for end in (span.low, span.high):
        value = evaluate_number(end, constants(ctx))
        if isinstance(value, Fault):
            report_fault(ctx, value, anchor)
            return []
        ends.append(value)
    if ends[0] > ends[1]:
        return _refuse(ctx, span, anchor, f"the range {ends[0]}..{ends[1]} is empty", "exchange the ends")
    return [
        (subject.id, Bound("min", ">=", str(ends[0]))),
        (subject.id, Bound("max", "<=", str(ends[1]))),
    ]


def _speaks_of(expr: syn.Expr, names: Collection[str]) -> bool:
    if isinstance(expr, syn.Name):
        return expr.id in names
    return (
        isinstance(expr, syn.Call)
        and isinstance(expr.callee, syn.Name)
        and len(expr.args) == 1
        and isinstance(expr.args[0], syn.Name)
        and expr.args[0].id in names
    )


def _listed(names: Collection[str]) -> str:
    return " or ".join(f"`{name}`" for name in names)


def tightened(bounds: list[Bound]) -> tuple[Bound, ...]:
    """The tightest bound of each slot and result, in a fixed order: that of writing leaves no trace."""
    best: dict[tuple[int, str], Bound] = {}
    for bound in bounds:
        key = (bound.result, bound.slot)
        held = best.get(key)
        if held is None or _tighter(bound, held):
            best[key] = bound
    return tuple(best[key] for key in sorted(best))


def _tighter(bound: Bound, held: Bound) -> bool:
    new, old = Fraction(bound.limit), Fraction(held.limit)
    return new < old if bound.op == "<=" else new > old
